//! The texts that the engine itself sends to a model.

/// The name of the tool that ends a session with a result.
pub const YIELD: &str = "yield";

/// Returns the input that asks a model to yield because it has reached a limit.
pub(super) fn yield_now(limit: &str) -> String {
    format!(
        "You have reached the limit of {limit}. Call `{YIELD}` now, with what you have, or with an \
error that says what is missing. No other tool can be called any more."
    )
}

/// The result of a tool call that was stopped because the work was aborted.
pub(super) const ABORTED: &str = "interrupted: the work was aborted while this call ran. Its effects \
may be there; look before you repeat it.";

/// The result of a tool call that had not begun, or was not allowed yet, when the work was aborted.
pub(super) const NOT_RUN: &str = "not run: the work was aborted before this call.";

/// The result of a tool call that was not run, or was stopped, because a user sent an input for the
/// next request.
pub(super) const SKIPPED: &str = "Skipped due to queued user message.";

/// The result of a tool call that follows a yield in the same answer.
pub(super) const AFTER_YIELD: &str = "not carried out: the session ends with the yield before it";

/// The result of a tool call other than a yield after a limit was reached.
pub(super) const ONLY_YIELD: &str = "not carried out: the limit is reached, and only `yield` can \
be called";

/// The result of a yield. If the yielded value is not accepted, a reminder follows.
pub(super) const YIELDED: &str = "received";

/// The error message of an answer that was aborted.
pub(super) const REQUEST_ABORTED: &str = "the request was aborted";
