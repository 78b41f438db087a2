//! What is said of choices that cannot be for the conflicts of a task.

use std::ffi::OsString;

use protocol::RepoPath;
use regatta::error::Error;
use regatta::runs::ChoiceError;

use crate::args::option_text;
use crate::render::one_line;

/// The most paths that an error lists.
const NAMED: usize = 10;

/// Returns the error of choices that cannot be.
pub(super) fn wrong_choice(error: ChoiceError) -> Error {
    match error {
        ChoiceError::TwoForAll { one, other } => {
            let (one, other) = (option_text(one), option_text(other));
            Error::usage(format!(
                "`{one}` cannot be used with `{other}` unless one of them has paths"
            ))
            .hint(format!("{other} PATH"))
        }
        ChoiceError::TwoForPath { path, one, other } => {
            let (one, other) = (option_text(one), option_text(other));
            let path = one_line(&path.to_string());
            Error::usage(format!("`{one}` and `{other}` are both for {path}"))
        }
        ChoiceError::NoConflict { given, paths } => no_conflict(&given, &paths),
    }
}

/// Returns the error of a path that does not conflict. `paths` are those that do.
pub(super) fn no_conflict(given: &OsString, paths: &[RepoPath]) -> Error {
    let given = one_line(&given.to_string_lossy());
    let error = Error::usage(format!("`{given}` is not a path of a conflict"));
    if paths.is_empty() {
        return error.because("this work does not conflict with the current tree");
    }
    let mut named: Vec<_> =
        paths.iter().take(NAMED).map(|path| one_line(&path.to_string())).collect();
    if let Some(more @ 1..) = paths.len().checked_sub(NAMED) {
        named.push(format!("{more} more"));
    }
    error.because(format!("the paths in conflict are {}", named.join(", ")))
}
