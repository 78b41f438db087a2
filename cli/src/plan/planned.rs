//! A valid plan as data.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::time::Duration;

use protocol::{ChangeDemand, Cost, LandTime, MergeMode, TaskName};
use serde_json::Value;

use super::task_work::{PlannedUrl, PlannedWork};
use crate::model::ModelChoice;

/// A valid plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    /// The name of the run.
    pub(crate) name: Option<String>,
    /// How many tasks run at the same time.
    pub(crate) jobs: Option<NonZeroUsize>,
    /// How the work of the tasks is merged.
    pub(crate) merge: Option<MergeMode>,
    /// The user's branch on which the work is committed.
    pub(crate) onto: Option<String>,
    /// When the work of the tasks lands.
    pub(crate) land: Option<LandTime>,
    /// The model that works on the prompts of the plan.
    pub(crate) model: Option<ModelChoice>,
    /// The models that answer where another cannot be had, if the plan says so.
    pub(crate) fallback: Option<Vec<ModelChoice>>,
    /// The base URL of a provider.
    pub(crate) base_url: Option<PlannedUrl>,
    /// The context that is given to the model of every task.
    pub(crate) context: Option<String>,
    /// The commands that set up each workspace.
    pub(crate) setup: Option<Vec<String>>,
    /// The commands that must succeed in the merged work before it lands.
    pub(crate) verify: Option<Vec<String>>,
    /// The globs of ignored files that are copied into each workspace.
    pub(crate) carry: Option<Vec<String>>,
    /// The globs of files in which the lines of both sides are kept.
    pub(crate) union: Option<Vec<String>>,
    /// How much each task may use.
    pub(crate) limits: PlannedLimits,
    /// The tasks of the plan, at least one, in the order of their declaration.
    pub(crate) tasks: Vec<PlannedTask>,
}

/// A task of a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedTask {
    /// The name of the task, which is unique in the plan.
    pub(crate) name: TaskName,
    /// The work of the task.
    pub(crate) work: PlannedWork,
    /// The predecessors of the task, all of the same plan and without cycles.
    pub(crate) depends_on: Vec<TaskName>,
    /// The priority of the task. A task with a higher priority starts earlier.
    pub(crate) priority: i32,
    /// Whether a success that changes nothing counts as a failure.
    pub(crate) change: ChangeDemand,
    /// The JSON Schema of the task's yield.
    pub(crate) schema: Option<Value>,
    /// How much the task may use, in place of what the plan says.
    pub(crate) limits: PlannedLimits,
    /// The commands that set up its workspace, if not those of the plan.
    pub(crate) setup: Option<Vec<String>>,
    /// The globs of ignored files that are copied into its workspace, if not those of the plan.
    pub(crate) carry: Option<Vec<String>>,
}

/// How much a task may use, as far as a plan says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlannedLimits {
    /// How long a task may take.
    pub(crate) wall: Option<Duration>,
    /// How many bytes of a task's output are kept.
    pub(crate) output: Option<u64>,
    /// The maximum number of answers of a model in a task.
    pub(crate) turns: Option<NonZeroU32>,
    /// How many tokens a model may use.
    pub(crate) tokens: Option<NonZeroU64>,
    /// What a task may cost.
    pub(crate) cost: Option<Cost>,
}

impl PlannedLimits {
    /// Returns these limits with those of `other` in place of what they do not say.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            wall: self.wall.or(other.wall),
            output: self.output.or(other.output),
            turns: self.turns.or(other.turns),
            tokens: self.tokens.or(other.tokens),
            cost: self.cost.or(other.cost),
        }
    }
}
