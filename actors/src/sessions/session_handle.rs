//! The public handle of an open session.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::agent::{Navigated, Navigation, QueueModes};
use engine::ports::CancelLevel;
use engine::prompt::SystemPrompt;
use protocol::{
    CompactionResult, EntryId, Failure, FailureClass, Message, ModelRoute, QuestionId, QueueKind,
    SessionEntry, SessionId, ThinkingLevel, UserInput,
};
use ractor::{ActorRef, RpcReplyPort};

use super::messages::{OpenedSession, PromptError, SessionChange, SessionKey, SessionsMessage};
use super::open_question::AnswerError;
use super::session_state::SessionState;
use super::session_states::SessionStates;
use crate::messaging::answer;
use crate::session::{ContinueError, Reply, Revision, SessionInput, SessionMessage};

/// Why a session was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenSessionError {
    /// The engine is closing.
    #[error("the engine is closing")]
    Closing,
    /// The log or the model of the session cannot be opened, or the session crashed.
    #[error("{}", .0.message)]
    Failed(Failure),
}

/// A handle to an open session. The session is closed by [`SessionHandle::close`], or when the
/// engine closes.
///
/// A session takes each input once: an input with the id of an earlier one is ignored.
pub struct SessionHandle {
    id: SessionId,
    key: SessionKey,
    sessions: ActorRef<SessionsMessage>,
}

impl SessionHandle {
    pub(crate) fn new(opened: OpenedSession) -> Self {
        let OpenedSession { key, id, sessions } = opened;
        Self { id, key, sessions }
    }

    /// Returns the id of the session, which is also the id of its log.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Returns the state of the session; `None` if it is closed.
    pub async fn state(&self) -> Option<SessionState> {
        answer(&self.sessions, |reply| SessionsMessage::State(self.key, reply)).await
    }

    /// Returns a reader of the state of the session, which follows what it does; `None` if it is closed.
    pub async fn watch(&self) -> Option<SessionStates> {
        let read = |reply| SessionsMessage::ReadState(self.key, reply);
        answer(&self.sessions, read).await.map(SessionStates::new)
    }

    /// Waits until nothing works in the session and no input waits, or until it is closed.
    pub async fn wait_for_idle(&self) {
        let Some(mut states) = self.watch().await else { return };
        let mut state = states.current();
        while !state.is_idle() {
            let Some(changed) = states.changed().await else { return };
            state = changed;
        }
    }

    /// Begins work on an input, if the session is idle.
    ///
    /// # Errors
    /// The session works, an input waits, or the session is closed.
    pub async fn prompt_if_idle(&self, input: UserInput) -> Result<(), PromptError> {
        let question = |reply| SessionsMessage::PromptIfIdle(self.key, input, reply);
        answer(&self.sessions, question).await.unwrap_or(Err(PromptError::Closed))
    }

    /// Continues the conversation without a new input, for instance after an error.
    ///
    /// # Errors
    /// The session works, its last message is an answer, or it is closed.
    pub async fn continue_work(&self) -> Result<(), ContinueError> {
        self.ask(SessionMessage::Continue).await.unwrap_or(Err(ContinueError::Closed))
    }

    /// Begins work on an input, at once or when the work before it has ended.
    pub fn prompt(&self, input: UserInput) {
        self.say(SessionInput::Prompt(input));
    }

    /// Sends an input to the working model. It is part of the next request, after the tool results
    /// of the current answer. An idle session begins to work on it.
    pub fn steer(&self, input: UserInput) {
        self.say(SessionInput::Steer(input));
    }

    /// Sends an input that the model gets when it would otherwise stop. An idle session begins to
    /// work on it.
    pub fn follow_up(&self, input: UserInput) {
        self.say(SessionInput::FollowUp(input));
    }

    /// Takes back the newest input of a kind that waits, and returns it.
    pub async fn take_back(&self, kind: QueueKind) -> Option<UserInput> {
        self.ask(|reply| SessionMessage::TakeBack(kind, reply)).await.flatten()
    }

    /// Takes back all inputs of a kind that wait, and returns them, oldest first.
    pub async fn clear_queue(&self, kind: QueueKind) -> Vec<UserInput> {
        self.ask(|reply| SessionMessage::ClearQueue(kind, reply)).await.unwrap_or_default()
    }

    /// Changes the system prompt, beginning with the next request. It is not written to the log.
    pub fn set_system_prompt(&self, system: SystemPrompt) {
        self.change(SessionChange::System(Arc::new(system)));
    }

    /// Lets the model use only these of the tools of the session, or all of them, beginning with the next
    /// request. Names that none of the tools has count for nothing.
    pub fn set_tools(&self, only: Option<BTreeSet<String>>) {
        self.change(SessionChange::Tools(only.map(Arc::new)));
    }

    /// Changes how waiting inputs are given out.
    pub fn set_queue_modes(&self, modes: QueueModes) {
        self.change(SessionChange::Modes(modes));
    }

    /// Changes how much the model thinks, beginning with the next request. Returns the level that the
    /// model has in place of the given one; `None` if the session is closed.
    pub async fn set_thinking_level(&self, level: ThinkingLevel) -> Option<ThinkingLevel> {
        let level = self.ask(|reply| SessionMessage::SetThinking(level, reply)).await?;
        self.change(SessionChange::Thinking(level));
        Some(level)
    }

