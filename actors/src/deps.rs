//! What the engine is built with.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::fault::Faults;
use engine::ports::{
    ArtifactStore, Clock, Commands, ExternalWorkers, Ids, LedgerStore, Models, Schemas,
    SessionLogs, ToolFactory,
};
use engine::request::RequestPolicy;

/// What the engine is built with.
#[derive(Clone)]
pub struct Deps {
    /// Keeps the record.
    pub ledger: Arc<dyn LedgerStore>,
    /// Runs commands.
    pub commands: Arc<dyn Commands>,
    /// Knows where models are had.
    pub models: Arc<dyn Models>,
    /// Build the tools of sessions, in the order in which models are told of them.
    pub tools: Vec<Arc<dyn ToolFactory>>,
    /// Keeps the output of tools.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// Finds the agents of other programs.
    pub external: Arc<dyn ExternalWorkers>,
    /// Keeps what is said in sessions.
    pub session_logs: Arc<dyn SessionLogs>,
    /// Compiles schemas.
    pub schemas: Arc<dyn Schemas>,
    /// Tells the time of day.
    pub clock: Arc<dyn Clock>,
    /// Makes ids.
    pub ids: Arc<dyn Ids>,
    /// Faults on purpose.
    pub faults: Faults,
    /// How much is allowed.
    pub policy: Policy,
}

/// How much is allowed, and where things go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Tasks running at the same time in the whole engine.
    pub capacity: NonZeroUsize,
    /// How long a stopped command may take to end before it is killed.
    pub grace: Duration,
    /// Where the output of tasks goes: `RUN/TASK/` below it.
    pub artifacts: PathBuf,
    /// How requests to models are made.
    pub requests: RequestPolicy,
}
