//! The arguments of `regatta trust` and `regatta config`.

use clap::{ArgAction, Args};

/// The arguments of `regatta trust`.
#[derive(Args, Clone, Debug, Default)]
pub struct TrustArgs {
    /// Trust without asking
    #[arg(short, long, conflicts_with_all = ["list", "revoke"], action = ArgAction::SetTrue)]
    yes: bool,

    /// List the trusted settings and rules of every repository
    #[arg(long, conflicts_with = "revoke", action = ArgAction::SetTrue)]
    list: bool,

    /// Revoke the trust in this repository, or in the named settings and rules
    #[arg(long, action = ArgAction::SetTrue)]
    revoke: bool,

    /// With --revoke: settings and rules, as --list shows them [default: all]
    #[arg(value_name = "NAME", requires = "revoke", conflicts_with_all = ["yes", "list"])]
    names: Vec<String>,
}

/// What `regatta trust` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustAction<'a> {
    /// Shows what would be trusted, and asks.
    Ask,
    /// Shows it, and trusts.
    Trust,
    /// Lists what is trusted.
    List,
    /// Ends the trust in the settings and rules of these names, or in all if there is no name.
    Revoke(&'a [String]),
}

impl TrustArgs {
    /// Returns what is done.
    #[must_use]
    pub fn action(&self) -> TrustAction<'_> {
        match (self.yes, self.list, self.revoke) {
            (_, _, true) => TrustAction::Revoke(&self.names),
            (_, true, _) => TrustAction::List,
            (true, ..) => TrustAction::Trust,
            (false, ..) => TrustAction::Ask,
        }
    }
}

/// The arguments of `regatta config`.
#[derive(Args, Clone, Debug, Default)]
pub struct ConfigArgs {
    /// A setting or a group of them, as `limits.wall` or `limits` [default: all]
    #[arg(value_name = "KEY")]
    pub words: Vec<String>,
}
