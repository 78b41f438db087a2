//! The ports of the engine: traits for everything it needs from the outside world, with their
//! types.

mod ask;
mod attempt_end;
mod background;
mod call_journal;
mod call_origin;
mod cancel;
mod clock_and_ids;
mod gate;
mod gate_store;
mod isolation;
mod isolation_error;
mod ledger;
mod mcp;
mod model;
mod pause;
mod pending;
mod processes;
mod recovery;
mod schema;
mod session_log;
mod settle;
mod shell_syntax;
mod spawner;
mod syntax;
mod tool_runner;
mod tools;
mod trusted_rules;
mod undo;
mod verification;
mod view;
mod view_batches;
mod worker;

pub use ask::Ask;
pub use attempt_end::{AttemptEnd, AttemptOutcome, ModelWork};
pub use background::{Background, BackgroundWork};
pub use call_journal::{CallJournal, CallProgress, ContentDigest, PlannedChange};
pub use call_origin::{CallOrigin, TaskOrigin};
pub use cancel::{CancelLevel, CancelToken};
pub use clock_and_ids::{Clock, Ids, Timer};
pub use gate::{
    Gate, GateEvent, GateRequest, GateWait, Permit, PermitNews, RequestOutcome, Requester,
};
pub use gate_store::{Change, GateStore, GateStoreError, SharedAccount};
pub use isolation::{
    Baseline, CarryRequest, FreezeRequest, HeadMove, HeadMoveKind, Isolation, LandingNotice,
    LandingRequest, LandingTarget, LandingTask, Notice, Repository, RepositoryFacts, Reuse,
    Workspace, WorkspaceRequest, WorkspaceStart,
};
pub use isolation_error::IsolationError;
pub use ledger::{LedgerError, LedgerStore, LockRun, RunLock};
pub use mcp::{
    McpCache, McpCall, McpClient, McpConnection, McpConnector, McpDefinition, McpDefinitions,
    McpError, McpErrorKind, McpHints, McpList, McpOffer, McpPrompt, McpResource, McpResult,
    McpScope, McpServerInfo, McpTool, McpToolFilter, McpTransport,
};
pub use model::{
    AccountId, AccountLimits, AttemptFailure, CacheRetention, FailureCause, MinuteLimits,
    ModelAnswer, ModelEvent, ModelLocation, ModelRequest, ModelStream, Models, Provider,
    ProviderInfo, RateLimit, RateLimits, RequestOptions, RequestTurn, ToolChoice, key_phrase,
};
pub use pause::Pause;
pub use pending::{PendingAction, PendingSlot};
pub use processes::{
    CUT_LINE, CommandEnd, CommandError, CommandOwner, CommandRequest, CommandTerminal, Commands,
    EndCause, LineSink, Namespaces, OwnerEnd, Process, ProcessEnd, ProcessRequest, ProcessSession,
    ProcessSignal, ProcessStdio, Processes, ResourceLimit, SHORT_OUTPUT_BYTES, SHORT_OUTPUT_LINES,
    ShortOutput, VariableChoice,
};
pub use recovery::{
    Completion, OpenRun, Recovered, RecoveredLanding, RecoveredTask, Recovery, Uncaptured,
};
pub use schema::{AnyValue, Schema, Schemas};
pub use session_log::{
    LogDamage, OpenedLog, SessionHeader, SessionLog, SessionLogError, SessionLogs,
};
pub use settle::{ConflictingRest, SettleChoice, SettleRequest, WrittenFile};
pub use shell_syntax::{ShellPart, ShellSyntax, ShellWord};
pub use spawner::{
    Caller, Lineage, SpawnCall, SpawnItem, SpawnOffer, SpawnRefusal, SpawnReport, Spawner,
    SubagentReport, SubagentStatus, Subagents,
};
pub use syntax::{Syntax, SyntaxError, SyntaxMatch, SyntaxPattern};
pub use tool_runner::{ToolDeclaration, ToolRunner};
pub use tools::{
    AGENT_SCHEME, ARTIFACT_SCHEME, Access, AccessClass, Artifact, ArtifactStore, Artifacts,
    ChangeShown, CommandShell, Concurrency, InputFiles, LiveTools, SessionPurpose, Tool,
    ToolBuildError, ToolContext, ToolEnv, ToolFactory, ToolOutcome, ToolOutput, ToolSpec,
    Visibility,
};
pub use trusted_rules::{NoTrustedRules, TrustedRules};
pub use undo::{BranchEnd, UndoReport, UndoRequest, UndoScope, UndoTask, UndoneBranch};
pub use verification::MergedWorkspace;
pub use view::{
    FileKind, FileStat, FileVersion, Found, Listing, MAX_PATH_DEPTH, MAX_SYMLINKS, Replace,
    ViewError, ViewFile, ViewPath, WorkspaceView,
};
pub use view_batches::{
    FileVisitor, FolderContents, FolderEntry, FolderRequest, IGNORE_FILE, MAX_IGNORE_BYTES, Sizes,
    VisitedFile,
};
pub use worker::{ReportSink, Worker, WorkerReport, WorkerStart};
