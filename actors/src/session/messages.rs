//! The arguments and messages of a session's actor.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use engine::agent::{
    Assignment, Conversation, Limits, Model, Navigated, Navigation, Prompt, QueueModes,
    RequestChanges, RequestHooks,
};
use engine::ports::{CancelLevel, Gate, Requester, SessionLogs};
use engine::prompt::SystemPrompt;
use protocol::{
    AgentEnd, CompactionResult, EntryId, Failure, FailureClass, Message, ModelRoute, QueueKind,
    SessionEntry, SessionEvent, SessionId, ThinkingLevel, Usage, UserInput,
};
use ractor::{ActorRef, RpcReplyPort};

use crate::deps::Deps;
use crate::executors::ToolExecutorMessage;
use crate::jobs::Panicked;
use crate::messaging::Notifier;

/// The parameters of a session.
#[derive(Clone)]
pub struct SessionSpec {
    /// The path of its log. An existing log is continued.
    pub log: PathBuf,
    /// Where the log is kept; with the logs of the engine if absent.
    pub logs: Option<Arc<dyn SessionLogs>>,
    /// The id of a new session; `None` makes one.
    pub id: Option<SessionId>,
    /// The working folder.
    pub folder: PathBuf,
    /// What its system prompt is made of.
    pub system: Arc<SystemPrompt>,
    /// The model.
    pub model: ModelRoute,
    /// The models that answer in its place where it cannot be had.
    pub fallbacks: Vec<ModelRoute>,
    /// Who asks the model.
    pub requester: Requester,
    /// The limits of the whole session.
    pub limits: Limits,
    /// The first input, for a session of a task.
    pub assignment: Option<Assignment>,
    /// How waiting inputs are given out.
    pub modes: QueueModes,
    /// What the user of the session does with its requests.
    pub request_hooks: RequestHooks,
}

/// Arguments of a session's actor.
#[derive(Clone)]
pub(crate) struct SessionArguments {
    pub(crate) spec: SessionSpec,
    pub(crate) deps: Arc<Deps>,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) executor: ActorRef<ToolExecutorMessage>,
    pub(crate) events: Notifier<SessionEvent>,
    /// The tracing span of the session.
    pub(crate) span: tracing::Span,
}

/// An input, by the moment at which the model gets it.
#[derive(Clone)]
pub(crate) enum SessionInput {
    /// When the session is idle.
    Prompt(UserInput),
    /// With the next request.
    Steer(UserInput),
    /// When the model stops.
    FollowUp(UserInput),
}

impl SessionInput {
    pub(crate) fn input(&self) -> &UserInput {
        match self {
            Self::Prompt(input) | Self::Steer(input) | Self::FollowUp(input) => input,
        }
    }

    /// Returns when the model gets the input.
    pub(crate) fn kind(&self) -> QueueKind {
        match self {
            Self::Prompt(_) => QueueKind::Prompt,
            Self::Steer(_) => QueueKind::Steering,
            Self::FollowUp(_) => QueueKind::FollowUp,
        }
    }
}

pub(crate) enum SessionMessage {
    /// Opens the session before its first input.
    Open(RpcReplyPort<Result<OpenedLog, Failure>>),
    /// Continues the conversation from the log, and then adds the given inputs. Used to begin the
    /// assignment of a task, and to continue the work that a crash interrupted, with the inputs
    /// that were waiting at that time.
    Resume(Option<RpcReplyPort<AgentEnd>>, Vec<SessionInput>),
    /// Starts work on an input as soon as the session is idle, for a caller that waits for its end.
    Prompt(Prompt, RpcReplyPort<AgentEnd>),
    /// Adds an input.
    Say(SessionInput),
    /// Changes the model from the next request on.
    SetModel(ModelRoute, RpcReplyPort<Result<(), Failure>>),
    /// Changes how much the model thinks from the next request on. Answers with the level that the
    /// model has in place of the given one.
    SetThinking(ThinkingLevel, RpcReplyPort<ThinkingLevel>),
    /// Changes how waiting inputs are given out.
    SetModes(QueueModes),
    /// Changes the system prompt from the next request on.
    SetSystem(Arc<SystemPrompt>),
    /// The model may use these of the tools, or all of them, from the next request on.
    SetTools(Option<Arc<BTreeSet<String>>>),
    /// Takes back the newest input of a kind that waits.
    TakeBack(QueueKind, RpcReplyPort<Option<UserInput>>),
    /// Takes back all inputs of a kind that wait.
    ClearQueue(QueueKind, RpcReplyPort<Vec<UserInput>>),
    /// Continues the conversation without a new input.
    Continue(RpcReplyPort<Result<(), ContinueError>>),
    /// Changes the conversation as soon as the session is idle. Inputs that wait stay in the queue.
    Revise(Box<Revision>),
    /// Aborts the current work and drops the waiting inputs.
    Abort(CancelLevel),
    /// Aborts, answers when the work has ended, and stops the actor.
    Close(RpcReplyPort<()>),
    /// Request of the session's job: changes for the next request.
    BeforeRequest(RpcReplyPort<RequestChanges>),
    /// Request of the session's job: the inputs for a model that stops.
    BeforeStop(RpcReplyPort<Vec<UserInput>>),
    /// Request of the session's job: whether an input waits that skips tool calls.
    Interrupts(RpcReplyPort<bool>),
    /// What a tool has left in the background has ended: a text about it.
    BackgroundEnded(String),
    /// Result of the job that opens the session.
    Opened(
        Result<Result<Box<Opened>, Failure>, Panicked>,
        RpcReplyPort<Result<OpenedLog, Failure>>,
    ),
    /// Result of the job that opens another model.
    ModelOpened(Result<Result<Box<Model>, Failure>, Panicked>, RpcReplyPort<Result<(), Failure>>),
    /// The work on an input was aborted. Its calls may still be ending.
    Aborted,
    /// Result of the job that works on an input.
    Ended(Result<Ended, Panicked>),
    /// Result of the job that changes the conversation.
    Revised(Result<Box<Revised>, Panicked>),
}

