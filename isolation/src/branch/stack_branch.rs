//! The branch of a stack: its name, where it is, and whether it is checked out.

use std::fs;
use std::path::{Path, PathBuf};

use engine::ports::IsolationError;
use git2::{ErrorCode, Oid, Reference, Repository};
use protocol::{BranchOwner, RunName, StackBranch};

use crate::branch::make_branches::head;
use crate::branch::publish::{check_folder, find_branch};
use crate::error::{OrCannot, Result};
use crate::repository::Repo;

/// The largest file with the HEAD of a worktree that is read.
const LARGEST_HEAD: u64 = 64 << 10;

/// The branch to which the commits of a run are added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StackTarget {
    /// The name of the branch, without `refs/heads/`.
    pub(crate) name: String,
    /// The commit of the branch; `None` if the branch does not exist.
    pub(crate) tip: Option<Oid>,
    /// The commit on which the first new commit is made: that of the branch, or else the one that
    /// is checked out. `None` if there is no commit yet.
    pub(crate) base: Option<Oid>,
    /// Where the branch is checked out.
    pub(crate) checkout: Checkout,
    /// Whether the user has named the branch.
    is_users: bool,
}

/// Where a branch is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Checkout {
    /// Nowhere.
    Nowhere,
    /// In the working tree of the run.
    Here,
    /// In another working tree, whose git directory this is.
    Elsewhere(PathBuf),
}

impl StackTarget {
    /// Finds the branch of the run in `own`, which is a prefix of names and the name of the run, or
    /// the branch that was named instead.
    pub(crate) fn find(
        repo: &Repo,
        git: &Repository,
        own: (&str, &RunName),
        named: Option<&StackBranch>,
    ) -> Result<Self> {
        let (prefix, run) = own;
        let is_users = named.is_some_and(|named| named.owner == BranchOwner::User);
        let name = named.map_or_else(|| format!("{prefix}/{run}"), |named| named.name.clone());
        let tip = match (is_users, find_branch(git, &name)) {
            (true, Ok(None)) => return Err(no_such_branch(git, &name)?),
            (_, found) => found?.map(|commit| commit.id()),
        };
        if !is_users && tip.is_none() {
            check_name(git, &name)?;
        }
        let base = match tip {
            Some(tip) => Some(tip),
            None => head(git)?.map(|commit| commit.id()),
        };
        let checkout = checkout(repo, &name)?;
        Ok(Self { name, tip, base, checkout, is_users })
    }

    /// Returns the full name of the branch.
    pub(crate) fn reference(&self) -> String {
        format!("refs/heads/{}", self.name)
    }

    /// Checks that commits can be added to the branch.
    ///
    /// # Errors
    /// The branch is checked out, and its files cannot come along.
    pub(crate) fn check(&self) -> Result<()> {
        let name = &self.name;
        let refused = |because: String, hint: String| {
            let what = format!("no commits can be added to the branch `{name}`");
            Err(IsolationError::Refused { what, because, hint })
        };
        match &self.checkout {
            Checkout::Nowhere => Ok(()),
            Checkout::Here if self.is_users => Ok(()),
            Checkout::Here => refused(
                "it is checked out, and only a branch of --onto moves with its files".to_owned(),
                "git switch -".to_owned(),
            ),
            Checkout::Elsewhere(git_dir) => refused(
                format!("it is checked out in another working tree, {}", working_tree_of(git_dir)),
                "run it there, or name another branch".to_owned(),
            ),
        }
    }
}

/// Returns the working tree of a git directory, or else the directory.
fn working_tree_of(git_dir: &Path) -> String {
    let worktree = small_file(&git_dir.join("gitdir"));
    let worktree = worktree.map(|text| PathBuf::from(text.trim_end()));
    let folder = worktree.as_deref().and_then(Path::parent).or(match git_dir.file_name() {
        Some(name) if name == ".git" => git_dir.parent(),
        _ => None,
    });
    folder.unwrap_or(git_dir).display().to_string()
}

