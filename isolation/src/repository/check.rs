//! What a repository must be like before we work on it.

use std::path::Path;

use engine::ports::{IsolationError, Notice};
use git2::{ErrorCode, Repository, RepositoryState};
use rustix::fs::{Access, access};

use crate::repository::refusal;

/// Checks one repository after the other thing, cheapest first, and returns what a person should
/// know about the state it is in.
pub(super) fn check(git: &Repository, root: &Path) -> Result<Vec<Notice>, IsolationError> {
    let notices = check_state(git, root)?;
    check_index(git, root)?;
    check_head(git, root)?;
    if let Err(error) = access(root, Access::WRITE_OK | Access::EXEC_OK) {
        return Err(refusal::read_only(root, error.into()));
    }
    Ok(notices)
}

fn check_state(git: &Repository, root: &Path) -> Result<Vec<Notice>, IsolationError> {
    let busy = |what, command: &str| Err(refusal::busy(root, what, command));
    match git.state() {
        RepositoryState::Clean => Ok(Vec::new()),
        RepositoryState::Bisect => Ok(vec![Notice {
            from: "a repository at rest".to_owned(),
            to: "work goes on from the commit that is checked out".to_owned(),
            why: "a bisect is in progress".to_owned(),
        }]),
        RepositoryState::Merge => busy("a merge", "git merge --abort"),
        RepositoryState::Revert | RepositoryState::RevertSequence => {
            busy("a revert", "git revert --abort")
        }
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => {
            busy("a cherry-pick", "git cherry-pick --abort")
        }
        RepositoryState::Rebase
        | RepositoryState::RebaseInteractive
        | RepositoryState::RebaseMerge => busy("a rebase", "git rebase --abort"),
        RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => {
            busy("a git am", "git am --abort")
        }
    }
}

fn check_index(git: &Repository, root: &Path) -> Result<(), IsolationError> {
    let index = git.index().map_err(|error| refusal::of_index(root, &error))?;
    if index.has_conflicts() {
        return Err(refusal::conflicted(root));
    }
    Ok(())
}

fn check_head(git: &Repository, root: &Path) -> Result<(), IsolationError> {
    let head = match git.head() {
        Ok(head) => head,
        Err(error) if error.code() == ErrorCode::UnbornBranch => return Ok(()),
        Err(error) => return Err(refusal::broken_head(root, &error)),
    };
    let tree = head.peel_to_tree();
    tree.map(drop).map_err(|error| refusal::broken_head(root, &error))
}
