//! The jobs of an actor: futures that it owns, each of which ends in a message to it.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use engine::failpoint;
use engine::fault::Faults;
use futures_util::FutureExt;
use ractor::{ActorRef, Message};
use tokio::task::{AbortHandle, JoinSet};

use crate::job::Job;

/// Runs futures for the actor that owns it. Dropping it aborts them, however the actor dies.
///
/// Every job that ends or panics sends its owner a message. A panicking job drops the values that
/// it holds. A value that the owner needs for its answer, such as a reply port, therefore belongs
/// into `then` and not into the job.
pub(crate) struct Jobs {
    running: JoinSet<()>,
    faults: Faults,
}

impl Jobs {
    /// Returns an empty set of jobs with a failpoint at the begin and the end of each.
    pub(crate) fn new(faults: &Faults) -> Self {
        Self { running: JoinSet::new(), faults: faults.clone() }
    }

    /// Runs `job` under `name` and sends `owner` the message that `then` makes of its result. No
    /// message is sent if the returned handle aborts the job.
    pub(crate) fn run<M: Message, T: Send + 'static>(
        &mut self,
        name: Job,
        owner: &ActorRef<M>,
        job: impl Future<Output = T> + Send + 'static,
        then: impl FnOnce(Result<T, Panicked>) -> M + Send + 'static,
    ) -> AbortHandle {
        // A job that has ended holds memory until it is joined.
        while self.running.try_join_next().is_some() {}
        let (owner, faults) = (owner.clone(), self.faults.clone());
        // On the heap, because an `async` block holds a future that it awaits twice: as what it
        // captured, and as what it awaits.
        let job = job.boxed();
        let job = async move {
            // A job cannot return an error, so an error planned for its failpoint is ignored.
            let _ignored = failpoint!(faults, name.begin());
            let ended = job.await;
            let _ignored = failpoint!(faults, name.end());
            ended
        };
        #[expect(clippy::disallowed_methods, reason = "a panic is caught and told")]
        self.running.spawn(async move {
            let ended = AssertUnwindSafe(job).catch_unwind().await;
            let ended = ended.map_err(|payload| Panicked::from_payload(&*payload));
            if let Err(panicked) = &ended {
                tracing::error!(job = ?name, %panicked, "a job of an actor panicked");
            }
            let _gone = owner.cast(then(ended)); // a stopped owner needs no result
        })
    }

    /// Waits until every job has ended.
    pub(crate) async fn finish(&mut self) {
        while self.running.join_next().await.is_some() {}
    }
}

/// The message of a panic in a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Panicked(String);

impl Panicked {
    pub(crate) fn from_payload(payload: &(dyn Any + Send)) -> Self {
        let words = payload.downcast_ref::<&str>().map(|words| (*words).to_owned());
        let words = words.or_else(|| payload.downcast_ref::<String>().cloned());
        Self(words.unwrap_or_else(|| "it panicked without a message".to_owned()))
    }
}
