//! What one path of a working tree is to us: a file or a symlink with its bytes in the task store,
//! and how a task changed it.

use git2::Oid;
use protocol::{RepoPath, Side};
use serde::{Deserialize, Serialize};

/// What kind of thing a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A file.
    File,
    /// A file that may be run.
    Executable,
    /// A symlink.
    Link,
}

impl Mode {
    /// Returns the number git writes for it.
    pub(crate) fn to_git(self) -> u32 {
        match self {
            Self::File => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Link => 0o120_000,
        }
    }

    /// Returns the mode that git writes as `number`. Old repositories have files of mode 664.
    pub(crate) fn from_git(number: u32) -> Option<Self> {
        match number {
            0o100_644 | 0o100_664 => Some(Self::File),
            0o100_755 => Some(Self::Executable),
            0o120_000 => Some(Self::Link),
            _ => None,
        }
    }

    /// Returns the mode of a file with these permissions: git asks the owner's bit only.
    pub(crate) fn of_file(permissions: u32) -> Self {
        if permissions & 0o100 == 0 { Self::File } else { Self::Executable }
    }
}

/// One version of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// What kind of thing it is.
    pub(crate) mode: Mode,
    /// Its bytes as they are in the working tree, in the task store; a symlink's are its target.
    pub(crate) oid: Oid,
}

impl Entry {
    /// Returns it as one side of a conflict.
    pub(crate) fn to_side(self) -> Side {
        Side { mode: self.mode.to_git(), oid: self.oid.to_string() }
    }
}

/// How a task changed one path. `base` and `task` differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// The path.
    pub(crate) path: RepoPath,
    /// What the task began with; none if the path was not there.
    pub(crate) base: Option<Entry>,
    /// What the task left; none if it removed the path.
    pub(crate) task: Option<Entry>,
}

/// A path that a task gave another name. Both are changes as well: one is gone, one is new.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rename {
    /// What it was called.
    pub(crate) from: RepoPath,
    /// What it is called now.
    pub(crate) to: RepoPath,
}
