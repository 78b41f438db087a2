//! The value of `--approval-mode`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use protocol::ApprovalMode;

/// Returns the parser of a mode, which lists the modes where there is no such one.
pub(super) fn approval_mode() -> impl TypedValueParser<Value = ApprovalMode> {
    PossibleValuesParser::new(ApprovalMode::ALL.map(ApprovalMode::name))
        .try_map(|name| ApprovalMode::named(&name).ok_or("there is no such mode"))
}
