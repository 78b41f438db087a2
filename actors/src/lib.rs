//! The actors of the engine: what each owns and whom it supervises. Each module holds one actor: its
//! messages, its arguments, its state and the code that connects it to the rules of the engine.

mod child;
mod contracts;
mod deps;
mod engine;
mod events;
mod executors;
mod gates;
mod isolation;
mod job;
mod jobs;
mod ledger;
mod messaging;
mod root;
mod root_children;
mod run;
mod run_handle;
mod runs;
mod services;
mod session;
mod sessions;
mod shutdown_limits;
mod task;
mod tokio_timer;
mod worker;

pub use crate::engine::{Engine, WeakEngine};
pub use deps::{Deps, McpPorts, Policy};
pub use events::Events;
pub use executors::{Answerer, ChosenMode, ToolSetup};
pub use job::Job;
pub use jobs::Panicked;
pub use run_handle::{RunControls, RunHandle, RunOutcome};
pub use runs::{Submission, SubmitError};
pub use session::{ContinueError, SessionSpec};
pub use sessions::{
    AnswerError, OpenSessionError, PromptError, SessionHandle, SessionState, SessionStates,
};

#[cfg(test)]
#[macro_use]
extern crate test_limit;
