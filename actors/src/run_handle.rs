//! The handle of a run: its events, its controls and its end.

use std::sync::Arc;

use engine::exit_code::Interruption;
use engine::ports::{CancelLevel, IsolationError};
use protocol::{
    Captured, Event, EventKind, ExitCode, Failure, FailureClass, QuestionId, RunId, RunName,
    TaskId, Totals,
};
use ractor::ActorRef;
use tokio::sync::watch;

use crate::events::Events;
use crate::messaging::answer;
use crate::root::RootMessage;
use crate::run::RunRequest;
use crate::runs::Submitted;
use crate::sessions::AnswerError;
use crate::task::ConversationRequest;

/// A run that has started. The run goes on when its handle is dropped, and the handle does not keep the
/// engine open.
#[derive(Debug)]
pub struct RunHandle {
    /// Its id.
    pub id: RunId,
    /// Its name.
    pub name: RunName,
    events: Events,
    outcome: Option<RunOutcome>,
    root: ActorRef<RootMessage>,
    /// Why the engine cannot continue. Its sender is dropped when the engine has ended.
    failure: watch::Receiver<Option<Failure>>,
}

/// How a run has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    /// What became of its tasks.
    pub totals: Totals,
    /// The exit code of a program that does this run only.
    pub exit_code: ExitCode,
}

/// Controls a run, also while it is being opened. It does not keep the engine open.
#[derive(Clone, Debug)]
pub struct RunControls {
    run: RunId,
    root: ActorRef<RootMessage>,
}

impl RunHandle {
    pub(crate) fn new(
        Submitted { id, name, events }: Submitted,
        root: ActorRef<RootMessage>,
        failure: watch::Receiver<Option<Failure>>,
    ) -> Self {
        Self { id, name, events, outcome: None, root, failure }
    }

    /// Waits for the next event of the run. Returns `None` when the run has ended and has given back its
    /// lock, or when the engine has ended.
    pub async fn recv(&mut self) -> Option<Arc<Event>> {
        let has_ended = async { while self.failure.changed().await.is_ok() {} };
        let event = tokio::select! {
            biased;
            event = self.events.recv() => event,
            () = has_ended => self.events.take(),
        };
        event.inspect(|event| note_end(&mut self.outcome, event))
    }

    /// Returns the next unread event of the run, without waiting.
    pub fn take(&mut self) -> Option<Arc<Event>> {
        self.events.take().inspect(|event| note_end(&mut self.outcome, event))
    }

    /// Returns a reader of the events that this handle has not returned yet, and of all later ones.
    #[must_use]
    pub fn events(&self) -> Events {
        self.events.another()
    }

    /// Waits until the run has ended, and returns how. What [`RunHandle::recv`] has not returned until then
    /// is skipped.
    ///
    /// # Errors
    /// The engine has failed, or was closed, before the run could end.
    pub async fn outcome(&mut self) -> Result<RunOutcome, Failure> {
        while self.recv().await.is_some() {}
        self.outcome.clone().ok_or_else(|| {
            let failure = self.failure.borrow().clone();
            let closed = || Failure::new(FailureClass::Crashed, "its events ended before the end");
            failure.unwrap_or_else(closed)
        })
    }

    /// Cancels the run, as [`RunControls::cancel`] does.
    pub fn cancel(&self, how: CancelLevel, why: Interruption) {
        self.controls().cancel(how, why);
    }

    /// Returns the controls of the run, for another task of the program.
    #[must_use]
    pub fn controls(&self) -> RunControls {
        RunControls::new(self.id, self.root.clone())
    }
}

/// Keeps how a run has ended, if an event says so.
fn note_end(outcome: &mut Option<RunOutcome>, event: &Event) {
    if let EventKind::RunFinished { totals, exit_code } = &event.kind {
        *outcome = Some(RunOutcome { totals: totals.clone(), exit_code: *exit_code });
    }
}

impl RunControls {
    pub(crate) fn new(run: RunId, root: ActorRef<RootMessage>) -> Self {
        Self { run, root }
    }

    /// Cancels the run: queued tasks do not start, running tasks are stopped and captured, nothing lands.
    pub fn cancel(&self, how: CancelLevel, why: Interruption) {
        let _closed = self.root.cast(RootMessage::Cancel(self.run, how, why));
    }

    /// Captures what a conversation has changed so far in its workspace, in which nothing may be writing.
    /// `None` if the mode has no checkpoints.
    ///
    /// # Errors
    /// Its task does not work any more, or the workspace cannot be captured.
    pub async fn checkpoint(&self, task: TaskId) -> Result<Option<Captured>, IsolationError> {
        let captured = answer(&self.root, |reply| {
            let request = ConversationRequest::Checkpoint(reply);
            self.request(RunRequest::Conversation(task, request))
        });
        captured.await.unwrap_or_else(|| {
            let (what, source) = ("look at the workspace".to_owned(), "its task has ended".into());
            Err(IsolationError::Failed { what, source })
        })
    }

    /// Tells the task of a conversation that it has ended, and that nothing of it runs any more: the work
    /// is captured, and the task is done.
    pub fn end_conversation(&self, task: TaskId) {
        let request = RunRequest::Conversation(task, ConversationRequest::End);
        let _closed = self.root.cast(self.request(request));
    }

    /// Answers a question of a task, which an event of the run has asked, with the choice of this id.
    ///
    /// # Errors
    /// The question is not open, has no such choice, or the run is over.
    pub async fn answer(&self, id: QuestionId, choice: String) -> Result<(), AnswerError> {
        let request = |reply| self.request(RunRequest::Answer(id, choice, reply));
        answer(&self.root, request).await.unwrap_or(Err(AnswerError::Closed))
    }

    fn request(&self, request: RunRequest) -> RootMessage {
        RootMessage::Request(self.run, Box::new(request))
    }
}
