//! Commits in the user's repository: whose they are, and how they are made.

use engine::ports::IsolationError;
use git2::{Oid, Repository, Signature};

use crate::error::{OrCannot, Result};

/// Returns the name and the mail address with which git would commit for the user: those of
/// `GIT_COMMITTER_NAME` and `GIT_COMMITTER_EMAIL`, or of the configuration of git.
///
/// # Errors
/// One of them is missing.
pub(super) fn identity(git: &Repository) -> Result<Signature<'static>> {
    git.committer_from_env().or_else(|error| unknown(git, error))
}

/// Returns the same for the author of the user's commits: `GIT_AUTHOR_NAME` and `GIT_AUTHOR_EMAIL`.
fn author(git: &Repository) -> Result<Signature<'static>> {
    git.author_from_env().or_else(|error| unknown(git, error))
}

/// Returns why git does not know whose commits are.
fn unknown<T>(git: &Repository, error: git2::Error) -> Result<T> {
    let what = "read the configuration of git";
    let config = git.config().and_then(|mut config| config.snapshot()).or_cannot(|| what)?;
    let is_missing = |key: &str| config.get_str(key).map_or(true, |value| value.trim().is_empty());
    for (key, example) in [("user.name", "Your Name"), ("user.email", "you@example.com")] {
        if is_missing(key) {
            return Err(missing(key, example));
        }
    }
    Err(error).or_cannot(|| "read user.name and user.email")
}

fn missing(key: &str, example: &str) -> IsolationError {
    IsolationError::Refused {
        what: "no commits can be made in this repository".to_owned(),
        because: format!("{key} is not set, and git would not know whose they are"),
        hint: format!("git config --global {key} \"{example}\"; or use --merge patch"),
    }
}

/// Makes a commit of the user.
pub(super) fn commit(git: &Repository, tree: Oid, parents: &[Oid], message: &str) -> Result<Oid> {
    let author = author(git)?;
    commit_as(git, &author, tree, parents, message)
}

/// Makes a commit with the work of `author`.
pub(super) fn commit_as(
    git: &Repository,
    author: &Signature<'_>,
    tree: Oid,
    parents: &[Oid],
    message: &str,
) -> Result<Oid> {
    let what = || "make a commit";
    let committer = identity(git)?;
    let tree = git.find_tree(tree).or_cannot(what)?;
    let parents: std::result::Result<Vec<_>, _> =
        parents.iter().map(|parent| git.find_commit(*parent)).collect();
    let parents = parents.or_cannot(what)?;
    let parents: Vec<_> = parents.iter().collect();
    git.commit(None, author, &committer, message, &tree, &parents).or_cannot(what)
}

/// Returns the tree of a commit; `None` before the first commit.
pub(super) fn tree_of(git: &Repository, commit: Option<Oid>) -> Result<Option<Oid>> {
    let tree = commit.map(|id| git.find_commit(id).map(|commit| commit.tree_id()));
    tree.transpose().or_cannot(|| "read a commit")
}
