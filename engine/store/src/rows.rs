//! What the ledger knows of one run and of one task. Their JSON is what listings print.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use protocol::{
    Captured, ExitCode, IsolationMode, Landed, MergeMode, OnFailure, RunId, RunName, RunSpec,
    RunState, TaskId, TaskName, TaskReport, TaskSpec, TaskState, Timestamp, Totals, Usage,
};
use serde::{Deserialize, Serialize, Serializer};

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRow {
    /// Its identity across ledgers.
    pub id: RunId,
    /// Its name in this ledger.
    pub name: RunName,
    /// The name its plan gave it.
    pub label: Option<String>,
    /// The root of the repository it works on, canonical.
    #[serde(serialize_with = "lossily")]
    pub repo: PathBuf,
    /// Where it stands.
    pub state: RunState,
    /// When it was recorded.
    pub started: Timestamp,
    /// When it was over; not known of a run whose engine died.
    pub finished: Option<Timestamp>,
    /// How many of its tasks stand where.
    pub tasks: TaskCounts,
    /// What it came to.
    pub totals: Option<Totals>,
    /// How the program ended.
    pub exit_code: Option<ExitCode>,
    /// What its models used in all; nothing where none was asked, or it has not ended.
    pub usage: Option<Usage>,
    /// What was asked of it, but for the tasks, which have rows of their own.
    pub spec: RunTerms,
}

/// What is asked of a run as a whole: the parts of a [`protocol::RunSpec`] that are the same for
/// all its tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTerms {
    /// The folder below the repository's root in which tasks work; empty for the root.
    #[serde(serialize_with = "lossily")]
    pub subfolder: PathBuf,
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
}

impl From<&RunSpec> for RunTerms {
    fn from(run: &RunSpec) -> Self {
        Self {
            subfolder: run.subfolder.clone(),
            jobs: run.jobs,
            isolation: run.isolation,
            merge: run.merge,
            on_failure: run.on_failure,
            branch_prefix: run.branch_prefix.clone(),
            untracked_limit: run.untracked_limit,
            pass_env: run.pass_env.clone(),
        }
    }
}

/// How many tasks of a run stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskCounts {
    /// All of them.
    pub all: usize,
    /// Wait for a permit or for predecessors.
    pub queued: usize,
    /// Have a permit.
    pub running: usize,
    /// Ended well.
    pub done: usize,
    /// Failed.
    pub failed: usize,
    /// Were cancelled.
    pub cancelled: usize,
    /// Did not end before their engine died.
    pub interrupted: usize,
}

/// One task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskRow {
    /// Its identity across ledgers.
    pub id: TaskId,
    /// Its name in its run.
    pub name: TaskName,
    /// What it is about, in one line.
    pub title: String,
    /// Where it stands.
    pub state: TaskState,
    /// Which attempt at it was the last; 0 before the first.
    pub attempt: u32,
    /// When it first got its permit.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// How it ended and what it left behind.
    pub report: Option<TaskReport>,
    /// What its models used; nothing where none was asked, or it has not ended.
    pub usage: Option<Usage>,
    /// The last work of it that is in the task store.
    pub captured: Option<Captured>,
    /// When that work was thrown away, if it was.
    pub discarded: Option<Timestamp>,
    /// What the last landing that it was part of made of its work.
    pub landing: Option<Landed>,
    /// Where its last workspace was made; it may be gone.
    pub workspace: Option<String>,
    /// What was asked of it.
    #[serde(skip)]
    pub spec: TaskSpec,
}

impl TaskCounts {
    /// Counts tasks that stand at `state`.
    pub(crate) fn count(&mut self, state: TaskState, tasks: usize) {
        self.all += tasks;
        *match state {
            TaskState::Queued => &mut self.queued,
            TaskState::Running => &mut self.running,
            TaskState::Done => &mut self.done,
            TaskState::Failed => &mut self.failed,
            TaskState::Cancelled => &mut self.cancelled,
            TaskState::Interrupted => &mut self.interrupted,
        } += tasks;
    }
}

/// JSON has no bytes: a path that is not UTF-8 is shown as nearly as can be.
fn lossily<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}
