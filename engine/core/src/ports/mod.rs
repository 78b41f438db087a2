//! What the engine needs from the outside world.

mod cancel;
mod clock;
mod commands;
mod isolation;
mod ledger;
mod model;
mod process;
mod run_lock;
mod schema;
mod session_log;
mod tools;

pub use cancel::{CancelLevel, CancelToken};
pub use clock::Clock;
pub use commands::{CommandEnd, CommandError, CommandRequest, Commands, EndCause};
pub use isolation::{
    Baseline, Completion, FreezeRequest, Isolation, IsolationError, LandingNews, LandingRequest,
    LandingTarget, LandingTask, Notice, OpenRun, Recovered, RecoveredLanding, RecoveredTask,
    Recovery, Repository, RepositoryFacts, Uncaptured, Workspace, WorkspaceRequest,
};
pub use ledger::{LedgerError, LedgerStore};
pub use model::{ModelEvent, ModelRequest, ModelStream, Models, Provider, ToolChoice};
pub use process::{
    Namespaces, Process, ProcessEnd, ProcessRequest, ProcessSession, ProcessSignal, ProcessStdio,
    Processes, ResourceLimit,
};
pub use run_lock::{LockRun, RunLock};
pub use schema::{AnyValue, Schema, Schemas};
pub use session_log::{OpenedLog, SessionHeader, SessionLog, SessionLogError, SessionLogs};
pub use tools::{
    LineSink, ToolAnswer, ToolConcurrency, ToolDeclaration, ToolText, Toolbox, Tools, Workbench,
};
