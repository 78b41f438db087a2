//! Opens a repository by any folder in it, and checks that it can be worked on.

use std::fs;
use std::path::{Path, PathBuf};

use engine::ports::{HeadMove, HeadMoveKind, IsolationError, Notice};
use engine::prompt::GitState;
use git2::{ErrorCode, Oid, Repository, RepositoryOpenFlags, RepositoryState};
use rustix::fs::{Access, access};

use crate::error::{OrCannot, Result};
use crate::index_file::{self, Unreadable};
use crate::repository::notices::{self, IndexFacts};
use crate::repository::open_git::open_git;
use crate::repository::refusals;

/// A repository that can be worked on. It holds no libgit2 handle, because threads cannot share
/// one.
#[derive(Clone, Debug)]
pub(crate) struct Repo {
    /// The root of its working tree, canonical.
    pub(crate) root: PathBuf,
    /// Its git directory; for a linked worktree, the worktree's own.
    pub(crate) git_dir: PathBuf,
    /// The git directory that contains the objects and references.
    pub(crate) common_dir: PathBuf,
    /// The folder below the root with which it was opened; empty for the root.
    pub(crate) subfolder: PathBuf,
    /// The notices about the state of the repository.
    pub(crate) notices: Vec<Notice>,
    /// HEAD when it was opened.
    head: Head,
}

/// Where HEAD is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Head {
    /// The name of the branch, also of one without commits; `None` if HEAD is detached.
    branch: Option<String>,
    /// The commit; `None` before the first one.
    commit: Option<Oid>,
}

impl Repo {
    /// Opens the repository that contains the folder `at`, and checks it. Writes nothing.
    pub(crate) fn open(at: &Path) -> Result<Self> {
        let at = canonical_folder(at)?;
        let git = open_git(&at, RepositoryOpenFlags::empty())
            .map_err(|error| refusals::of_open(&at, &error))?;
        let Some(workdir) = git.workdir() else {
            return Err(refusals::bare(&git));
        };
        let root = canonical(workdir)?;
        let (git_dir, common_dir) = (canonical(git.path())?, canonical(git.commondir())?);
        let Ok(subfolder) = at.strip_prefix(&root) else {
            return Err(refusals::elsewhere(&at, &root));
        };
        if at.starts_with(&git_dir) || at.starts_with(&common_dir) {
            return Err(refusals::inside_git(&at, &root));
        }
        let (mut notices, index) = check(&git, &root)?;
        notices.extend(notices::notices(&git, &root, &index));
        let subfolder = subfolder.to_path_buf();
        let head = head(&git);
        Ok(Self { root, git_dir, common_dir, subfolder, notices, head })
    }

    /// Returns the repository at `root` inside another one, which was opened as `git` and checked.
    pub(crate) fn of_nested(root: PathBuf, git_dir: PathBuf, git: &Repository) -> Self {
        let (subfolder, notices) = (PathBuf::new(), Vec::new());
        let common_dir = git_dir.clone();
        Self { root, git_dir, common_dir, subfolder, notices, head: head(git) }
    }

    /// Returns the canonical root of the working tree that contains the folder `at`, whatever the
    /// state of the repository. Writes nothing.
    pub(crate) fn locate(at: &Path) -> Result<PathBuf> {
        let at = canonical_folder(at)?;
        let git = open_git(&at, RepositoryOpenFlags::empty())
            .map_err(|error| refusals::of_open(&at, &error))?;
        git.workdir().map_or_else(|| Err(refusals::bare(&git)), canonical)
    }

    /// Returns the git directory that contains the objects and references, whatever the state of the
    /// repository. Writes nothing.
    pub(crate) fn locate_common_dir(at: &Path) -> Result<PathBuf> {
        let git = open_git(at, RepositoryOpenFlags::empty())
            .map_err(|error| refusals::of_open(at, &error))?;
        canonical(git.commondir())
    }

    /// Returns where HEAD was when the repository was opened.
    pub(crate) fn git_state(&self) -> GitState {
        self.git().map(|git| git_state(&git)).unwrap_or_default()
    }

    /// Returns where HEAD was and is, if it has moved since the repository was opened.
    pub(crate) fn head_move(&self) -> Result<Option<HeadMove>> {
        let (was, now) = (&self.head, head(&self.git()?));
        Ok((*was != now).then(|| HeadMove {
            was: was.describe(),
            now: now.describe(),
            kind: if was.branch == now.branch {
                HeadMoveKind::SameBranch
            } else {
                HeadMoveKind::OtherBranch
            },
        }))
    }

    /// Opens a new libgit2 handle.
    pub(crate) fn git(&self) -> Result<Repository> {
        open_git(&self.root, RepositoryOpenFlags::NO_SEARCH)
            .or_cannot(|| format!("open the repository {}", self.root.display()))
    }
}

impl Head {
    /// Returns the branch and the commit in words: `main at 1a2b3c4`.
    fn describe(&self) -> String {
        let branch = self.branch.as_deref().unwrap_or("no branch");
        match self.commit {
            Some(commit) => format!("{branch} at {}", &commit.to_string()[..7]),
            None => format!("{branch} without a commit"),
        }
    }
}

