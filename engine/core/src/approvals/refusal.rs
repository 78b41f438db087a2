//! What a model reads of a call that was refused.

use protocol::quote_within;

use super::Decision;

/// The maximum number of characters of a call in the text.
const SHOWN: usize = 200;

/// Returns what a model reads of a call that was refused, because a rule denies it, or because it has to be
/// asked about and nobody can answer. `what` is what the call is about: its command or its path.
#[must_use]
pub fn refusal(tool: &str, what: &str, decision: &Decision) -> Option<String> {
    let call = shown_call(tool, what);
    match decision {
        Decision::Allow => None,
        Decision::Deny(rule) => Some(format!(
            "This call was refused: the rule `{rule}` of the user's setting `approvals.deny` forbids {call}. \
             Nothing was run. Do not try to reach the same in another way."
        )),
        Decision::Ask(reason) => Some(format!(
            "This call was refused: {reason}, and there is no one to answer. Nothing was run of {call}. Go on without it \
             if you can, and else say what you need. The user can allow it by a rule in the setting \
             `approvals.allow`, such as `bash(cargo test *)`, or run this with `--approval-mode yolo`."
        )),
    }
}

/// Returns what a model reads of a call that the user has refused.
#[must_use]
pub fn refusal_by_user(tool: &str, what: &str) -> String {
    let call = shown_call(tool, what);
    format!(
        "This call was refused: the user said no. Nothing was run of {call}. Do not try to reach the same in another \
         way: ask what to do instead, or go on without it."
    )
}

/// Returns what a model reads of a call about which nobody has answered in time.
#[must_use]
pub fn refusal_unanswered(tool: &str, what: &str) -> String {
    let call = shown_call(tool, what);
    format!(
        "This call was refused: the user was asked, and did not answer in time. Nothing was run of {call}. Go \
         on without it if you can, and else say what you need."
    )
}

/// The call stands behind the words, of which a view displays only the first.
fn shown_call(tool: &str, what: &str) -> String {
    let what = quote_within(what, SHOWN);
    if what.is_empty() { format!("`{tool}`") } else { format!("`{tool}` of `{what}`") }
}
