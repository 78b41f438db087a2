//! The port by which a call of the tool `task` starts subagents.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{
    ApprovalMode, Approvals, ChangeSummary, ModelRoute, ServerChoice, Spawns, Subagent, TaskLimits,
    Usage,
};
use serde_json::Value;

use crate::approvals::ChosenMode;

use super::{Ask, CallOrigin, CancelToken, LineSink, Pause};

/// Runs subagents for tool calls.
#[async_trait]
pub trait Spawner: Send + Sync {
    /// Returns which agents a session in this folder of a tree is offered; `None` if it can start none.
    async fn offer(&self, folder: &Path, lineage: &Lineage) -> Option<SpawnOffer>;

    /// Runs the items of one call, and returns when all of them have ended and, if they are isolated,
    /// their work has landed or is kept. A cancelled call stops its subagents, captures their work and
    /// lands nothing.
    ///
    /// # Errors
    /// The text for the model that says why nothing was started.
    async fn run(
        &self,
        call: SpawnCall,
        caller: &Caller,
        progress: LineSink,
        cancel: CancelToken,
    ) -> Result<SpawnReport, SpawnRefusal>;
}

/// Why no subagent of a call was started, for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SpawnRefusal(pub String);

/// A call of the tool `task`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpawnCall {
    /// The agent of the items that name none; the agent `task` if absent.
    pub agent: Option<String>,
    /// What all subagents should know.
    pub context: Option<String>,
    /// The JSON Schema or JTD schema of the results of the items that have none.
    pub schema: Option<Value>,
    /// Whether the items work in copies that do not say it themselves.
    pub isolated: bool,
    /// Whether the first failure cancels the rest.
    pub fail_fast: bool,
    /// What to do, at least one.
    pub items: Vec<SpawnItem>,
}

/// What one subagent does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpawnItem {
    /// The name that the model gives it, unique in its call.
    pub id: String,
    /// A title for people.
    pub description: Option<String>,
    /// What to do.
    pub assignment: String,
    /// The agent that does it.
    pub agent: Option<String>,
    /// The schema of its result.
    pub schema: Option<Value>,
    /// Whether it works in a copy.
    pub isolated: Option<bool>,
    /// Whether its work lands; only of an item that works in a copy.
    pub apply: Option<bool>,
    /// The ids of the items that have to succeed first.
    pub depends_on: Vec<String>,
}

/// The session that calls, of which its subagents have what they are not given.
#[derive(Clone)]
pub struct Caller {
    /// Where the call comes from.
    pub origin: CallOrigin,
    /// The folder in which the caller works.
    pub folder: PathBuf,
    /// The model that calls.
    pub model: ModelRoute,
    /// The rules, and the mode if one was set.
    pub approvals: Approvals,
    /// The mode that counts at this moment.
    pub mode: ApprovalMode,
    /// The mode to which a person changes while its subagents work.
    pub chosen: ChosenMode,
    /// The schema of the caller's own result, if it has one.
    pub schema: Option<Value>,
    /// Lets the caller wait; `None` if it is not a task.
    pub pause: Option<Arc<dyn Pause>>,
    /// Asks a person; `None` where the session has no one who could answer.
    pub ask: Option<Arc<dyn Ask>>,
    /// What is above the caller.
    pub lineage: Lineage,
    /// The names of the tools that the caller has.
    pub tools: Vec<String>,
    /// The MCP servers that it uses.
    pub servers: ServerChoice,
    /// The folder of the caller's artifacts, which keeps the results of its subagents.
    pub artifacts: PathBuf,
}

/// What is above a session: itself one of the subagents of a call, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// Its name as a subagent; `None` if it is none.
    pub name: Option<String>,
    /// The agent that it is; `None` if it is not a subagent.
    pub agent: Option<String>,
    /// How many calls are above it.
    pub depth: u32,
    /// Which agents it may start.
    pub spawns: Spawns,
    /// The limits of its task; `None` if it works for none.
    pub limits: Option<TaskLimits>,
}

impl Default for Lineage {
    /// That of a session that is not a subagent, which may start every agent.
    fn default() -> Self {
        Self { name: None, agent: None, depth: 0, spawns: Spawns::Any, limits: None }
    }
}

impl From<&Subagent> for Lineage {
    fn from(subagent: &Subagent) -> Self {
        Self {
            name: Some(subagent.name.clone()),
            agent: Some(subagent.agent.clone()),
            depth: subagent.depth,
            spawns: subagent.spawns.clone(),
            limits: None,
        }
    }
}

/// What became of the subagents of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct SpawnReport {
    /// The subagents, in the order of the items.
    pub subagents: Vec<SubagentReport>,
    /// What could not be done as asked, for the model.
    pub notes: Vec<String>,
    /// How long the call took, in milliseconds.
    pub ms: u64,
}

/// What became of one subagent.
#[derive(Clone, Debug, PartialEq)]
pub struct SubagentReport {
    /// Its name: `1-Id`, below another subagent `1-Parent.1-Id`.
    pub name: String,
    /// The agent.
    pub agent: String,
    /// The title for people.
    pub description: Option<String>,
    /// How it ended.
    pub status: SubagentStatus,
    /// Its whole result: the text that it yielded, or JSON. It is kept as `agent://NAME`, up to 500 KB.
    pub output: String,
    /// Why it failed; empty if it did not.
    pub error: String,
    /// Its run and task, as commands take them.
    pub task: String,
    /// What it changed in its copy; `None` if it works in the tree of its caller.
    pub changes: Option<ChangeSummary>,
    /// The name by which the caller reads what has not landed of it, as a patch.
    pub patch: Option<String>,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// The tokens and money that it used.
    pub usage: Option<Usage>,
    /// The calls of its model that were refused.
    pub refused_calls: u64,
    /// The findings that it reported.
    pub findings: Vec<Value>,
}

/// How a subagent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubagentStatus {
    /// It succeeded, and its work, if it worked in a copy, has landed or was empty.
    Completed,
    /// It succeeded, and its work is kept: the call asked for that, or its landing was not allowed. The
    /// command lands it.
    Kept {
        /// The command; `None` for work on a copy of a task, which no command reaches.
        command: Option<String>,
    },
    /// It succeeded, and its work conflicts with the tree and is kept.
    MergeFailed {
        /// The paths.
        paths: Vec<String>,
        /// The command that shows the conflicts; `None` for work on a copy of a task.
        command: Option<String>,
    },
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl SubagentStatus {
    /// Returns the status in words.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Kept { .. } => "kept",
            Self::MergeFailed { .. } => "merge failed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What a tool call starts subagents with.
#[derive(Clone)]
pub struct Subagents {
    /// Runs them.
    pub spawner: Arc<dyn Spawner>,
    /// Who calls.
    pub caller: Arc<Caller>,
}

/// Which agents a session is offered, so that it can start them. Without it, it has no tool for that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnOffer {
    /// Their names, each with what it is for.
    pub agents: Vec<(String, String)>,
    /// Whether they can work in copies.
    pub isolated: bool,
}