    /// Answers a question of the session, which an event has asked, with the choice of this id.
    ///
    /// # Errors
    /// The question is not open, has no such choice, or the session is closed.
    pub async fn answer(&self, id: QuestionId, choice: String) -> Result<(), AnswerError> {
        let message = |reply| SessionsMessage::Answer(self.key, id, choice, reply);
        answer(&self.sessions, message).await.unwrap_or(Err(AnswerError::Closed))
    }

    /// Stops the current work and drops the waiting inputs. The conversation is kept. The event
    /// `agent_end` reports that the work has ended.
    pub fn abort(&self, level: CancelLevel) {
        let _closed = self.sessions.cast(SessionsMessage::Abort(self.key, level));
    }

    /// Changes the model of the session, beginning with the next request.
    ///
    /// # Errors
    /// The model cannot be opened, or the session is closed.
    pub async fn set_model(&self, model: ModelRoute) -> Result<(), Failure> {
        let question = |reply| SessionsMessage::SetModel(self.key, model, reply);
        let closed = || Failure::new(FailureClass::Crashed, "the session is closed");
        answer(&self.sessions, question).await.ok_or_else(closed)?
    }

    /// Aborts the current work and replaces the older part of the conversation by a summary.
    /// `instructions` are what the summary has to heed. An abort meanwhile leaves the conversation as
    /// it was.
    ///
    /// # Errors
    /// There is nothing to sum up, the model wrote no summary, or the session is closed.
    pub async fn compact(&self, instructions: Option<String>) -> Result<CompactionResult, Failure> {
        self.revise(|reply| Revision::Compact(instructions, reply)).await
    }

    /// Lets the session go on from another entry of its log, if it is idle. The branch that it leaves
    /// stays in the log; the model may be told a summary of it, which it writes itself. An abort
    /// meanwhile leaves the session where it is.
    ///
    /// # Errors
    /// The session works, there is no such entry, the model wrote no summary, the move was aborted, or
    /// the session is closed.
    pub async fn navigate(&self, navigation: Navigation) -> Result<Navigated, Failure> {
        self.revise(|reply| Revision::Navigate(navigation, reply)).await
    }

    /// Returns the messages of the conversation as soon as the session is idle, as models read them:
    /// after a compaction, its summary and what follows.
    ///
    /// # Errors
    /// The log cannot be read, or the session is closed.
    pub async fn messages(&self) -> Result<Vec<Arc<Message>>, Failure> {
        self.revise(Revision::Read).await
    }

    /// Appends an entry to the log as soon as the session is idle: a message that is not an input, such as
    /// one of an extension or a command that the user ran, a label, or the state of an extension. What
    /// models read of it is part of the next request.
    ///
    /// # Errors
    /// The entry is one that the session makes itself, the log cannot be written, or the session is
    /// closed.
    pub async fn append(&self, entry: SessionEntry) -> Result<EntryId, Failure> {
        check_appended(&entry)?;
        self.revise(|reply| Revision::Append(Box::new(entry), reply)).await
    }

    /// Aborts the work, and returns when nothing of the session runs any more.
    pub async fn close(self) {
        let close = |reply| SessionsMessage::Close(self.key, reply);
        let _gone = answer(&self.sessions, close).await; // then it is closed already
    }

    async fn revise<T: Send + 'static>(
        &self,
        revision: impl FnOnce(Reply<T>) -> Revision,
    ) -> Result<T, Failure> {
        let closed = || Failure::new(FailureClass::Crashed, "the session is closed");
        let revise = |reply| SessionMessage::Revise(Box::new(revision(reply)));
        self.ask(revise).await.ok_or_else(closed)?
    }

    /// Asks the actor of the session; `None` if it is closed or just restarted.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(RpcReplyPort<T>) -> SessionMessage,
    ) -> Option<T> {
        let forward = |reply| SessionsMessage::Forward(self.key, Box::new(question(reply)));
        answer(&self.sessions, forward).await
    }

    fn change(&self, change: SessionChange) {
        let _closed = self.sessions.cast(SessionsMessage::Change(self.key, change));
    }

    fn say(&self, input: SessionInput) {
        let _closed = self.sessions.cast(SessionsMessage::Say(self.key, input));
    }
}

/// Checks that an entry is none that the session makes itself.
fn check_appended(entry: &SessionEntry) -> Result<(), Failure> {
    let what = match entry {
        SessionEntry::SessionInit { .. } => "session_init",
        SessionEntry::ModelChange { .. } => "model_change",
        SessionEntry::ThinkingLevelChange { .. } => "thinking_level_change",
        SessionEntry::Compaction { .. } => "compaction",
        SessionEntry::BranchSummary { .. } => "branch_summary",
        SessionEntry::Leaf {} => "leaf",
        SessionEntry::Message { message, .. } => match message.as_model() {
            Some(Message::Assistant(_)) => "assistant",
            Some(Message::ToolResult(_)) => "toolResult",
            Some(Message::User(_)) | None => return Ok(()),
        },
        SessionEntry::CustomMessage { .. }
        | SessionEntry::Custom { .. }
        | SessionEntry::ServiceTierChange { .. }
        | SessionEntry::Label { .. }
        | SessionEntry::ModeChange { .. }
        | SessionEntry::TtsrInjection { .. }
        | SessionEntry::McpToolSelection { .. }
        | SessionEntry::SessionInfo { .. }
        | SessionEntry::TitleChange { .. }
        | SessionEntry::Unknown(_) => return Ok(()),
    };
    let why = format!("an entry `{what}` cannot be appended: the session makes it itself");
    Err(Failure::new(FailureClass::Invalid, why))
}
