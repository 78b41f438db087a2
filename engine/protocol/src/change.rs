//! What a task changed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{LeftOut, RunName, TaskName};

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
