//! The public handle of a running engine.

use std::sync::Arc;

use engine::exit_code::Interruption;
use engine::leading_request::LedModels;
use engine::ports::{CancelLevel, CommandOwner, Commands, IsolationError, VariableChoice};
use engine::run::{AddTasksError, FinishedChild, WaitError};
use protocol::{Captured, Failure, QuestionId, RunId, TaskId, TaskSpec};
use ractor::{Actor, ActorRef, SpawnErr};
use tokio::sync::watch;

use crate::deps::Deps;
use crate::events::Events;
use crate::executors::{Answerer, ToolSetup};
use crate::messaging::answer;
use crate::root::{Root, RootArguments, RootMessage};
use crate::run::RunRequest;
use crate::runs::{Submission, SubmitError, Submitted};
use crate::session::SessionSpec;
use crate::sessions::{AnswerError, OpenSessionError, SessionHandle, SessionOpening};
use crate::task::ConversationRequest;
use crate::tokio_timer::RuntimeTimer;

/// A running engine. Clones are handles of the same engine.
///
/// When the last handle is dropped, the engine begins to close, as with [`Engine::close`]. A runtime that
/// ends meanwhile leaves the rest to the next start of the program, which recovers the runs that have not
/// ended.
#[derive(Clone)]
pub struct Engine(Arc<Handle>);

struct Handle {
    root: ActorRef<RootMessage>,
    /// Why the engine cannot continue. Its sender is dropped when the engine has ended.
    failure: watch::Receiver<Option<Failure>>,
    commands: Arc<dyn Commands>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _closed = self.root.cast(RootMessage::Close);
    }
}

/// A handle that cancels runs. It does not keep the engine open.
pub struct Canceller(ActorRef<RootMessage>);

impl Canceller {
    /// Cancels a run, as [`Engine::cancel`] does.
    pub fn cancel(&self, run: RunId, how: CancelLevel, why: Interruption) {
        let _closed = self.0.cast(RootMessage::Cancel(run, how, why));
    }
}

/// A handle that answers the questions of the tasks of runs. It does not keep the engine open.
#[derive(Clone, Debug)]
pub struct Answers(ActorRef<RootMessage>);

impl Answers {
    /// Answers a question of a task, which an event of its run has asked, with the choice of this id.
    ///
    /// # Errors
    /// The question is not open, has no such choice, or the run is over.
    pub async fn give(
        &self,
        run: RunId,
        id: QuestionId,
        choice: String,
    ) -> Result<(), AnswerError> {
        let request =
            |reply| RootMessage::Request(run, Box::new(RunRequest::Answer(id, choice, reply)));
        answer(&self.0, request).await.unwrap_or(Err(AnswerError::Closed))
    }
}

impl Engine {
    /// Opens an engine.
    ///
    /// # Errors
    /// An actor could not be started.
    pub async fn open(deps: Deps) -> Result<Self, SpawnErr> {
        let (sender, failure) = watch::channel(None);
        let timer = Arc::new(RuntimeTimer::start());
        let commands = Arc::clone(&deps.commands);
        let models = Arc::new(LedModels::new(Arc::clone(&deps.models), timer));
        let deps = Arc::new(Deps { models, ..deps });
        let arguments = RootArguments { deps, failure: sender };
        #[expect(clippy::disallowed_methods, reason = "the root has no supervisor")]
        let (root, _ends_by_itself) = Actor::spawn(None, Root, arguments).await?;
        Ok(Self(Arc::new(Handle { root, failure, commands })))
    }

    /// Returns a new owner of shell commands, for those that are no calls of a model. It has to be
    /// dropped before the engine is closed.
    #[must_use]
    pub fn command_owner(&self) -> Arc<dyn CommandOwner> {
        Arc::clone(&self.0.commands).owner(&VariableChoice::default())
    }

    /// Returns a reader of all events from now on.
    pub async fn listen(&self) -> Events {
        // A closed engine publishes no more events.
        answer(&self.0.root, RootMessage::Listen).await.unwrap_or_else(Events::ended)
    }

    /// Starts a run. It is submitted at once and can be cancelled before the returned future is
    /// awaited. A run that fails to start leaves nothing behind.
    pub fn submit(
        &self,
        submission: Submission,
    ) -> impl Future<Output = Result<Submitted, SubmitError>> + use<> {
        self.submit_answered(submission, Answerer::None)
    }

    /// Starts a run as [`Engine::submit`] does, whose questions `answerer` answers.
    pub fn submit_answered(
        &self,
        submission: Submission,
        answerer: Answerer,
    ) -> impl Future<Output = Result<Submitted, SubmitError>> + use<> {
        let submission = Box::new(submission);
        let submit = |reply| RootMessage::Submit(submission, answerer, reply);
        let answer = answer(&self.0.root, submit);
        async move { answer.await.unwrap_or(Err(SubmitError::Closing)) }
    }

