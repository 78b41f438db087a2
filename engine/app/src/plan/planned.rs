//! A valid plan as data.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::time::Duration;

use protocol::{ChangeDemand, Cost, LandTime, MergeMode, ServerChoice, TaskName};
use serde_json::Value;

use super::task_work::{PlannedUrl, PlannedWork};
use crate::model::ModelChoice;

/// A valid plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The name of the run.
    pub name: Option<String>,
    /// How many tasks run at the same time.
    pub jobs: Option<NonZeroUsize>,
    /// How the work of the tasks is merged.
    pub merge: Option<MergeMode>,
    /// The user's branch on which the work is committed.
    pub onto: Option<String>,
    /// When the work of the tasks lands.
    pub land: Option<LandTime>,
    /// The model that works on the prompts of the plan.
    pub model: Option<ModelChoice>,
    /// The models that answer where another cannot be had, if the plan says so.
    pub fallback: Option<Vec<ModelChoice>>,
    /// The MCP servers of the tasks, if the plan says so.
    pub servers: Option<ServerChoice>,
    /// The base URL of a provider.
    pub base_url: Option<PlannedUrl>,
    /// The context that is given to the model of every task.
    pub context: Option<String>,
    /// The commands that set up each workspace.
    pub setup: Option<Vec<String>>,
    /// The commands that must succeed in the merged work before it lands.
    pub verify: Option<Vec<String>>,
    /// The globs of ignored files that are copied into each workspace.
    pub carry: Option<Vec<String>>,
    /// The globs of files in which the lines of both sides are kept.
    pub union: Option<Vec<String>>,
    /// How much each task may use.
    pub limits: PlannedLimits,
    /// The tasks of the plan, at least one, in the order of their declaration.
    pub tasks: Vec<PlannedTask>,
}

/// A task of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedTask {
    /// The name of the task, which is unique in the plan.
    pub name: TaskName,
    /// The work of the task.
    pub work: PlannedWork,
    /// The predecessors of the task, all of the same plan and without cycles.
    pub depends_on: Vec<TaskName>,
    /// The priority of the task. A task with a higher priority starts earlier.
    pub priority: i32,
    /// Whether a success that changes nothing counts as a failure.
    pub change: ChangeDemand,
    /// The JSON Schema of the task's yield.
    pub schema: Option<Value>,
    /// How much the task may use, in place of what the plan says.
    pub limits: PlannedLimits,
    /// The commands that set up its workspace, if not those of the plan.
    pub setup: Option<Vec<String>>,
    /// The globs of ignored files that are copied into its workspace, if not those of the plan.
    pub carry: Option<Vec<String>>,
}

/// How much a task may use, as far as a plan says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlannedLimits {
    /// How long a task may take.
    pub wall: Option<Duration>,
    /// How many bytes of a task's output are kept.
    pub output: Option<u64>,
    /// The maximum number of answers of a model in a task.
    pub turns: Option<NonZeroU32>,
    /// How many tokens a model may use.
    pub tokens: Option<NonZeroU64>,
    /// What a task may cost.
    pub cost: Option<Cost>,
}

impl PlannedLimits {
    /// Returns these limits with those of `other` in place of what they do not say.
    pub fn or(self, other: Self) -> Self {
        Self {
            wall: self.wall.or(other.wall),
            output: self.output.or(other.output),
            turns: self.turns.or(other.turns),
            tokens: self.tokens.or(other.tokens),
            cost: self.cost.or(other.cost),
        }
    }
}