fn head(git: &Repository) -> Head {
    let commit = git.head().ok().and_then(|head| head.target());
    let target = git.find_reference("HEAD").ok();
    let target = target.and_then(|head| {
        head.symbolic_target_bytes().map(|name| String::from_utf8_lossy(name).into_owned())
    });
    let branch = target.map(|name| match name.strip_prefix("refs/heads/") {
        Some(branch) => branch.to_owned(),
        None => name,
    });
    Head { branch, commit }
}

/// Returns where HEAD is, with the subject of its commit.
fn git_state(git: &Repository) -> GitState {
    let Head { branch, commit } = head(git);
    let commit = commit.map(|id| {
        let commit = git.find_commit(id).ok();
        let subject = commit.as_ref().and_then(|commit| commit.summary_bytes());
        let subject = String::from_utf8_lossy(subject.unwrap_or_default()).into_owned();
        format!("{} {subject}", &id.to_string()[..7]).trim_end().to_owned()
    });
    GitState { branch, commit }
}

/// Returns the root of the working tree that contains the folder `at`, and where its HEAD is; `None`
/// if there is no repository that can be opened. Writes nothing.
#[must_use]
pub fn git_state_at(at: &Path) -> Option<(PathBuf, GitState)> {
    let git = open_git(at, RepositoryOpenFlags::empty()).ok()?;
    Some((canonical(git.workdir()?).ok()?, git_state(&git)))
}

/// Returns the id of the tree of HEAD; `None` if there is no commit or no repository that can be opened.
#[must_use]
pub fn head_tree(at: &Path) -> Option<String> {
    let git = open_git(at, RepositoryOpenFlags::empty()).ok()?;
    let tree = git.head().ok()?.peel_to_tree().ok()?;
    Some(tree.id().to_string())
}

fn canonical_folder(at: &Path) -> Result<PathBuf> {
    let listed = at.to_str().filter(|at| at.contains(',')).map(|at| at.split(','));
    let listed = listed.filter(|list| list.clone().all(|folder| Path::new(folder).is_dir()));
    let repeated =
        listed.map(|list| list.map(|at| format!("--repo {at}")).collect::<Vec<_>>().join(" "));
    let usual = || "name a folder inside a git repository with --repo".to_owned();
    let hint = repeated.unwrap_or_else(usual);
    let refused = |because: String| IsolationError::Refused {
        what: format!("cannot open {}", at.display()),
        because,
        hint: hint.clone(),
    };
    let canonical = fs::canonicalize(at).map_err(|error| refused(error.to_string()))?;
    if canonical.is_dir() { Ok(canonical) } else { Err(refused("it is not a folder".to_owned())) }
}

fn canonical(path: &Path) -> Result<PathBuf> {
    fs::canonicalize(path).or_cannot(|| format!("find {}", path.display()))
}

/// Checks the state, the index, HEAD and the permissions of a repository, and returns the notices
/// about its state, and what its index tells.
fn check(git: &Repository, root: &Path) -> Result<(Vec<Notice>, IndexFacts)> {
    let notices = check_state(git, root)?;
    let index = check_index(git, root)?;
    check_head(git, root)?;
    if let Err(error) = access(root, Access::WRITE_OK | Access::EXEC_OK) {
        return Err(refusals::read_only(root, error.into()));
    }
    Ok((notices, index))
}

fn check_state(git: &Repository, root: &Path) -> Result<Vec<Notice>> {
    let busy = |what, command: &str| Err(refusals::busy(root, what, command));
    match git.state() {
        RepositoryState::Clean => Ok(Vec::new()),
        RepositoryState::Bisect => Ok(vec![Notice {
            from: "a repository at rest".to_owned(),
            to: "tasks start from the commit that is checked out".to_owned(),
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

/// Checks the index, and returns what it tells. It is read without libgit2, which would copy every
/// entry: for a large repository that takes longer than most commands.
fn check_index(git: &Repository, root: &Path) -> Result<IndexFacts> {
    let damaged = |why: &str| refusals::of_index(root, &git2::Error::from_str(why));
    let mut facts = IndexFacts::default();
    let file = git.path().join("index");
    if file.symlink_metadata().is_err() {
        return Ok(facts);
    }
    let bytes = index_file::read(&file);
    let bytes = bytes.ok_or_else(|| damaged("it is not a regular file, or is too large"))?;
    let mut is_conflicted = false;
    let read = index_file::entries(&bytes, |entry| {
        is_conflicted |= entry.is_conflict;
        facts.add(entry);
    });
    match read {
        Ok(()) if !index_file::has_checksum(&bytes) => {
            return Err(damaged("its checksum is that of another content"));
        }
        Ok(()) => {}
        Err(Unreadable::Damaged) => {
            return Err(damaged("its entries or its cached trees are not those of an index"));
        }
        Err(Unreadable::Partial) => {
            let refused = git.index().err();
            let refused = refused.unwrap_or_else(|| git2::Error::from_str("it is not whole"));
            return Err(refusals::of_index(root, &refused));
        }
    }
    if is_conflicted {
        return Err(refusals::conflicted(root));
    }
    Ok(facts)
}

fn check_head(git: &Repository, root: &Path) -> Result<()> {
    let head = match git.head() {
        Ok(head) => head,
        Err(error) if error.code() == ErrorCode::UnbornBranch => return Ok(()),
        Err(error) => return Err(refusals::broken_head(root, &error)),
    };
    let tree = head.peel_to_tree();
    tree.map(drop).map_err(|error| refusals::broken_head(root, &error))
}
