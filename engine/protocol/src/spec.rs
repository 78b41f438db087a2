//! The specification of a run and of each of its tasks.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Approvals, CommitSubjects, Cost, GroupName, IsolationMode, ModelRoute, RunCaller, RunId,
    RunName, ServerChoice, Subagent, TaskId, TaskName, TaskNeeds, VerifySpec, WorkspaceNeeds,
};

/// The specification of a run: a set of tasks that work on one repository at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The id of the run.
    pub id: RunId,
    /// What the run is called in lists: `--label`, or the `name` of its plan.
    pub label: Option<String>,
    /// The group that the run belongs to, if it was started for several repositories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupName>,
    /// The root of the repository's working tree.
    pub repo: PathBuf,
    /// The folder in which tasks work, relative to the root; empty for the root itself.
    pub subfolder: PathBuf,
    /// The tasks in the order in which they were declared.
    pub tasks: Vec<TaskSpec>,
    /// The maximum number of tasks that run at the same time.
    pub jobs: NonZeroUsize,
    /// How tasks are isolated from each other.
    pub isolation: IsolationMode,
    /// Where the work of the tasks lands at the end of the run.
    pub merge: MergeMode,
    /// The branch that the work is committed to with [`MergeMode::Stack`], if it is not the run's
    /// own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<StackBranch>,
    /// When the work of a task lands.
    #[serde(default, skip_serializing_if = "LandTime::is_end")]
    pub land: LandTime,
    /// The globs of files of which both sides' lines are kept where both changed the same lines,
    /// relative to the root of the repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub union: Vec<String>,
    /// What happens to the other tasks when one fails.
    pub on_failure: OnFailure,
    /// The prefix of branch names.
    pub branch_prefix: String,
    /// The maximum total size in bytes of the untracked files that are copied into each workspace.
    pub untracked_limit: u64,
    /// The names of environment variables that are passed on to commands although they hold
    /// keys of providers.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// What each workspace needs besides the files of the repository.
    #[serde(default)]
    pub needs: WorkspaceNeeds,
    /// How the work is verified before it lands.
    #[serde(default, skip_serializing_if = "VerifySpec::is_off")]
    pub verify: VerifySpec,
    /// Who writes the subjects of commits.
    #[serde(default, skip_serializing_if = "CommitSubjects::is_title")]
    pub commits: CommitSubjects,
    /// The run that this one retries, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// The call of a model that has started the run, if one has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<RunCaller>,
}

impl RunSpec {
    /// Returns the branch of the user that the work is committed to, if there is one.
    #[must_use]
    pub fn users_branch(&self) -> Option<&str> {
        self.stack.as_ref().and_then(StackBranch::of_user)
    }

    /// Returns what the workspace of a task of this run needs: what the task names, and else what the
    /// run does.
    #[must_use]
    pub fn needs_of(&self, task: &TaskSpec) -> WorkspaceNeeds {
        self.needs.of_task(&task.needs)
    }
}

/// What a run knows of the earlier run whose tasks it retries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// The earlier run.
    pub run: RunName,
    /// The tasks of the earlier run on which tasks of this one depend. They are done, and their
    /// work is in the tree.
    pub done: Vec<DoneTask>,
}

/// A task of an earlier run that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DoneTask {
    /// The name of the task.
    pub name: TaskName,
    /// The value that it yielded.
    #[serde(rename = "yield")]
    pub value: Value,
}

/// Where the work of a run lands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergeMode {
    /// In the working tree.
    Patch,
    /// On branches, one per task.
    Branch,
    /// On one branch, a commit per task.
    Stack,
    /// Nowhere: the work stays in the task store.
    None,
}

impl MergeMode {
    /// Returns the name of the mode, as in settings and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Patch => "patch",
            Self::Branch => "branch",
            Self::Stack => "stack",
            Self::None => "none",
        }
    }
}

/// A branch that a run commits to and that is not its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackBranch {
    /// The name of the branch, without `refs/heads/`.
    pub name: String,
    /// Whose branch it is.
    pub owner: BranchOwner,
}

impl StackBranch {
    /// Returns the name of the branch if the user has named it.
    #[must_use]
    pub fn of_user(&self) -> Option<&str> {
        match self.owner {
            BranchOwner::User => Some(&self.name),
            BranchOwner::RetriedRun => None,
        }
    }
}

/// Whose branch a run commits to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchOwner {
    /// It is the branch of the run that is retried, and is made if it does not exist.
    RetriedRun,
    /// It is a branch of the user, who has named it. It must exist.
    User,
}

/// When the work of a task lands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LandTime {
    /// When the last task of the run has ended.
    #[default]
    End,
    /// When the task has ended.
    Eager,
}

impl LandTime {
    /// Returns whether work lands at the end of the run.
    #[must_use]
    pub fn is_end(&self) -> bool {
        *self == Self::End
    }
}

/// What happens to unfinished tasks when one fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The unfinished tasks continue.
    Continue,
    /// The unfinished tasks are cancelled.
    CancelTheRest,
}

