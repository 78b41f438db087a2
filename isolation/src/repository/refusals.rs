//! The refusals of a repository, each with the reason and a hint.

use std::path::{Path, PathBuf};

use engine::ports::IsolationError;
use git2::{Error, ErrorCode};

/// Returns the refusal of a repository that libgit2 cannot open.
pub(super) fn of_open(at: &Path, error: &Error) -> IsolationError {
    let root = nearest_root(at);
    let what = format!("cannot open {}", root.display());
    let said = error.message();
    if error.code() == ErrorCode::NotFound {
        return refused(
            format!("cannot open {}", at.display()),
            "it is not in a git repository",
            "git init, or name a folder inside a repository with --repo",
        );
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
pub(super) fn bare(git_dir: &Path) -> IsolationError {
    refused(
        format!("cannot open {}", git_dir.display()),
        "it is a bare repository: it has no working tree",
        "git worktree add ../tree, then name that folder with --repo; \
         git config core.bare false where it is bare by mistake",
    )
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
