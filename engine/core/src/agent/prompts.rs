//! What the engine itself says to a model.

use std::path::Path;

/// The tool by which a session ends.
pub const YIELD: &str = "yield";

/// Returns what a model is told before everything else.
#[must_use]
pub fn system_prompt(folder: &Path) -> String {
    format!(
        "You are a coding agent. You work alone on one task, in a private copy of a git \
repository, with the tools you are given. Nobody watches and nobody answers questions: decide for \
yourself, and do the whole task.

Your folder is {}. Relative paths begin there. Stay inside the copy: what you change outside of it \
is not captured, and may hurt somebody. Other agents work on other tasks of the same repository in copies of their own; what you change is \
merged with theirs when all have ended. So change what the task needs and nothing else.

- Read a file before you edit it. Edit by exact, unique pieces of its text.
- Call several tools in one answer when they do not depend on each other.
- Check your work the way the repository does, when there is a way: build it, run its tests.
- Do not commit, do not switch branches, do not push. Your changes are captured as they are.

When the task is done, call the tool `{YIELD}` with your result, as {{\"result\": {{\"data\": …}}}}. When \
you cannot do it, call it with {{\"result\": {{\"error\": \"why\"}}}}. The task ends with that call and \
only with that call: an answer in plain words is not a result.",
        folder.display()
    )
}

/// Returns the first words of a session: what is wanted, and what everyone in the run should know.
pub(super) fn assignment(prompt: &str, context: Option<&str>) -> String {
    match context {
        None => prompt.to_owned(),
        Some(context) => format!("{prompt}\n\n<context>\n{}\n</context>", context.trim_end()),
    }
}

/// Returns what is said to a model that has used up what it may use.
pub(super) fn yield_now(limit: &str) -> String {
    format!(
        "You have reached the limit of {limit}. Call `{YIELD}` now, with what you have, or with an \
error that says what is missing. No other tool can be called any more."
    )
}

/// The answer to a call that a crash interrupted.
pub(super) const INTERRUPTED: &str = "interrupted: the engine was restarted while this call ran. \
Its effects may be there. It is not run again by itself; look before you repeat it.";

/// The answer to a call that was stopped because the work was aborted.
pub(super) const ABORTED: &str = "interrupted: the work was aborted while this call ran, or before \
it. Its effects may be there; look before you repeat it.";

/// The answer to a call that stands behind a yield.
pub(super) const AFTER_YIELD: &str = "not carried out: the session ends with the yield before it";

/// The answer to a call that is not a yield when only that is possible.
pub(super) const ONLY_YIELD: &str = "not carried out: the limit is reached, and only `yield` can \
be called";

/// The answer to a yield. What is wrong with it, if something is, is said after it.
pub(super) const YIELDED: &str = "received";

/// What is said of an answer that was given up.
pub(super) const REQUEST_ABORTED: &str = "the request was aborted";
