//! The handle by which the outside world holds the engine.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::fault::Faults;
use engine::ports::{
    CancelLevel, Clock, Commands, LedgerStore, Models, Schemas, SessionLogs, Toolbox,
};
use engine::request::RequestPolicy;
use engine::verdict::Interruption;
use protocol::RunId;
use ractor::concurrency::oneshot;
use ractor::{Actor, ActorRef, SpawnErr};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::events::Events;
use crate::root::{Root, RootArguments, RootMessage};
use crate::runs::{Submission, SubmitError, Submitted};

/// What the engine is built with.
#[derive(Clone)]
pub struct Deps {
    /// Keeps the record.
    pub ledger: Arc<dyn LedgerStore>,
    /// Runs commands.
    pub commands: Arc<dyn Commands>,
    /// Knows where models are had.
    pub models: Arc<dyn Models>,
    /// Makes the tools of sessions.
    pub toolbox: Arc<dyn Toolbox>,
    /// Keeps what is said in sessions.
    pub session_logs: Arc<dyn SessionLogs>,
    /// Compiles schemas.
    pub schemas: Arc<dyn Schemas>,
    /// Tells the time of day.
    pub clock: Arc<dyn Clock>,
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

/// A running engine. Close it: what is dropped without is closed by the next start.
pub struct Engine {
    root: ActorRef<RootMessage>,
    join: JoinHandle<()>,
    fell: watch::Receiver<Option<String>>,
}

/// Cancels runs. It keeps no engine open.
pub struct Canceller(ActorRef<RootMessage>);

impl Canceller {
    /// Cancels a run, as [`Engine::cancel`] does.
    pub fn cancel(&self, run: RunId, how: CancelLevel, why: Interruption) {
        let _closed = self.0.cast(RootMessage::Cancel(run, how, why));
    }
}

impl Engine {
    /// Opens an engine.
    ///
    /// # Errors
    /// An actor could not be started.
    pub async fn open(deps: Deps) -> Result<Self, SpawnErr> {
        let (sender, fell) = watch::channel(None);
        let arguments = RootArguments { deps, fell: sender };
        #[expect(clippy::disallowed_methods, reason = "the root is the one that nobody supervises")]
        let (root, join) = Actor::spawn(None, Root, arguments).await?;
        Ok(Self { root, join, fell })
    }

    /// Returns everything that happens from now on.
    pub async fn listen(&self) -> Events {
        let (reply, waiting) = oneshot();
        let _closed = self.root.cast(RootMessage::Listen(reply.into()));
        // A closed engine says nothing any more.
        waiting.await.unwrap_or_else(|_closed| Events::ended())
    }

    /// Starts a run. It is submitted at once, so that it can be cancelled before the answer is
    /// awaited; the answer is why it was not started, and then nothing of it stays.
    pub fn submit(
        &self,
        submission: Submission,
    ) -> impl Future<Output = Result<Submitted, SubmitError>> + use<> {
        let (reply, waiting) = oneshot();
        let _closed = self.root.cast(RootMessage::Submit(Box::new(submission), reply.into()));
        async move { waiting.await.unwrap_or(Err(SubmitError::Closing)) }
    }

    /// Cancels a run: what waits is not started, what runs is stopped and captured, nothing lands.
    pub fn cancel(&self, run: RunId, how: CancelLevel, why: Interruption) {
        let _closed = self.root.cast(RootMessage::Cancel(run, how, why));
    }

    /// Returns what can cancel runs from elsewhere, for instance while this one waits.
    #[must_use]
    pub fn canceller(&self) -> Canceller {
        Canceller(self.root.clone())
    }

    /// Waits until a part fell without which the engine cannot go on, and says which. By then the
    /// engine is closing. Never returns while the engine stands.
    pub async fn fallen(&self) -> String {
        let mut fell = self.fell.clone();
        match fell.wait_for(Option::is_some).await {
            Ok(fell) => fell.clone().unwrap_or_default(),
            Err(_closed_in_peace) => std::future::pending().await,
        }
    }

    /// Cancels what runs, gives every workspace back and ends the engine. Returns what fell, if
    /// something did.
    pub async fn close(self) -> Option<String> {
        let _closed = self.root.cast(RootMessage::Close);
        let _panicked = self.join.await; // then there is nothing left to wait for
        self.fell.borrow().clone()
    }
}
