//! Captured work: the git ref of a capture, the size of its changes, and the files it leaves out.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{RunName, TaskName};

/// The git ref of a capture in the task store, the bare repository that keeps the work of tasks:
/// `refs/tasks/RUN/TASK/ATTEMPT`, or `refs/checkpoints/RUN/TASK/ATTEMPT` for a checkpoint.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct CaptureRef(String);

impl CaptureRef {
    /// Returns the ref of the capture of one attempt at a task.
    #[must_use]
    pub fn of(run: &RunName, task: &TaskName, attempt: u32) -> Self {
        Self(format!("refs/tasks/{run}/{task}/{attempt}"))
    }

    /// Returns the ref of the last checkpoint of one attempt at a task.
    #[must_use]
    pub fn checkpoint_of(run: &RunName, task: &TaskName, attempt: u32) -> Self {
        Self(format!("refs/checkpoints/{run}/{task}/{attempt}"))
    }

    /// Returns the full ref name.
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

/// The size of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeSummary {
    /// The number of files that were added, changed or removed.
    pub files: u64,
    /// The number of lines that were added. Binary files do not count, and a renamed file only by what
    /// has changed in it.
    pub added: u64,
    /// The number of lines that were removed.
    pub removed: u64,
}

/// The work of a task that is stored in the task store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Captured {
    /// The ref of the capture.
    pub capture: CaptureRef,
    /// The size of its changes.
    pub changes: ChangeSummary,
    /// The paths that the task created and that the capture does not contain.
    #[serde(default, skip_serializing_if = "LeftOut::is_empty")]
    pub left_out: LeftOut,
}

impl Captured {
    /// Returns a capture that left nothing out.
    #[must_use]
    pub fn whole(capture: CaptureRef, changes: ChangeSummary) -> Self {
        Self { capture, changes, left_out: LeftOut::default() }
    }

    /// Returns whether the workspace has files that the capture does not contain. Such a workspace
    /// must not be removed.
    #[must_use]
    pub fn holds_uncaptured_files(&self) -> bool {
        self.left_out.files > 0
    }
}

/// The paths that a task created in its workspace and that a capture cannot contain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The first entries, sorted by path; at most [`LeftOut::MAX_ENTRIES`].
    pub entries: Vec<LeftOutEntry>,
    /// The total number of entries.
    pub total: u64,
    /// The number of regular files and symlinks in all entries. They exist only in the workspace.
    pub files: u64,
    /// The path of the workspace, which is kept because of these files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

/// One path that a capture leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutEntry {
    /// The path in the workspace, quoted as git does.
    pub path: String,
    /// Why it is left out.
    #[serde(flatten)]
    pub kind: LeftOutKind,
}

/// Why a capture leaves a path out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LeftOutKind {
    /// The path is a FIFO.
    Fifo,
    /// The path is a socket.
    Socket,
    /// The path is a device.
    Device,
    /// The name of the path is one that git or some file system treats as `.git`.
    GitTwin {
        /// The number of regular files and symlinks at or below the path.
        files: u64,
    },
    /// The path is the folder of a submodule.
    Submodule {
        /// The number of regular files and symlinks below the folder.
        files: u64,
    },
    /// The path is the `.git` of a repository that the task created.
    Repository,
}

impl LeftOut {
    /// The maximum number of entries that are listed.
    pub const MAX_ENTRIES: usize = 20;

    /// Returns whether nothing is left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

impl LeftOutKind {
    /// Returns the number of regular files and symlinks that are left out with the path.
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
