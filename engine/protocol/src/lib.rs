//! The data types that all crates of the engine share: ids, specifications, outcomes, changes,
//! events and ledger entries. This crate holds data only: it does no I/O and starts no tasks.

mod agent_definition;
mod approvals;
mod capture;
mod commits;
mod control_characters;
mod decoded_text;
mod edit_mode;
mod error_text;
mod event;
mod exit_code;
mod finding;
mod gitmodules;
mod id;
mod isolation;
mod landing;
mod ledger;
mod message;
mod message_blocks;
mod message_usage;
mod model_route;
mod name;
mod needs;
mod outcome;
mod path;
mod question;
mod reached_limit;
mod rule_mistakes;
mod server_choice;
mod session;
mod session_entry;
mod session_event;
mod session_message;
mod spawns;
mod spec;
mod subagent;
mod tagged;
mod thinking_level;
mod thinking_mode;
mod timestamp;
mod timings;
mod todo;
mod usage;
mod verification;

pub use agent_definition::{
    AgentCatalog, AgentDefinition, AgentFamily, AgentLimits, AgentSource, AgentWarning, MappedWord,
};
pub use approvals::{ApprovalMode, ApprovalRule, Approvals, RuleCalls, RuleError};
pub use capture::{CaptureRef, Captured, ChangeSummary, LeftOut, LeftOutEntry, LeftOutKind};
pub use commits::{CommitStyle, CommitSubjects};
pub use control_characters::{Escapes, is_unseen};
pub use decoded_text::{DecodedText, ForeignBytes, NotUtf8, utf8_text, without_bom};
pub use edit_mode::EditMode;
pub use error_text::{error_chain, quote, quote_within};
pub use event::{AccountWait, Event, EventKind, EventScope, Phase, Totals};
pub use exit_code::ExitCode;
pub use finding::{FINDING_TOOL, Finding, FindingPriority};
pub use id::{EntryId, InputId, LandingId, QuestionId, RunId, SessionId, TaskId};
pub use isolation::{BaseState, Capabilities, IsolationMode, WorkspaceKind};
pub use landing::{
    Conflict, ConflictHunk, ConflictParties, ConflictReason, Landed, LandingReport, RenamedFile,
    Rescue, RescueLocation, ResolverFailure, ResolverRecord, Settled, SettledBy, SettledConflict,
    Side, TaskLanding,
};
pub use ledger::{LedgerEntry, RunState, TaskState};
pub use message::{
    AssistantMessage, Attachment, AttachmentKind, Attribution, Content, Message, MessageRole, Part,
    StopReason, ToolCall, ToolResult, UserMessage,
};
pub use model_route::{ModelRoute, ModelRouteError, is_api_version};
pub use name::{GroupName, NameError, RunName, TaskName};
pub use needs::{CarryDefault, OwnNeeds, SetupFolder, TaskNeeds, WorkspaceNeeds};
pub use outcome::{Failure, FailureClass, FailureDetail, ModelUse, Outcome, TaskReport};
pub use path::{RepoPath, is_temporary_name, quote_path, temporary_name};
pub use question::{Question, QuestionChoice, QuestionForm};
pub use reached_limit::ReachedLimit;
pub use server_choice::ServerChoice;
pub use session::UserInput;
pub use session_entry::{SessionEntry, TitleSource};
pub use session_event::{
    AgentEnd, AnswerStart, CompactionReason, CompactionResult, QueueKind, SessionEvent,
    ToolExecutionResult,
};
pub use session_message::{
    BashExecution, BranchSummary, CompactionSummary, CustomMessage, FileMention, MentionedFile,
    PythonExecution, SessionMessage, SkippedReason,
};
pub use spawns::Spawns;
pub use spec::{
    Agent, BranchOwner, ChangeDemand, Command, Conversation, DoneTask, Item, LandTime, MergeMode,
    OnFailure, Retry, RunSpec, StackBranch, TaskLimits, TaskSpec, Work, YieldPlaceholder,
};
pub use subagent::{RunCaller, Subagent, TASK_TOOL};
pub use thinking_level::{ThinkingLevel, ThinkingLevelError};
pub use thinking_mode::ThinkingMode;
pub use timestamp::Timestamp;
pub use timings::{TaskTimings, TimedPhase};
pub use todo::{TODO_DETAILS, TODO_TOOL, Todo, TodoStatus};
pub use usage::{CacheSaving, Cost, CostSource, Usage};
pub use verification::{
    FailingStart, Partners, Unverified, UnverifiedCause, VerificationTotals, VerifySpec,
};

#[cfg(test)]
#[macro_use]
extern crate test_limit;
