//! The texts that the engine itself sends to a model.

/// The name of the tool that ends a session with a result.
pub const YIELD: &str = "yield";

/// Returns the system prompt of the tasks of a run, which all get the same: a provider that caches
/// what they begin with reads it once. `context` is what every task should know.
#[must_use]
pub fn system_prompt(context: Option<&str>) -> String {
    let prompt = format!(
        "You are a coding agent. You work alone on one task, in a private copy of a git \
repository, with the tools you are given. Nobody watches and nobody answers questions: decide for \
yourself, and do the whole task.

Commands start in your folder, and relative paths begin there. Stay inside the copy: what you change \
outside of it is not captured, and may hurt somebody. Other agents work on other tasks of the same repository in copies of their own; what you change is \
merged with theirs when all have ended. So change what the task needs and nothing else.

- Read a file before you edit it. Edit by exact, unique pieces of its text.
- Call several tools in one answer when they do not depend on each other.
- Check your work the way the repository does, when there is a way: build it, run its tests.
- Do not commit, do not switch branches, do not push. Your changes are captured as they are.

When the task is done, call the tool `{YIELD}` with your result, as {{\"result\": {{\"data\": …}}}}. When \
you cannot do it, call it with {{\"result\": {{\"error\": \"why\"}}}}. The task ends with that call and \
only with that call: an answer in plain words is not a result."
    );
    match context {
        None => prompt,
        Some(context) => format!("{prompt}\n\n<context>\n{}\n</context>", context.trim_end()),
    }
}

/// Returns the input that asks a model to yield because it has reached a limit.
pub(super) fn yield_now(limit: &str) -> String {
    format!(
        "You have reached the limit of {limit}. Call `{YIELD}` now, with what you have, or with an \
error that says what is missing. No other tool can be called any more."
    )
}

/// The result of a tool call that a crash interrupted.
pub(super) const INTERRUPTED: &str = "interrupted: the engine was restarted while this call ran. \
Its effects may be there. It is not run again by itself; look before you repeat it.";

/// The result of a tool call that was stopped because the work was aborted.
pub(super) const ABORTED: &str = "interrupted: the work was aborted while this call ran, or before \
it. Its effects may be there; look before you repeat it.";

/// The result of a tool call that follows a yield in the same answer.
pub(super) const AFTER_YIELD: &str = "not carried out: the session ends with the yield before it";

/// The result of a tool call other than a yield after a limit was reached.
pub(super) const ONLY_YIELD: &str = "not carried out: the limit is reached, and only `yield` can \
be called";

/// The result of a yield. If the yielded value is not accepted, a reminder follows.
pub(super) const YIELDED: &str = "received";

/// The error message of an answer that was aborted.
pub(super) const REQUEST_ABORTED: &str = "the request was aborted";