/// The specification of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// The id of the task.
    pub id: TaskId,
    /// The name of the task in its run.
    pub name: TaskName,
    /// A title for people, in one line.
    pub title: String,
    /// The items of `--each` or the word of the command line that the task is for: several with
    /// `--chunk`, none in a plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
    /// The work to do, and the kind of worker that does it.
    pub work: Work,
    /// The names of the tasks that have to succeed first: tasks of the same run, or tasks of the
    /// retried run that are done.
    pub depends_on: Vec<TaskName>,
    /// Tasks with a higher priority start earlier; tasks of equal priority start in the order of
    /// their declaration.
    pub priority: i32,
    /// Whether the task has to change files to succeed.
    pub change: ChangeDemand,
    /// The JSON Schema of the value that the task has to yield; without one, every value is
    /// accepted.
    pub schema: Option<Box<Value>>,
    /// How much the task may use.
    pub limits: TaskLimits,
    /// What its workspace needs in place of what those of the run need.
    #[serde(default, skip_serializing_if = "TaskNeeds::is_empty")]
    pub needs: TaskNeeds,
}

impl TaskSpec {
    /// Returns the only item of the task, or else its several items. Events and documents have the
    /// former as `item` and the latter as `items`.
    #[must_use]
    pub fn item_or_chunk(&self) -> (Option<&str>, &[String]) {
        match self.items.as_slice() {
            [item] => (Some(item), &[]),
            items => (None, items),
        }
    }
}

/// Whether a task has to change files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeDemand {
    /// The task may succeed without a change.
    #[default]
    Optional,
    /// The task fails if it changes nothing.
    Required,
}

/// The work of a task, by the kind of worker that does it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Work {
    /// A shell command.
    Command(Command),
    /// A model that calls tools.
    Agent(Box<Agent>),
    /// A conversation with the user.
    Conversation(Conversation),
}

impl From<Agent> for Work {
    fn from(agent: Agent) -> Self {
        Self::Agent(Box::new(agent))
    }
}

/// A conversation that works in the workspace of the task until its user ends it. Its session is none of
/// the task, which only owns the workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// The log of the session with which it began.
    pub log: PathBuf,
}

impl Work {
    /// Returns whether a user does the work, who takes no permit, and has no time limit.
    #[must_use]
    pub fn is_of_user(&self) -> bool {
        match self {
            Self::Conversation(_) => true,
            Self::Command(_) | Self::Agent(_) => false,
        }
    }
}

/// Work for a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// The model.
    pub model: ModelRoute,
    /// The models that answer in its place where it cannot be had, in the order in which they are
    /// asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<ModelRoute>,
    /// The prompt.
    pub prompt: String,
    /// The parts of the prompt that are replaced by yields before the task starts, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yields: Vec<YieldPlaceholder>,
    /// Text that every task of the run gets in its system prompt.
    pub context: Option<String>,
    /// Which calls of tools are asked about, refused or allowed.
    #[serde(default, skip_serializing_if = "Approvals::is_default")]
    pub approvals: Approvals,
    /// What the agent is, if it works for the call of another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<Box<Subagent>>,
    /// The MCP servers whose tools it may use.
    #[serde(default, skip_serializing_if = "ServerChoice::is_none")]
    pub servers: ServerChoice,
}

/// A part of a prompt that stands for the yield of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct YieldPlaceholder {
    /// The position of its first byte in the prompt.
    pub start: usize,
    /// The position after its last byte.
    pub end: usize,
    /// The task.
    pub task: TaskName,
    /// The part of the yield that is meant: the name of a field or the index of an element at each
    /// level; empty for the whole yield.
    pub path: Vec<String>,
}

/// Work for a shell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// The script for `/bin/sh -c`.
    pub script: String,
    /// The item of `--each` that the command is for.
    pub item: Option<Box<Item>>,
    /// The positional parameters `"$@"` of the script.
    pub arguments: Vec<String>,
}

/// One item of `--each`. Each field becomes an environment variable of the command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The item itself: `REGATTA_ITEM`.
    pub item: String,
    /// The file name of the item without the last extension: `REGATTA_ITEM_STEM`.
    pub stem: String,
    /// The folder of the item: `REGATTA_ITEM_DIR`.
    pub dir: String,
}

/// The limits of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLimits {
    /// The maximum wall-clock time, from the first start of its worker.
    pub wall: Duration,
    /// The maximum number of bytes of a command's output that are kept. Of longer output, the
    /// middle is replaced by a line that says how much is missing.
    pub output: u64,
    /// The maximum number of answers of the model.
    #[serde(default = "turns")]
    pub turns: NonZeroU32,
    /// The maximum number of tokens, including those read from caches; unlimited if absent.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// The maximum cost; unlimited if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

fn turns() -> NonZeroU32 {
    NonZeroU32::new(50).expect("fifty is not zero")
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(30 * 60),
            output: 10_000_000,
            turns: turns(),
            tokens: None,
            cost: None,
        }
    }
}