/// A change of the conversation between two works of the model.
pub(crate) enum Revision {
    /// Aborts the current work and compacts the conversation, with these instructions for the
    /// summary.
    Compact(Option<String>, Reply<CompactionResult>),
    /// Goes on from another entry of the log. Refused while the session works.
    Navigate(Navigation, Reply<Navigated>),
    /// Appends an entry.
    Append(Box<SessionEntry>, Reply<EntryId>),
    /// Changes nothing, and returns the messages.
    Read(Reply<Vec<Arc<Message>>>),
}

/// A reply port for a result.
pub(crate) type Reply<T> = RpcReplyPort<Result<T, Failure>>;

/// The answer to the caller who asked for a [`Revision`].
pub(crate) enum RevisionAnswer {
    Compacted(Result<CompactionResult, Failure>, Reply<CompactionResult>),
    Navigated(Result<Navigated, Failure>, Reply<Navigated>),
    Appended(Result<EntryId, Failure>, Reply<EntryId>),
    Read(Result<Vec<Arc<Message>>, Failure>, Reply<Vec<Arc<Message>>>),
}

impl RevisionAnswer {
    pub(super) fn send(self) {
        match self {
            Self::Compacted(result, reply) => drop(reply.send(result)),
            Self::Navigated(result, reply) => drop(reply.send(result)),
            Self::Appended(result, reply) => drop(reply.send(result)),
            Self::Read(result, reply) => drop(reply.send(result)),
        }
    }
}

impl Revision {
    /// Returns the answer that it was not begun, because the work ended before.
    pub(super) fn refused(self, end: AgentEnd) -> RevisionAnswer {
        let aborted =
            |what: &str| Failure::new(FailureClass::Invalid, format!("{what} was aborted"));
        let why = |what: &str| match end {
            AgentEnd::Failed(failure) => failure,
            _aborted => aborted(what),
        };
        match self {
            Self::Compact(_, reply) => RevisionAnswer::Compacted(Err(why("the compaction")), reply),
            Self::Navigate(_, reply) => {
                RevisionAnswer::Navigated(Err(why("the move to another entry")), reply)
            }
            Self::Append(_, reply) => RevisionAnswer::Appended(Err(why("the entry")), reply),
            Self::Read(reply) => RevisionAnswer::Read(Err(why("the reading")), reply),
        }
    }
}

/// What the log of an opened session holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenedLog {
    pub(crate) id: SessionId,
    pub(crate) messages: usize,
    pub(crate) usage: Usage,
}

/// Why a conversation was not continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContinueError {
    /// The session works already.
    #[error("the session is working")]
    Busy,
    /// There is no message to answer.
    #[error("the conversation is empty")]
    Empty,
    /// The last message is an answer of the model.
    #[error("the model has answered the last message")]
    Answered,
    /// The session is closed.
    #[error("the session is closed")]
    Closed,
}

/// The conversation and model of an open session.
pub(crate) struct Opened {
    pub(super) conversation: Conversation,
    pub(super) model: Model,
}

/// The result of a [`Revision`].
pub(crate) struct Revised {
    pub(super) answer: RevisionAnswer,
    /// `None` if the session could not be opened.
    pub(super) opened: Option<Box<Opened>>,
}

/// The result of the session's work.
pub(crate) struct Ended {
    pub(super) end: AgentEnd,
    /// `None` if the session could not be opened.
    pub(super) opened: Option<Box<Opened>>,
}
