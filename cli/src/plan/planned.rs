//! What a plan says once it makes sense.

use std::num::NonZeroUsize;
use std::time::Duration;

use protocol::{ChangeDemand, MergeMode, TaskName};
use serde_json::Value;

/// A plan that makes sense.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    /// What the run is called.
    pub(crate) name: Option<String>,
    /// How many tasks run at the same time.
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Where their work goes.
    pub(crate) merge: Option<MergeMode>,
    /// How long a task may take.
    pub(crate) wall: Option<Duration>,
    /// How many bytes of a task's output are kept.
    pub(crate) output: Option<u64>,
    /// Its tasks, in the order of their declaration, at least one.
    pub(crate) tasks: Vec<PlannedTask>,
}

/// A task of a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedTask {
    /// Its name, unlike every other's.
    pub(crate) name: TaskName,
    /// What the shell is given.
    pub(crate) script: String,
    /// Tasks of the same plan that come first; they form no circle.
    pub(crate) depends_on: Vec<TaskName>,
    /// Higher runs earlier.
    pub(crate) priority: i32,
    /// Whether a success that changes nothing is one.
    pub(crate) change: ChangeDemand,
    /// The JSON Schema of its yield.
    pub(crate) schema: Option<Value>,
}
