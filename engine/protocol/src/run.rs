//! What is asked of one run.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{IsolationMode, RunId, TaskSpec};

/// One fan-out over one repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// Identity across ledgers.
    pub id: RunId,
    /// The name its plan gives it.
    pub label: Option<String>,
    /// The root of the repository's working tree.
    pub repo: PathBuf,
    /// The folder below the root in which tasks work; empty for the root.
    pub subfolder: PathBuf,
    /// The tasks, in the order of their declaration.
    pub tasks: Vec<TaskSpec>,
    /// How many tasks run at the same time.
    pub jobs: NonZeroUsize,
    /// How tasks are kept apart.
    pub isolation: IsolationMode,
    /// Where their work goes.
    pub merge: MergeMode,
    /// What the first failure means for the rest.
    pub on_failure: OnFailure,
    /// What the names of branches begin with.
    pub branch_prefix: String,
    /// How many bytes of untracked files may be copied into each workspace.
    pub untracked_limit: u64,
    /// The names of the environment's variables that are passed on to what tasks run although they
    /// would be removed.
    #[serde(default)]
    pub pass_env: Vec<String>,
}

/// Where the work of a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MergeMode {
    /// Into the working tree.
    Patch,
    /// Onto one branch per task.
    Branch,
    /// Nowhere: it stays in the task store.
    None,
}

/// What the first failure means for the tasks that have not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// They go on.
    Continue,
    /// They are cancelled.
    CancelTheRest,
}
