//! One version of a path in a working tree, whose content is in the task store, and the change that
//! a task made to it.

use git2::Oid;
use protocol::{RepoPath, Side};
use serde::{Deserialize, Serialize};

/// The kind of a path, as git's file mode distinguishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A regular file that is not executable.
    File,
    /// An executable file.
    Executable,
    /// A symlink.
    Link,
}

impl Mode {
    /// Returns git's number for the mode.
    pub(crate) fn to_git(self) -> u32 {
        match self {
            Self::File => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Link => 0o120_000,
        }
    }

    /// Returns the mode with this number in git. Old repositories have files of mode 664.
    pub(crate) fn from_git(number: u32) -> Option<Self> {
        match number {
            0o100_644 | 0o100_664 => Some(Self::File),
            0o100_755 => Some(Self::Executable),
            0o120_000 => Some(Self::Link),
            _ => None,
        }
    }

    /// Returns the mode of a file with these permissions. As in git, only the owner's bit counts.
    pub(crate) fn of_file(permissions: u32) -> Self {
        if permissions & 0o100 == 0 { Self::File } else { Self::Executable }
    }
}

/// One version of a path: its mode and its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The mode.
    pub(crate) mode: Mode,
    /// The id, in the task store, of the file's bytes as in the working tree; for a symlink, of its
    /// target.
    pub(crate) oid: Oid,
}

impl Entry {
    /// Converts the entry to one side of a conflict.
    pub(crate) fn to_side(self) -> Side {
        Side { mode: self.mode.to_git(), oid: self.oid.to_string() }
    }
}

/// A task's change to one path. `base` and `task` differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// The path.
    pub(crate) path: RepoPath,
    /// The entry when the task started; `None` if the path did not exist.
    pub(crate) base: Option<Entry>,
    /// The entry when the task ended; `None` if the task removed the path.
    pub(crate) task: Option<Entry>,
    /// The old path of a new file, if git recorded in the workspace that the task renamed it. The
    /// old path is a change of its own. Other renames are found by similarity.
    pub(crate) from: Option<RepoPath>,
}

impl Change {
    /// Returns a change without a recorded rename.
    pub(crate) fn new(path: RepoPath, base: Option<Entry>, task: Option<Entry>) -> Self {
        Self { path, base, task, from: None }
    }
}

/// A recorded rename, as a capture stores it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rename {
    /// The old path.
    pub(crate) from: RepoPath,
    /// The new path.
    pub(crate) to: RepoPath,
}

impl Rename {
    /// Returns the rename of a change, if there is one.
    pub(crate) fn of(change: &Change) -> Option<Self> {
        Some(Self { from: change.from.clone()?, to: change.path.clone() })
    }
}
