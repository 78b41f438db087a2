//! The refusals of a repository, each with the reason and a hint.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use engine::ports::IsolationError;
use engine::texts::counted;
use git2::{Error, ErrorCode, Repository, RepositoryOpenFlags};

use crate::repository::open_git::open_git;

/// Returns the refusal of a repository that libgit2 cannot open.
pub(super) fn of_open(at: &Path, error: &Error) -> IsolationError {
    let root = nearest_root(at);
    let what = format!("cannot open {}", root.display());
    let said = error.message();
    if error.code() == ErrorCode::NotFound {
        let what = format!("cannot open {}", at.display());
        let hint = match repositories_in(at) {
            found if !found.is_empty() => choices(&found),
            _ if is_home(at) => "name a folder inside a repository with --repo".to_owned(),
            _ => "git init, or name a folder inside a repository with --repo".to_owned(),
        };
        return refused(what, "it is not in a git repository", hint);
    }
    if error.code() == ErrorCode::Owner {
        return refused(
            what,
            "it belongs to another user",
            format!("git config --global --add safe.directory {}", quoted(&root)),
        );
    }
    if said.contains("refstorage") {
        return refused(
            what,
            "its references are in the reftable format, which is not supported",
            "git refs migrate --ref-format=files",
        );
    }
    if said.contains("object format") || said.contains("objectformat") {
        return refused(
            what,
            "its objects are named by SHA-256, which is not supported",
            "work on a clone with SHA-1 names",
        );
    }
    if said.contains("unsupported extension") || said.contains("unsupported repository version") {
        return refused(what, said, "work on a fresh clone made with git's default settings");
    }
    refused(what, said, format!("git -C {} fsck", quoted(&root)))
}

/// Returns the refusal of a repository whose index libgit2 cannot read.
pub(super) fn of_index(root: &Path, error: &Error) -> IsolationError {
    let said = error.message();
    let what = |its: &str| format!("cannot open {}: its index is {its}", root.display());
    let at = quoted(root);
    if said.contains("'sdir'") {
        let hint = format!("git -C {at} sparse-checkout reapply --no-sparse-index");
        return refused(what("sparse"), said, hint);
    }
    if said.contains("'link'") {
        let hint = format!("git -C {at} update-index --no-split-index");
        return refused(what("split"), said, hint);
    }
    let hint = format!("rm {}/.git/index && git -C {at} reset", root.display());
    refused(what("damaged"), said, hint)
}

/// Returns the refusal of a repository without a working tree.
pub(super) fn bare(git: &Repository) -> IsolationError {
    let what = format!("cannot open {}", git.path().display());
    let worktrees = worktrees_of(git);
    if !worktrees.is_empty() {
        let because = "it is a bare repository: its files are in its worktrees";
        return refused(what, because, choices(&worktrees));
    }
    refused(
        what,
        "it is a bare repository: it has no working tree",
        "git worktree add ../tree, then name that folder with --repo; \
         git config core.bare false where it is bare by mistake",
    )
}

/// How many folders are named.
const NAMED: usize = 5;

/// How many entries of a folder are looked at.
const LOOKED_AT: usize = 1_000;

/// Returns the options that name these folders.
fn choices(folders: &BTreeSet<PathBuf>) -> String {
    let named = folders.iter().take(NAMED).map(|folder| format!("--repo {}", quoted(folder)));
    let mut named: Vec<String> = named.collect();
    if folders.len() > NAMED {
        named.push(format!("one of {}", counted(folders.len() - NAMED, "other")));
    }
    named.join(", or ")
}

/// Returns the worktrees of a repository that exist.
fn worktrees_of(git: &Repository) -> BTreeSet<PathBuf> {
    let Ok(names) = git.worktrees() else { return BTreeSet::new() };
    let names = names.iter_bytes().filter_map(|name| std::str::from_utf8(name).ok());
    let paths = names.filter_map(|name| Some(git.find_worktree(name).ok()?.path().to_path_buf()));
    paths.filter(|path| path.is_dir()).collect()
}

/// Returns the folders in `at` that are working trees, and the worktrees of its bare repositories.
fn repositories_in(at: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(at).into_iter().flatten().flatten().take(LOOKED_AT);
    let mut found = BTreeSet::new();
    for folder in entries.map(|entry| entry.path()).filter(|path| path.is_dir()) {
        if folder.join(".git").symlink_metadata().is_ok() {
            found.insert(folder);
        } else if folder.join("objects").is_dir()
            && let Ok(git) = open_git(&folder, RepositoryOpenFlags::NO_SEARCH)
        {
            found.extend(worktrees_of(&git));
        }
    }
    found
}

/// Returns whether this is the user's home.
fn is_home(at: &Path) -> bool {
    let home = std::env::home_dir().and_then(|home| std::fs::canonicalize(home).ok());
    home.as_deref() == Some(at)
}

/// Returns the refusal of a repository whose `core.worktree` is elsewhere.
pub(super) fn elsewhere(at: &Path, root: &Path) -> IsolationError {
    refused(
        format!("cannot open {}", at.display()),
        format!("core.worktree says that its working tree is {}", root.display()),
        format!("--repo {}, or git config --unset core.worktree", quoted(root)),
    )
}

/// Returns the refusal of a folder inside a git directory.
pub(super) fn inside_git(at: &Path, root: &Path) -> IsolationError {
    refused(
        format!("cannot open {}", at.display()),
        "it is inside a git directory",
        format!("--repo {}", quoted(root)),
    )
}

/// Returns the refusal of a repository with an operation in progress, such as a rebase.
pub(super) fn busy(root: &Path, what: &str, command: &str) -> IsolationError {
    refused(
        format!("cannot open {}", root.display()),
        format!("{what} is in progress"),
        format!("finish it, or {command}"),
    )
}

/// Returns the refusal of a repository with unmerged paths.
pub(super) fn conflicted(root: &Path) -> IsolationError {
    refused(
        format!("cannot open {}", root.display()),
        "its index has conflicts",
        "resolve them and git add the files; git status names them",
    )
}

/// Returns the refusal of a repository whose HEAD cannot be read.
pub(super) fn broken_head(root: &Path, error: &Error) -> IsolationError {
    refused(
        format!("cannot open {}: its HEAD cannot be read", root.display()),
        error.message(),
        format!("git -C {} fsck", quoted(root)),
    )
}

/// Returns the refusal of a working tree that cannot be written.
pub(super) fn read_only(root: &Path, error: std::io::Error) -> IsolationError {
    refused(
        format!("cannot write in {}", root.display()),
        error.to_string(),
        "work on a copy that is yours: git clone --local",
    )
}

fn refused(
    what: impl Into<String>,
    because: impl Into<String>,
    hint: impl Into<String>,
) -> IsolationError {
    IsolationError::Refused { what: what.into(), because: because.into(), hint: hint.into() }
}

/// Returns the nearest folder at or above `at` that contains `.git`.
pub(super) fn nearest_root(at: &Path) -> PathBuf {
    let found = at.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    found.unwrap_or(at).to_path_buf()
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=@%:,".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
