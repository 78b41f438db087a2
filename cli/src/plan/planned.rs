//! What a plan says once it makes sense.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::time::Duration;

use protocol::{ChangeDemand, MergeMode, TaskName};
use serde_json::Value;

use crate::model::{BaseUrl, ModelChoice};

/// A plan that makes sense.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    /// What the run is called.
    pub(crate) name: Option<String>,
    /// How many tasks run at the same time.
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Where their work goes.
    pub(crate) merge: Option<MergeMode>,
    /// The model that works at its prompts.
    pub(crate) model: Option<ModelChoice>,
    /// Where that model's provider is.
    pub(crate) base_url: Option<BaseUrl>,
    /// What a model should know about every task.
    pub(crate) context: Option<String>,
    /// How long a task may take.
    pub(crate) wall: Option<Duration>,
    /// How many bytes of a task's output are kept.
    pub(crate) output: Option<u64>,
    /// How often a model may answer.
    pub(crate) turns: Option<NonZeroU32>,
    /// How many tokens a model may use.
    pub(crate) tokens: Option<NonZeroU64>,
    /// Its tasks, in the order of their declaration, at least one.
    pub(crate) tasks: Vec<PlannedTask>,
}

/// A task of a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedTask {
    /// Its name, unlike every other's.
    pub(crate) name: TaskName,
    /// What it does.
    pub(crate) work: PlannedWork,
    /// Tasks of the same plan that come first; they form no circle.
    pub(crate) depends_on: Vec<TaskName>,
    /// Higher runs earlier.
    pub(crate) priority: i32,
    /// Whether a success that changes nothing is one.
    pub(crate) change: ChangeDemand,
    /// The JSON Schema of its yield.
    pub(crate) schema: Option<Value>,
}

/// What a task of a plan does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PlannedWork {
    /// What the shell is given.
    Command(String),
    /// What a model is asked to do.
    Prompt {
        /// The words.
        prompt: String,
        /// The model, if the task names one.
        model: Option<ModelChoice>,
    },
}