/// Checks that a new branch can have this name.
fn check_name(git: &Repository, name: &str) -> Result<()> {
    match name.rsplit_once('/') {
        Some((folder, _)) => check_folder(git, folder)?,
        None if Reference::is_valid_name(&format!("refs/heads/{name}")) => {}
        None => check_folder(git, name)?,
    }
    let below = git.references_glob(&format!("refs/heads/{name}/*"));
    let below = below.or_cannot(|| format!("look for branches below {name}"))?.next();
    match below {
        None => Ok(()),
        Some(_) => Err(IsolationError::Refused {
            what: format!("the branch `{name}` cannot be made"),
            because: format!("there are branches whose names start with `{name}/`"),
            hint: "set branch.prefix to something else".to_owned(),
        }),
    }
}

/// Returns the refusal of a branch that does not exist, with what the name stands for.
fn no_such_branch(git: &Repository, name: &str) -> Result<IsolationError> {
    let found = |reference: &str| match git.find_reference(reference) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec) => {
            Ok(false)
        }
        Err(error) => Err(error).or_cannot(|| format!("look for {reference}")),
    };
    let is_unborn = git.head().is_err_and(|error| error.code() == ErrorCode::UnbornBranch);
    let make = format!("git branch {name}");
    let (because, hint) = if name == "HEAD" {
        let branch = git.head().ok().filter(Reference::is_branch);
        let branch = branch.and_then(|head| head.shorthand().ok().map(str::to_owned));
        match branch {
            Some(branch) => ("HEAD is not a branch".to_owned(), format!("--onto {branch}")),
            None => {
                let hint = "git switch -c NAME, and then --onto NAME";
                ("HEAD is detached: no branch is checked out".to_owned(), hint.to_owned())
            }
        }
    } else if found(&format!("refs/tags/{name}"))? || found(name)? && name.starts_with("refs/tags/")
    {
        (format!("`{name}` is a tag, and a tag does not move"), make)
    } else if found(&format!("refs/remotes/{name}"))? {
        let local = name.split_once('/').map_or(name, |(_, local)| local);
        let hint = format!("git branch {local} {name}, and then --onto {local}");
        (format!("`{name}` is a branch of a remote repository"), hint)
    } else if is_unborn {
        let hint = "git commit --allow-empty -m 'Begin'".to_owned();
        ("the repository has no commit yet".to_owned(), hint)
    } else {
        ("there is no such branch".to_owned(), make)
    };
    let what = format!("no commits can be added to the branch `{name}`");
    Ok(IsolationError::Refused { what, because, hint })
}

/// Returns where a branch is checked out.
pub(crate) fn checkout(repo: &Repo, name: &str) -> Result<Checkout> {
    let reference = format!("refs/heads/{name}");
    let is_at = |git_dir: &Path| {
        let head = small_file(&git_dir.join("HEAD"));
        head.and_then(|head| Some(head.trim_end().strip_prefix("ref: ")? == reference))
            .unwrap_or(false)
    };
    if is_at(&repo.git_dir) {
        return Ok(Checkout::Here);
    }
    let what = || format!("list the worktrees of {}", repo.common_dir.display());
    let is_bare = || {
        let config = repo.git()?.config();
        Ok(config.and_then(|config| config.get_bool("core.bare")).unwrap_or(false))
    };
    if repo.git_dir != repo.common_dir && is_at(&repo.common_dir) && !is_bare()? {
        return Ok(Checkout::Elsewhere(repo.common_dir.clone()));
    }
    let listed = match fs::read_dir(repo.common_dir.join("worktrees")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Checkout::Nowhere),
        listed => listed.or_cannot(what)?,
    };
    for entry in listed {
        let git_dir = entry.or_cannot(what)?.path();
        if is_at(&git_dir) {
            return Ok(Checkout::Elsewhere(git_dir));
        }
    }
    Ok(Checkout::Nowhere)
}

/// Reads a small regular file.
fn small_file(path: &Path) -> Option<String> {
    let is_small =
        fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST_HEAD);
    is_small.then(|| fs::read_to_string(path).ok()).flatten()
}
