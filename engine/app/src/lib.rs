//! Regatta as a library: an engine that runs many coding agents at once, each in its own copy of a
//! repository.
//!
//! This crate names the concrete type behind each port of the engine and wires them once. It opens and
//! recovers repositories, reads plans and lists of items, chooses models, and opens sessions. It prints
//! nothing, reads no arguments, and handles no signal.

pub mod app_context;
pub mod each;
mod embedding;
mod engine_wide;
pub mod error;
pub mod gc;
pub mod launcher;
pub mod mcp;
pub mod model;
mod own_tool;
pub mod plan;
pub mod recovery;
pub mod runs;
pub mod session;
mod subagents;
pub mod text;
pub mod trust;
mod user_rules;
pub mod workspace_needs;

pub use actors::{
    Answerer, ChosenMode, Engine, Events, OpenSessionError, RunControls, RunHandle, RunOutcome,
    SessionHandle, SessionSpec, Submission, SubmitError, ToolSetup,
};
pub use app_context::AppContext;
pub use engine::ports::{
    Access, AccessClass, Concurrency, Repository, Tool, ToolBuildError, ToolContext, ToolEnv,
    ToolFactory, ToolOutcome, ToolOutput, ToolSpec, Visibility,
};
pub use launcher::launch;
pub use own_tool::OwnTool;
pub use protocol::{
    Agent, Command, Event, EventKind, Failure, InputId, Message, ModelRoute, RunSpec, SessionEvent,
    TaskName, TaskSpec, ToolCall, UserInput, Work,
};
pub use recovery::{OpenedRepository, open_repository};

#[cfg(test)]
#[macro_use]
extern crate test_limit;
