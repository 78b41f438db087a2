//! Captured work: the ref of a capture, the size of the change, and the files a capture leaves out.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{RunName, TaskName};

/// The name of a capture in the task store: `refs/tasks/RUN/TASK/ATTEMPT`, or with `checkpoints`
/// for `tasks` that of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CaptureRef(String);

impl CaptureRef {
    /// Returns the name under which this attempt of a task is captured.
    #[must_use]
    pub fn of(run: &RunName, task: &TaskName, attempt: u32) -> Self {
        Self(format!("refs/tasks/{run}/{task}/{attempt}"))
    }

    /// Returns the name of the last checkpoint of this attempt of a task.
    #[must_use]
    pub fn checkpoint_of(run: &RunName, task: &TaskName, attempt: u32) -> Self {
        Self(format!("refs/checkpoints/{run}/{task}/{attempt}"))
    }

    /// Returns the name as git writes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CaptureRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// How much changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSummary {
    /// Files added, changed or removed.
    pub files: u64,
    /// Lines added. A binary file adds none.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
}

/// Work that is safe in the task store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Captured {
    /// Where it is.
    pub capture: CaptureRef,
    /// How much it is.
    pub changes: ChangeSummary,
    /// What the task made and it does not hold.
    #[serde(default, skip_serializing_if = "LeftOut::is_empty")]
    pub left_out: LeftOut,
}

impl Captured {
    /// Returns a capture that holds all that a task made.
    #[must_use]
    pub fn whole(capture: CaptureRef, changes: ChangeSummary) -> Self {
        Self { capture, changes, left_out: LeftOut::default() }
    }

    /// Returns whether the workspace has files of the task that are not in the capture. Such a
    /// workspace is to be kept.
    #[must_use]
    pub fn holds_uncaptured_files(&self) -> bool {
        self.left_out.files > 0
    }
}

/// What a task made in its workspace that no capture can hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The first of them, sorted by path: at most [`LeftOut::NAMED`].
    pub entries: Vec<LeftOutEntry>,
    /// How many there are.
    pub total: u64,
    /// How many regular files and symlinks are in them: work that is in the workspace only.
    pub files: u64,
    /// Where the workspace is that is kept because of these files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// Something that is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutEntry {
    /// Where it is in the workspace, as git writes paths.
    pub path: String,
    /// What it is.
    #[serde(flatten)]
    pub kind: LeftOutKind,
}

/// Why something is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LeftOutKind {
    /// It is a FIFO.
    Fifo,
    /// It is a socket.
    Socket,
    /// It is a device.
    Device,
    /// Git, or some file system, takes its name for `.git`.
    GitTwin {
        /// How many regular files and symlinks it is or has.
        files: u64,
    },
    /// It is the folder of a submodule.
    Submodule {
        /// How many regular files and symlinks it has.
        files: u64,
    },
    /// It is the `.git` of a repository that the task made itself.
    Repository,
}

impl LeftOut {
    /// How many entries are named.
    pub const NAMED: usize = 20;

    /// Returns whether nothing is left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

impl LeftOutKind {
    /// Returns how many regular files and symlinks are left out with it.
    #[must_use]
    pub fn files(self) -> u64 {
        match self {
            Self::GitTwin { files } | Self::Submodule { files } => files,
            Self::Fifo | Self::Socket | Self::Device | Self::Repository => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CaptureRef, Captured, ChangeSummary};

    #[test]
    fn a_capture_without_it_reads_as_one_that_is_whole() {
        let capture = CaptureRef::of(&"r7k3f".parse().unwrap(), &"t1".parse().unwrap(), 1);
        let whole = Captured::whole(capture, ChangeSummary { files: 1, added: 2, removed: 3 });
        let old =
            r#"{"capture":"refs/tasks/r7k3f/t1/1","changes":{"files":1,"added":2,"removed":3}}"#;
        assert_eq!(serde_json::from_str::<Captured>(old).unwrap(), whole);
        assert_eq!(serde_json::to_string(&whole).unwrap(), old);
    }

    #[test]
    fn what_is_left_out_reads_back() {
        let entry = |path: &str, kind| LeftOutEntry { path: path.to_owned(), kind };
        let left_out = LeftOut {
            entries: vec![
                entry("lib", LeftOutKind::Submodule { files: 3 }),
                entry("s", LeftOutKind::Socket),
            ],
            total: 2,
            files: 3,
            workspace: Some("/w/tree".to_owned()),
        };
        let json = r#"{"entries":[{"path":"lib","kind":"submodule","files":3},{"path":"s","kind":"socket"}],"total":2,"files":3,"workspace":"/w/tree"}"#;
        assert_eq!(serde_json::to_string(&left_out).unwrap(), json);
        assert_eq!(serde_json::from_str::<LeftOut>(json).unwrap(), left_out);
    }
}
