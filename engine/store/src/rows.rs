//! The rows of runs and tasks, as the ledger has them. Listings print them as JSON.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use protocol::{
    Captured, CommitSubjects, ExitCode, GroupName, IsolationMode, LandTime, Landed, MergeMode,
    OnFailure, ResolverFailure, RunCaller, RunId, RunName, RunSpec, RunState, Settled, StackBranch,
    TaskId, TaskName, TaskReport, TaskSpec, TaskState, Timestamp, Totals, Usage, VerifySpec,
    WorkspaceNeeds,
};
use serde::{Deserialize, Serialize, Serializer};

/// The row of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRow {
    /// The id, which is unique across ledgers.
    pub id: RunId,
    /// The name, which is unique in this ledger.
    pub name: RunName,
    /// The name from the plan.
    pub label: Option<String>,
    /// The group of runs in several repositories that it belongs to.
    pub group: Option<GroupName>,
    /// The canonical root of the repository.
    #[serde(serialize_with = "lossily")]
    pub repo: PathBuf,
    /// The state.
    pub state: RunState,
    /// When the run was recorded.
    pub started: Timestamp,
    /// When the run finished; `None` if it is running or its engine crashed.
    pub finished: Option<Timestamp>,
    /// The number of tasks in each state.
    pub tasks: TaskCounts,
    /// The totals of the run.
    pub totals: Option<Totals>,
    /// The exit code of the program.
    pub exit_code: Option<ExitCode>,
    /// The total usage of all models; `None` if no model was asked or the run has not ended.
    pub usage: Option<Usage>,
    /// The specification of the run without its tasks, which have rows of their own.
    pub spec: RunTerms,
}

/// The part of a [`protocol::RunSpec`] that is the same for all tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTerms {
    /// The group that the run belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// The folder below the repository's root in which tasks work; empty for the root.
    #[serde(serialize_with = "lossily")]
    pub subfolder: PathBuf,
    /// How many tasks run at the same time.
    pub jobs: NonZeroUsize,
    /// How tasks are isolated.
    pub isolation: IsolationMode,
    /// How the work of tasks is merged.
    pub merge: MergeMode,
    /// The branch of the stack, if it is not the run's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<StackBranch>,
    /// When the work of a task lands.
    #[serde(default, skip_serializing_if = "LandTime::is_end")]
    pub land: LandTime,
    /// What happens to the other tasks after the first failure.
    pub on_failure: OnFailure,
    /// The prefix of branch names.
    pub branch_prefix: String,
    /// How many bytes of untracked files may be copied into each workspace.
    pub untracked_limit: u64,
    /// The names of environment variables that tasks get although the engine removes such
    /// variables by default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// What each workspace needs besides the files of the repository.
    #[serde(default, skip_serializing_if = "WorkspaceNeeds::is_empty")]
    pub needs: WorkspaceNeeds,
    /// How the work is verified before it lands.
    #[serde(default, skip_serializing_if = "VerifySpec::is_off")]
    pub verify: VerifySpec,
    /// The globs of files in which the lines of both sides are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub union: Vec<String>,
    /// Who writes the subjects of commits.
    #[serde(default, skip_serializing_if = "CommitSubjects::is_title")]
    pub commits: CommitSubjects,
    /// The run that this one retries, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<RunName>,
    /// The call of a model that has started the run, if one has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<RunCaller>,
}

impl From<&RunSpec> for RunTerms {
    fn from(run: &RunSpec) -> Self {
        Self {
            subfolder: run.subfolder.clone(),
            jobs: run.jobs,
            isolation: run.isolation,
            merge: run.merge,
            stack: run.stack.clone(),
            land: run.land,
            on_failure: run.on_failure,
            branch_prefix: run.branch_prefix.clone(),
            untracked_limit: run.untracked_limit,
            pass_env: run.pass_env.clone(),
            needs: run.needs.clone(),
            verify: run.verify.clone(),
            union: run.union.clone(),
            commits: run.commits.clone(),
            group: run.group.clone(),
            retry_of: run.retry.as_ref().map(|retry| retry.run.clone()),
            caller: run.caller.clone(),
        }
    }
}

/// The number of tasks of a run, in all and in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskCounts {
    /// All tasks.
    pub all: usize,
    /// Tasks that wait for a permit or for predecessors.
    pub queued: usize,
    /// Running tasks.
    pub running: usize,
    /// Tasks that are done.
    pub done: usize,
    /// Failed tasks.
    pub failed: usize,
    /// Cancelled tasks.
    pub cancelled: usize,
    /// Tasks interrupted by the end of their engine.
    pub interrupted: usize,
}

/// The row of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskRow {
    /// The id, which is unique across ledgers.
    pub id: TaskId,
    /// The name, which is unique in the run.
    pub name: TaskName,
    /// The title, in one line.
    pub title: String,
    /// The item of `--each` or the word of the command line that the task is for, if it is for
    /// exactly one.
    pub item: Option<String>,
    /// The items of the task, if `--chunk` gave it several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
    /// The state.
    pub state: TaskState,
    /// The number of the last attempt; 0 before the first.
    pub attempt: u32,
    /// When the task first got its permit.
    pub started: Option<Timestamp>,
    /// When the task ended.
    pub finished: Option<Timestamp>,
    /// The report on how the task ended.
    pub report: Option<TaskReport>,
    /// The usage of the task's models; `None` if it asked no model or has not ended.
    pub usage: Option<Usage>,
    /// The last capture of the task, which is in the task store.
    pub captured: Option<Captured>,
    /// When that capture was discarded.
    pub discarded: Option<Timestamp>,
    /// When that capture was removed because of its age or size, with the log of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collected: Option<Timestamp>,
    /// The result of its last landing.
    pub landing: Option<Landed>,
    /// What that landing settled of its conflicts.
    #[serde(skip_serializing_if = "Settled::is_empty")]
    pub settled: Settled,
    /// The resolvers that have not settled a conflict since then, the last one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<ResolverFailure>,
    /// The path of its last workspace, which may be removed by now.
    pub workspace: Option<String>,
    /// The specification of the task.
    #[serde(skip)]
    pub spec: TaskSpec,
}

impl TaskCounts {
    /// Adds tasks in the state `state`.
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

/// Serializes a path; bytes that are not UTF-8 are replaced, because JSON cannot hold them.
fn lossily<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}
