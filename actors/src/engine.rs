//! The public handle of a running engine.

use std::num::NonZeroUsize;
use std::sync::{Arc, Weak};

use engine::leading_request::LedModels;
use engine::ports::{CommandOwner, Commands, VariableChoice};
use engine::schedule::Places;
use protocol::{Failure, RunId};
use ractor::{Actor, ActorRef, SpawnErr};
use tokio::sync::watch;

use crate::deps::Deps;
use crate::events::{EventFilter, Events};
use crate::executors::ToolSetup;
use crate::messaging::answer;
use crate::root::{Root, RootArguments, RootMessage};
use crate::run_handle::{RunControls, RunHandle};
use crate::runs::{Submission, SubmitError};
use crate::session::SessionSpec;
use crate::sessions::{OpenSessionError, SessionHandle, SessionOpening};
use crate::tokio_timer::RuntimeTimer;

/// A running engine. Clones are handles of the same engine.
///
/// When the last handle is dropped, the engine begins to close, as with [`Engine::close`]. A runtime that
/// ends meanwhile leaves the rest to the next start of the program, which recovers the runs that have not
/// ended.
#[derive(Clone)]
pub struct Engine(Arc<Handle>);

/// A handle that does not keep the engine open.
#[derive(Clone)]
pub struct WeakEngine(Weak<Handle>);

impl WeakEngine {
    /// Returns a handle of the engine; `None` if all its handles were dropped.
    #[must_use]
    pub fn upgrade(&self) -> Option<Engine> {
        self.0.upgrade().map(Engine)
    }
}

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

    /// Returns a handle that does not keep the engine open.
    #[must_use]
    pub fn downgrade(&self) -> WeakEngine {
        WeakEngine(Arc::downgrade(&self.0))
    }

    /// Returns a new owner of shell commands, for those that are not calls of a model. It has to be
    /// dropped before the engine is closed.
    #[must_use]
    pub fn command_owner(&self) -> Arc<dyn CommandOwner> {
        Arc::clone(&self.0.commands).owner(&VariableChoice::default())
    }

    /// Returns a reader of all events from now on.
    pub async fn listen(&self) -> Events {
        self.subscribe(EventFilter::All).await
    }

    /// Returns a reader of the events of all runs from now on, without those of the sessions of their tasks.
    pub async fn listen_to_runs(&self) -> Events {
        self.subscribe(EventFilter::Runs).await
    }

    async fn subscribe(&self, filter: EventFilter) -> Events {
        let subscribed = |reply| RootMessage::Listen(filter, reply);
        // A closed engine publishes no more events.
        answer(&self.0.root, subscribed).await.unwrap_or_else(Events::ended)
    }

    /// Starts a run. It is submitted at once and can be cancelled before the returned future is
    /// awaited, by [`Engine::controls`]. A run that fails to start leaves nothing behind.
    pub fn run(
        &self,
        submission: Submission,
    ) -> impl Future<Output = Result<RunHandle, SubmitError>> + use<> {
        let submission = Box::new(submission);
        let answer = answer(&self.0.root, |reply| RootMessage::Submit(submission, reply));
        let (root, failure) = (self.0.root.clone(), self.0.failure.clone());
        async move {
            let submitted = answer.await.unwrap_or(Err(SubmitError::Closing))?;
            Ok(RunHandle::new(submitted, root, failure))
        }
    }

    /// Changes how many tasks work at the same time, of all runs together. A lower number stops none; a higher
    /// one starts tasks that wait at once.
    pub fn set_capacity(&self, capacity: NonZeroUsize) {
        let _closed = self.0.root.cast(RootMessage::SetCapacity(capacity));
    }

    /// Returns how many tasks may work at the same time, and how many do; `None` if the engine has ended.
    pub async fn places(&self) -> Option<Places> {
        answer(&self.0.root, RootMessage::Places).await
    }

    /// Returns the controls of a run by its id, also while it is being opened.
    #[must_use]
    pub fn controls(&self, run: RunId) -> RunControls {
        RunControls::new(run, self.0.root.clone())
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
