//! Opening a repository by any folder in it.

use std::fs;
use std::path::{Path, PathBuf};

use engine::ports::{IsolationError, Notice};
use git2::{Oid, Repository, RepositoryOpenFlags};

use crate::error::{OrCannot, Result};
use crate::repository::{check, refusal, special};

/// A repository that can be worked on. It holds no handle: libgit2's cannot be shared by threads.
#[derive(Clone, Debug)]
pub(crate) struct Repo {
    /// The root of its working tree, canonical.
    pub(crate) root: PathBuf,
    /// Its own git directory: the one of the linked worktree, where it is one.
    pub(crate) git_dir: PathBuf,
    /// The git directory that has the objects and references.
    pub(crate) common_dir: PathBuf,
    /// The folder below the root that was named; empty for the root.
    pub(crate) subfolder: PathBuf,
    /// What a person should know about it.
    pub(crate) notices: Vec<Notice>,
    /// The commit that HEAD led to when it was opened; none before the first.
    head: Option<Oid>,
}

impl Repo {
    /// Opens the repository that contains the folder `at` and checks that it can be worked on.
    /// Writes nothing.
    pub(crate) fn open(at: &Path) -> Result<Self> {
        let at = canonical_folder(at)?;
        let none: [&std::ffi::OsStr; 0] = [];
        let git = Repository::open_ext(&at, RepositoryOpenFlags::empty(), none)
            .map_err(|error| refusal::of_open(&at, &error))?;
        let Some(workdir) = git.workdir() else {
            return Err(refusal::bare(git.path()));
        };
        let root = canonical(workdir)?;
        let (git_dir, common_dir) = (canonical(git.path())?, canonical(git.commondir())?);
        let Ok(subfolder) = at.strip_prefix(&root) else {
            return Err(refusal::elsewhere(&at, &root));
        };
        if at.starts_with(&git_dir) || at.starts_with(&common_dir) {
            return Err(refusal::inside_git(&at, &root));
        }
        let mut notices = check::check(&git, &root)?;
        notices.extend(special::notices(&git, &root)?);
        let subfolder = subfolder.to_path_buf();
        let head = head(&git);
        Ok(Self { root, git_dir, common_dir, subfolder, notices, head })
    }

    /// Returns the canonical root of the working tree that contains the folder `at`, whatever state
    /// the repository is in. Writes nothing.
    pub(crate) fn locate(at: &Path) -> Result<PathBuf> {
        let at = canonical_folder(at)?;
        let none: [&std::ffi::OsStr; 0] = [];
        let git = Repository::open_ext(&at, RepositoryOpenFlags::empty(), none)
            .map_err(|error| refusal::of_open(&at, &error))?;
        git.workdir().map_or_else(|| Err(refusal::bare(git.path())), canonical)
    }

    /// Returns whether HEAD still leads where it led when the repository was opened.
    pub(crate) fn head_stayed(&self) -> Result<bool> {
        Ok(head(&self.git()?) == self.head)
    }

    /// Opens the repository anew for libgit2.
    pub(crate) fn git(&self) -> Result<Repository> {
        let none: [&std::ffi::OsStr; 0] = [];
        Repository::open_ext(&self.root, RepositoryOpenFlags::NO_SEARCH, none)
            .or_cannot(|| format!("open the repository {}", self.root.display()))
    }
}

fn head(git: &Repository) -> Option<Oid> {
    git.head().ok()?.target()
}

fn canonical_folder(at: &Path) -> Result<PathBuf> {
    let refused = |because: String| IsolationError::Refused {
        what: format!("cannot open {}", at.display()),
        because,
        hint: "name a folder inside a git repository with --repo".to_owned(),
    };
    let canonical = fs::canonicalize(at).map_err(|error| refused(error.to_string()))?;
    if canonical.is_dir() { Ok(canonical) } else { Err(refused("it is not a folder".to_owned())) }
}

fn canonical(path: &Path) -> Result<PathBuf> {
    fs::canonicalize(path).or_cannot(|| format!("find {}", path.display()))
}
