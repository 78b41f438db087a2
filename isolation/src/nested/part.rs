//! The part of a task's work that belongs to one repository: the user's, or a nested one.

use git2::Repository;
use protocol::{Conflict, RenamedFile, RepoPath, TaskName};

use crate::file_entry::Change;
use crate::nested::work::root_of;
use crate::nested::{GitLink, GitLinks, NestedRepo, NestedWork, is_reachable};
use crate::store::Contents;

/// No new commits of submodules.
pub(crate) static NO_LINKS: GitLinks = GitLinks::new();

/// One of the repositories in which a task worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// The user's repository, with the new commits of submodules.
    Root(&'a GitLinks),
    /// The nested repository in this folder.
    Nested(&'a RepoPath),
}

impl Part<'_> {
    /// Returns the part of `contents`, with paths as in its repository, which is `git`.
    pub(crate) fn of(self, contents: Contents, git: &Repository) -> Contents {
        if contents.nested.is_empty() {
            return match self {
                Self::Root(_) => contents,
                Self::Nested(_) => Contents::default(),
            };
        }
        let Contents { changes, message, setup, series, nested, start } = contents;
        let roots = || nested.iter().map(|nested| &nested.path);
        let own = |path: &RepoPath| match (self, root_of(roots(), path)) {
            (Self::Root(_), None) => Some(path.clone()),
            (Self::Nested(root), Some(found)) if root == found => below(root, path),
            _ => None,
        };
        let changes: Vec<Change> = changes
            .into_iter()
            .filter_map(|change| {
                let from = change.from.as_ref().and_then(own);
                Some(Change { path: own(&change.path)?, from, ..change })
            })
            .collect();
        let setup = setup.iter().filter_map(own).collect();
        match self {
            Self::Root(_) => Contents { changes, message, setup, series, nested, start },
            Self::Nested(root) => {
                let part = Contents { changes, setup, ..Contents::default() };
                let found = nested.into_iter().find(|nested| nested.path == *root);
                let Some(NestedWork { from, to, message, series, .. }) = found else { return part };
                let start = to.filter(|to| Some(*to) != from && is_reachable(git, *to));
                match start {
                    // The user has the commits already.
                    Some(_) => Contents { start, ..part },
                    None => Contents { message, series, ..part },
                }
            }
        }
    }

    /// Returns the new commits of submodules that the work of a task has in this part.
    pub(crate) fn links(&self, task: &TaskName) -> &[GitLink] {
        match self {
            Self::Root(links) => links.get(task).map_or(&[], Vec::as_slice),
            Self::Nested(_) => &[],
        }
    }

    /// Returns the conflicts of this part with paths as in the user's repository.
    pub(crate) fn whole_conflicts(self, conflicts: Vec<Conflict>) -> Vec<Conflict> {
        let Self::Nested(root) = self else { return conflicts };
        let whole = |path: RepoPath| within(root, &path);
        let conflict = |conflict: Conflict| {
            let renamed = conflict.renamed.map(|RenamedFile { from, ours, theirs }| {
                let (ours, theirs) = (ours.map(whole), theirs.map(whole));
                RenamedFile { from: whole(from), ours, theirs }
            });
            Conflict { path: whole(conflict.path), renamed, ..conflict }
        };
        conflicts.into_iter().map(conflict).collect()
    }

    /// Returns a path of this part as it is in the user's repository.
    pub(crate) fn whole_path(self, path: RepoPath) -> RepoPath {
        match self {
            Self::Root(_) => path,
            Self::Nested(root) => within(root, &path),
        }
    }
}

/// Returns the path that `path` has in the folder `root`; `None` if it is not in it.
pub(crate) fn below(root: &RepoPath, path: &RepoPath) -> Option<RepoPath> {
    let rest = path.as_bytes().strip_prefix(root.as_bytes())?.strip_prefix(b"/")?;
    RepoPath::new(rest)
}

/// Returns `path`, which is relative to the folder `root`, as it is in the user's repository.
pub(crate) fn within(root: &RepoPath, path: &RepoPath) -> RepoPath {
    let joined = [root.as_bytes(), b"/", path.as_bytes()].concat();
    RepoPath::new(joined).expect("a path below a path is one")
}

/// Opens the nested repository in the folder `root` of `repo`. `roots` are all of them.
///
/// # Errors
/// Returns why it cannot be used.
pub(crate) fn nested_of(
    repo: &crate::repository::Repo,
    roots: &[RepoPath],
    root: &RepoPath,
) -> Result<NestedRepo, String> {
    let roots: Vec<Vec<u8>> = roots.iter().map(|path| path.as_bytes().to_vec()).collect();
    crate::nested::open_in(repo, &roots, root.as_bytes())
}