    /// Opens a session without a task, with its own tools. Returns it with its events, from the first on.
    ///
    /// # Errors
    /// Its log or its model cannot be opened, or the engine is closing.
    pub async fn open_session(
        &self,
        spec: SessionSpec,
        tools: ToolSetup,
    ) -> Result<(SessionHandle, Events), OpenSessionError> {
        let opening = Box::new(SessionOpening { spec, tools });
        match answer(&self.0.root, |reply| RootMessage::OpenSession(opening, reply)).await {
            Some(Ok((opened, events))) => Ok((SessionHandle::new(opened), events)),
            Some(Err(failure)) => Err(OpenSessionError::Failed(failure)),
            None => Err(OpenSessionError::Closing),
        }
    }

    /// Cancels a run: queued tasks do not start, running tasks are stopped and captured, nothing
    /// lands.
    pub fn cancel(&self, run: RunId, how: CancelLevel, why: Interruption) {
        let _closed = self.0.root.cast(RootMessage::Cancel(run, how, why));
    }

    /// Adds tasks to a running run, as children of `parent` if given. Answers when they are in the
    /// ledger.
    pub fn add_tasks(
        &self,
        run: RunId,
        parent: Option<TaskId>,
        tasks: Vec<TaskSpec>,
    ) -> impl Future<Output = Result<Vec<TaskId>, AddTasksError>> + use<> {
        let answer = answer(&self.0.root, |reply| {
            let request = RunRequest::AddTasks { parent, tasks, reply };
            RootMessage::Request(run, Box::new(request))
        });
        // A dropped reply port means that the run has ended.
        async move { answer.await.unwrap_or(Err(AddTasksError::Ending)) }
    }

    /// Waits until the children of `parent` have ended, and returns their outcomes. Meanwhile the
    /// parent's permit is lent to other tasks; it holds the permit again when this returns.
    pub fn await_children(
        &self,
        run: RunId,
        parent: TaskId,
    ) -> impl Future<Output = Result<Vec<FinishedChild>, WaitError>> + use<> {
        let answer = answer(&self.0.root, |reply| {
            RootMessage::Request(run, Box::new(RunRequest::AwaitChildren { parent, reply }))
        });
        async move { answer.await.unwrap_or(Err(WaitError::NotRunning)) }
    }

    /// Captures what a conversation has changed so far in its workspace, in which nothing may be writing.
    /// `None` if the mode has no checkpoints.
    ///
    /// # Errors
    /// Its task does not work any more, or the workspace cannot be captured.
    pub async fn checkpoint(
        &self,
        run: RunId,
        conversation: TaskId,
    ) -> Result<Option<Captured>, IsolationError> {
        let captured = answer(&self.0.root, |reply| {
            let request = ConversationRequest::Checkpoint(reply);
            RootMessage::Request(run, Box::new(RunRequest::Conversation(conversation, request)))
        });
        captured.await.unwrap_or_else(|| {
            let (what, source) = ("look at the workspace".to_owned(), "its task has ended".into());
            Err(IsolationError::Failed { what, source })
        })
    }

    /// Tells the task of a conversation that it has ended, and that nothing of it runs any more: the work
    /// is captured, and the task is done.
    pub fn end_conversation(&self, run: RunId, conversation: TaskId) {
        let request = RunRequest::Conversation(conversation, ConversationRequest::End);
        let _closed = self.0.root.cast(RootMessage::Request(run, Box::new(request)));
    }

    /// Returns a handle that answers the questions of runs. It does not keep the engine open.
    #[must_use]
    pub fn answers(&self) -> Answers {
        Answers(self.0.root.clone())
    }

    /// Returns a handle that cancels runs from another task.
    #[must_use]
    pub fn canceller(&self) -> Canceller {
        Canceller(self.0.root.clone())
    }

    /// Waits until an actor that the engine needs fails, such as the ledger, or until closing makes
    /// no progress, and returns the reason. The engine is closing by then. Does not return if the
    /// engine closes without a failure.
    pub async fn failed(&self) -> Failure {
        let mut failure = self.0.failure.clone();
        let failed = failure.wait_for(Option::is_some).await;
        let failed = failed.ok().and_then(|failure| failure.clone());
        match failed {
            Some(failure) => failure,
            None => std::future::pending().await, // closed normally
        }
    }

    /// Cancels all runs, closes all sessions and repositories, and ends the engine. Returns the
    /// reason if an actor that the engine needs failed, or if closing made no progress.
    pub async fn close(self) -> Option<Failure> {
        let _closed = self.0.root.cast(RootMessage::Close);
        let mut failure = self.0.failure.clone();
        while failure.changed().await.is_ok() {} // then its sender is gone, and the engine with it
        failure.borrow().clone()
    }
}
