//! Tasks that calls of the tool `task` have started.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{RunId, SessionId, Spawns, TaskId};

/// The name of the tool that gives tasks to subagents.
pub const TASK_TOOL: &str = "task";

/// The call of a model that has started a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunCaller {
    /// The session of the model.
    pub session: SessionId,
    /// The run and the task that the session works for, if it works for one. The run of the call works in
    /// the workspace of that task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<(RunId, TaskId)>,
}

/// What an agent is that works for the call of another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subagent {
    /// Its whole name: `1-Id`, and below another subagent `1-Parent.1-Id`.
    pub name: String,
    /// The name of its definition.
    pub agent: String,
    /// How many calls are above it, from 1.
    pub depth: u32,
    /// The names of the tools that it has.
    pub tools: Vec<String>,
    /// The agents that it may give tasks to.
    pub spawns: Spawns,
}
