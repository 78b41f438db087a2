//! The specification of a run and of each of its tasks.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{IsolationMode, ModelRoute, RunId, TaskId, TaskName};

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

/// What a run asks of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// Identity across ledgers.
    pub id: TaskId,
    /// Name in its run.
    pub name: TaskName,
    /// What people read about it, in one line.
    pub title: String,
    /// Who does the work, and how.
    pub work: Work,
    /// The tasks of the same run that come first.
    pub depends_on: Vec<TaskName>,
    /// Higher runs earlier; equals run in the order of their declaration.
    pub priority: i32,
    /// Whether a success that changes nothing is one.
    pub change: ChangeDemand,
    /// The JSON Schema of what it yields; anything will do without one.
    pub schema: Option<Value>,
    /// How much it may use.
    pub limits: TaskLimits,
}

/// Whether a task has to change something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeDemand {
    /// A success may change nothing.
    #[default]
    Optional,
    /// A success that changes nothing is a failure.
    Required,
}

/// Who does the work of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Work {
    /// A command, run in `/bin/sh -c`.
    Command(Command),
    /// A model with tools.
    Agent(Agent),
    /// Another program's agent.
    External(External),
}

/// An agent of another program, and what it is asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct External {
    /// The name under which the program is known.
    pub program: String,
    /// What it is asked to do.
    pub prompt: String,
}

/// A model, and what it is asked to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// The model.
    pub model: ModelRoute,
    /// What it is asked to do.
    pub prompt: String,
    /// What every task of the run should know.
    pub context: Option<String>,
}

/// A command and what was put into it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// What the shell is given.
    pub script: String,
    /// The item of `--each` it was made for.
    pub item: Option<Item>,
    /// The positional parameters `"$@"` of the script.
    pub arguments: Vec<String>,
}

/// One item of `--each`, as the command's environment has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The item itself: `REGATTA_ITEM`.
    pub item: String,
    /// Its file name without the last extension: `REGATTA_ITEM_STEM`.
    pub stem: String,
    /// Its folder: `REGATTA_ITEM_DIR`.
    pub dir: String,
}

/// How much one task may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLimits {
    /// Wall-clock time from the start of its session.
    pub wall: Duration,
    /// How many bytes of a command's output are kept; of more, the middle is left out and told.
    pub output: u64,
    /// How often a model may answer.
    #[serde(default = "turns")]
    pub turns: NonZeroU32,
    /// How many tokens a model may use, those read from caches included; as many as it likes
    /// without it.
    #[serde(default)]
    pub tokens: Option<u64>,
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
        }
    }
}
