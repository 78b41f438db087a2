//! Where a tool call comes from.

use protocol::{RunId, SessionId, TaskId};

/// Where a tool call comes from: what it starts, writes and reports belongs to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallOrigin {
    /// The session whose model calls.
    pub session: SessionId,
    /// The task that the session works for, if there is one.
    pub task: Option<TaskOrigin>,
}

/// A task from which tool calls come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskOrigin {
    /// The run of the task.
    pub run: RunId,
    /// The task.
    pub task: TaskId,
}
