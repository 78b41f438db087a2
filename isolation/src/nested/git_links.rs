//! The commits that the tree of a repository names for its submodules.

use std::collections::BTreeMap;

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Oid, Repository};
use protocol::{RepoPath, TaskName};

use crate::error::{OrCannot, Result};

/// The new commits of submodules that the work of each task has.
pub(crate) type GitLinks = BTreeMap<TaskName, Vec<GitLink>>;

/// The new commit of one submodule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitLink {
    /// The folder of the submodule.
    pub(crate) path: RepoPath,
    /// The commit that it goes to, which its repository has.
    pub(crate) to: Oid,
}

/// Returns the commit that `tree` names for the submodule at `path`; `None` if there is no submodule.
pub(crate) fn git_link(git: &Repository, tree: Oid, path: &RepoPath) -> Result<Option<Oid>> {
    let tree = git.find_tree(tree).or_cannot(|| "read a tree")?;
    let Ok(entry) = tree.get_path(path.as_path()) else { return Ok(None) };
    let is_link = entry.filemode() == i32::from(FileMode::Commit);
    Ok(is_link.then(|| entry.id()))
}

/// Returns `tree` with the new commits of those submodules that it has.
pub(crate) fn with_git_links(git: &Repository, tree: Oid, links: &[GitLink]) -> Result<Oid> {
    let what = || "write a tree";
    let mut update = TreeUpdateBuilder::new();
    let mut is_changed = false;
    for GitLink { path, to } in links {
        if git_link(git, tree, path)?.is_some_and(|now| now != *to) {
            update.upsert(path.as_bytes(), *to, FileMode::Commit);
            is_changed = true;
        }
    }
    if !is_changed {
        return Ok(tree);
    }
    let base = git.find_tree(tree).or_cannot(what)?;
    update.create_updated(git, &base).or_cannot(what)
}
