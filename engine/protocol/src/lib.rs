//! The words every part of the engine shares: ids, specifications, outcomes, changes, events and
//! ledger entries. Data only — nothing here reads a file, opens a socket or starts a task.

mod change;
mod event;
mod exit;
mod id;
mod isolation;
mod landing;
mod ledger;
mod left_out;
mod message;
mod model;
mod name;
mod outcome;
mod path;
mod run;
mod session;
mod task;
mod temporary;
mod terminal;
mod time;
mod usage;

pub use change::{CaptureRef, Captured, ChangeSummary};
pub use event::{Event, EventKind, EventScope, Phase, Totals};
pub use exit::ExitCode;
pub use id::{InputId, LandingId, RunId, SessionId, TaskId};
pub use isolation::{BaseState, Capabilities, IsolationMode, WorkspaceKind};
pub use landing::{
    Conflict, ConflictReason, Landed, LandingReport, Rescue, RescueLocation, Side, TaskLanding,
};
pub use ledger::{LedgerEntry, RunState, TaskState};
pub use left_out::{LeftOut, LeftOutEntry, LeftOutKind};
pub use message::{
    AssistantMessage, Content, Message, Part, StopReason, ToolCall, ToolResult, UserMessage,
};
pub use model::{ModelRoute, ModelRouteError};
pub use name::{NameError, RunName, TaskName};
pub use outcome::{Failure, FailureClass, FailureDetail, Outcome, TaskReport};
pub use path::{RepoPath, quote_path};
pub use run::{MergeMode, OnFailure, RunSpec};
pub use session::{AgentEnd, SessionEntry, SessionEvent, UserInput};
pub use task::{Agent, ChangeDemand, Command, External, Item, TaskLimits, TaskSpec, Work};
pub use temporary::{is_temporary_name, temporary_name};
pub use terminal::{Escapes, is_unseen};
pub use time::Timestamp;
pub use usage::{Cost, Usage};

#[cfg(test)]
#[macro_use]
extern crate test_limit;
