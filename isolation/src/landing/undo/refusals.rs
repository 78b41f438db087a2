//! The reasons for which landings cannot be taken back.

use engine::ports::IsolationError;
use protocol::{RepoPath, RunName};

use crate::error::error_text;

/// Returns the refusal to take back a run of whose landings nothing is recorded.
pub(super) fn no_record(run: &RunName) -> IsolationError {
    let because = "it is not recorded what its landing has replaced: it wrote nothing, its record was \
                   removed, or an older version of Regatta landed it";
    refused(run, because.to_owned())
}

/// Returns the refusal to take back a run with a journal that cannot be read.
pub(super) fn unreadable_record(run: &RunName, error: &IsolationError) -> IsolationError {
    let because = match error {
        IsolationError::Refused { what, because, .. } => {
            let path = what.rsplit_once(": ").map_or(what.as_str(), |(_, path)| path);
            format!("the record of its landing is damaged: {path}: {because}")
        }
        other => error_text(other),
    };
    refused(run, because)
}

/// Returns the refusal to take back a run of which the task store lacks a version.
pub(super) fn damaged_store(
    run: &RunName,
    path: &RepoPath,
    error: &IsolationError,
) -> IsolationError {
    let why = error_text(error);
    let because = format!("the version of {path} from before the landing is lost: {why}");
    refused(run, because)
}

/// Returns the refusal to take back one task of a stack.
pub(super) fn one_of_a_stack(run: &RunName, branch: &str) -> IsolationError {
    IsolationError::Refused {
        what: format!("one task of run {run} cannot be taken back alone"),
        because: format!("its commits are among those of other tasks, on the branch {branch}"),
        hint: format!("git revert COMMIT, or all of it: regatta undo {run}"),
    }
}

fn refused(run: &RunName, because: String) -> IsolationError {
    IsolationError::Refused {
        what: format!("the landing of run {run} cannot be taken back; nothing has changed"),
        because,
        hint: format!("regatta diff {run} | git apply -R"),
    }
}
