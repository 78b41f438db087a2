//! What the engine needs from the outside world.

mod clock;
mod commands;
mod isolation;
mod ledger;
mod model;
mod schema;
mod session_log;
mod tools;
mod withdrawal;

pub use clock::Clock;
pub use commands::{CommandEnd, CommandError, CommandRequest, Commands, EndCause, Stop};
pub use isolation::{
    Baseline, FreezeRequest, Isolation, IsolationError, LandingNews, LandingRequest, LandingTarget,
    LandingTask, Notice, Recovered, RecoveredTask, Repository, RepositoryFacts, Uncaptured,
    Workspace, WorkspaceRequest,
};
pub use ledger::{LedgerError, LedgerStore};
pub use model::{ModelEvent, ModelRequest, ModelStream, Models, Provider, ToolChoice};
pub use schema::{AnyValue, Schema, Schemas};
pub use session_log::{OpenedLog, SessionHeader, SessionLog, SessionLogError, SessionLogs};
pub use tools::{
    LineSink, ToolAnswer, ToolConcurrency, ToolDeclaration, ToolText, Toolbox, Tools, Workbench,
};
pub use withdrawal::Withdrawal;
