//! The dependencies of the engine: implementations of its ports, and its limits.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::compaction::{BranchSummaryPolicy, CompactionPolicy};
use engine::fault::Faults;
use engine::ports::{
    ArtifactStore, Clock, Commands, GateStore, Ids, LedgerStore, McpCache, McpConnector,
    McpDefinitions, Models, Schemas, SessionLogs, ShellSyntax, Spawner, ToolFactory, TrustedRules,
};
use engine::prompt::ContextBytes;
use engine::request::{Absences, RequestPolicy};

/// The dependencies of an engine.
#[derive(Clone)]
pub struct Deps {
    /// Stores the ledger.
    pub ledger: Arc<dyn LedgerStore>,
    /// Runs commands.
    pub commands: Arc<dyn Commands>,
    /// Where the engines of the user share what they know about provider accounts. Without it, the
    /// limits of an account hold for this engine only.
    pub gates: Option<Arc<dyn GateStore>>,
    /// Resolves model routes to providers.
    pub models: Arc<dyn Models>,
    /// Which models cannot be had at the moment, for all sessions of the engine.
    pub absences: Arc<Absences>,
    /// Build the tools of sessions, in the order in which they are declared to models.
    pub tools: Vec<Arc<dyn ToolFactory>>,
    /// Reaches MCP servers. Without it, no session has tools of servers.
    pub mcp: Option<McpPorts>,
    /// Runs the subagents of tool calls. Without it, no session can start any.
    pub spawner: Option<Arc<dyn Spawner>>,
    /// Stores the output of tools.
    pub artifacts: Arc<dyn ArtifactStore>,
    /// Stores the logs of sessions.
    pub session_logs: Arc<dyn SessionLogs>,
    /// Takes the commands of tools apart.
    pub shell: Arc<dyn ShellSyntax>,
    /// Keeps the rules by which the user always allows calls.
    pub trusted_rules: Arc<dyn TrustedRules>,
    /// Compiles schemas.
    pub schemas: Arc<dyn Schemas>,
    /// Returns the time of day.
    pub clock: Arc<dyn Clock>,
    /// Makes ids.
    pub ids: Arc<dyn Ids>,
    /// The planned faults of a test.
    pub faults: Faults,
    /// Limits and paths.
    pub policy: Policy,
}

/// What an engine needs to use MCP servers.
#[derive(Clone)]
pub struct McpPorts {
    /// Knows which servers there are.
    pub definitions: Arc<dyn McpDefinitions>,
    /// Connects to them.
    pub connector: Arc<dyn McpConnector>,
    /// Keeps what they offer.
    pub cache: Arc<dyn McpCache>,
}

/// The limits of an engine and its paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Tasks running at the same time in the whole engine.
    pub capacity: NonZeroUsize,
    /// How long a stopped command may take to end before it is killed.
    pub grace: Duration,
    /// The folder of the output of tasks, which goes to `RUN/TASK/`.
    pub artifacts: PathBuf,
    /// How requests to models are made.
    pub requests: RequestPolicy,
    /// When conversations are compacted.
    pub compaction: CompactionPolicy,
    /// How branches are summed up that a session leaves.
    pub branch_summary: BranchSummaryPolicy,
    /// What the user tells every agent, if anything.
    pub user_instructions: Option<ContextBytes>,
}
