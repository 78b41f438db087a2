//! Whether a value of a project allows less than the user's.

use std::cmp::Reverse;

use protocol::{ApprovalMode, IsolationMode, MergeMode};

use crate::error::Origin;
use crate::key::Key;
use crate::value::{Expected, RawValue};

/// Returns whether the lists of both layers hold together. A project adds to such a list of the user, and
/// replaces no entry of it.
pub(crate) fn is_joined(key: Key) -> bool {
    let widens = matches!(key, Key::ApprovalsAllow | Key::EnvPass);
    widens || forbids(key)
}

/// Returns whether each entry of a list forbids something.
fn forbids(key: Key) -> bool {
    matches!(key, Key::ApprovalsDeny | Key::ApprovalsAsk | Key::EnvRemove | Key::DisabledAgents)
}

/// Returns whether `given` allows at most what `below` allows, which is the value without the project; `None`
/// for a setting whose values cannot be compared.
pub(crate) fn is_narrower(
    key: Key,
    given: &RawValue,
    below: Option<&(RawValue, Origin)>,
) -> Option<bool> {
    let value = below.map(|(value, _)| value);
    Some(match key {
        // The lists of both layers hold.
        key if forbids(key) => true,
        Key::UntrackedLimit | Key::CarryLimit | Key::LimitOutput => {
            at_most(given, value, RawValue::size)
        }
        Key::LimitWall => at_most(given, value, RawValue::duration),
        Key::MaxRecursionDepth => at_most(given, value, RawValue::depth),
        Key::LimitTurns => at_most(given, value, RawValue::turns),
        Key::LimitTokens => at_most(given, value, RawValue::tokens),
        Key::LimitCost => at_most(given, value, RawValue::cost),
        Key::ProviderConcurrency => at_most(given, value, RawValue::count),
        Key::MergeMode => at_most(given, value, |it| it.merge().map(reach_of_merge)),
        Key::IsolationMode => at_most(given, value, |it| it.isolation().map(reach_of_isolation)),
        Key::ApprovalMode => match value {
            // What holds where the user sets nothing depends on where a call runs.
            None => given.approval_mode() == Ok(ApprovalMode::Ask),
            // Of the modes, the strictest is the greatest.
            Some(_) => at_most(given, value, |it| it.approval_mode().map(Reverse)),
        },
        _ => return None,
    })
}

/// Compares two values; without one below, there is no limit.
fn at_most<T: PartialOrd>(
    given: &RawValue,
    below: Option<&RawValue>,
    read: impl Fn(&RawValue) -> Result<T, Expected>,
) -> bool {
    match (read(given), below.map(&read)) {
        (Ok(_), None) => true,
        (Ok(given), Some(Ok(below))) => given <= below,
        (Err(_), _) | (_, Some(Err(_))) => false,
    }
}

/// How near work comes to the files of the user by itself.
fn reach_of_merge(mode: MergeMode) -> u8 {
    match mode {
        MergeMode::None => 0,
        MergeMode::Branch | MergeMode::Stack => 1,
        MergeMode::Patch => 2,
    }
}

fn reach_of_isolation(mode: IsolationMode) -> u8 {
    match mode {
        IsolationMode::Worktree => 0,
        IsolationMode::None => 1,
    }
}
