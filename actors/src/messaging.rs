//! Communication between actors: requests whose answers arrive as messages, notifications, and
//! receipts that report the results of writes.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ractor::concurrency::oneshot;
use ractor::{ActorRef, Message, RpcReplyPort};

use crate::job::Job;
use crate::jobs::Jobs;

/// Sends a request at once and returns a future of the answer; `None` if the actor died.
pub(crate) fn answer<M: Message, R: Send + 'static>(
    whom: &ActorRef<M>,
    question: impl FnOnce(RpcReplyPort<R>) -> M,
) -> BoxFuture<'static, Option<R>> {
    #[expect(clippy::disallowed_methods, reason = "a question that is not sent is dropped")]
    let (answer, waiting) = oneshot();
    // A failed cast returns the request with its reply port. Both are dropped here, so that the
    // returned future completes at once.
    drop(whom.cast(question(answer.into())));
    waiting.map(Result::ok).boxed()
}

/// The reason why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The actor died.
    Died,
    /// It did not answer in time.
    Late,
    /// The waiting job panicked, and the state of the actor is unknown.
    Unheard,
}

/// Sends `whom` a request, and sends `myself` the message that `then` makes of the answer, also if
/// the actor dies without one. The wait is the job `name` of `jobs` and ends with its owner.
///
/// The request has no deadline: use it where the actor has its own deadline, or where the duration
/// depends on the size of the work (copying, capturing, landing). Otherwise use [`ask_within`].
pub(crate) fn ask<M: Message, A: Message, R: Send + 'static>(
    name: Job,
    jobs: &mut Jobs,
    (myself, whom): (&ActorRef<A>, &ActorRef<M>),
    question: impl FnOnce(RpcReplyPort<R>) -> M,
    then: impl FnOnce(Result<R, NoAnswer>) -> A + Send + 'static,
) {
    jobs.run(name, myself, answer(whom, question), |answer| {
        then(match answer {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(NoAnswer::Died),
            Err(_panicked) => Err(NoAnswer::Unheard),
        })
    });
}

/// Sends a request as [`ask`] does, with a deadline: later the answer is [`NoAnswer::Late`].
pub(crate) fn ask_within<M: Message, A: Message, R: Send + 'static>(
    name: Job,
    jobs: &mut Jobs,
    (myself, whom): (&ActorRef<A>, &ActorRef<M>),
    deadline: Duration,
    question: impl FnOnce(RpcReplyPort<R>) -> M,
    then: impl FnOnce(Result<R, NoAnswer>) -> A + Send + 'static,
) {
    let answer = tokio::time::timeout(deadline, answer(whom, question));
    jobs.run(name, myself, answer, |answer| {
        then(match answer {
            Ok(Ok(Some(answer))) => Ok(answer),
            Ok(Ok(None)) => Err(NoAnswer::Died),
            Ok(Err(_elapsed)) => Err(NoAnswer::Late),
            Err(_panicked) => Err(NoAnswer::Unheard),
        })
    });
}

/// Sends an actor's notifications to another actor, whose type the sender need not know.
pub(crate) struct Notifier<T>(Arc<dyn Fn(T) + Send + Sync>);

impl<T> Clone for Notifier<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: 'static> Notifier<T> {
    /// Returns a notifier that calls `take`, which must not block.
    pub(crate) fn new(take: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// Returns a notifier that sends `whom` the message that `as_message` makes of a notification.
    pub(crate) fn to<M: Message>(
        whom: &ActorRef<M>,
        as_message: impl Fn(T) -> M + Send + Sync + 'static,
    ) -> Self {
        let whom = whom.clone();
        Self(Arc::new(move |notification| {
            let _gone = whom.cast(as_message(notification)); // the receiver may be gone
        }))
    }

    pub(crate) fn notify(&self, notification: T) {
        (self.0)(notification);
    }
}

/// Reports the result of a write exactly once: a dropped receipt reports [`Durability::Lost`].
/// Results for the same actor arrive in the order in which they were reported.
pub(crate) struct Receipt(Option<Box<dyn FnOnce(Durability) + Send>>);

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The entry is durable.
    Durable,
    /// The writer is gone.
    Lost,
}

impl Receipt {
    /// Returns a receipt that sends `whom` the message that `as_message` makes of the result.
    pub(crate) fn to<M: Message>(
        whom: &ActorRef<M>,
        as_message: impl FnOnce(Durability) -> M + Send + 'static,
    ) -> Self {
        let whom = whom.clone();
        Self(Some(Box::new(move |durability| {
            let _gone = whom.cast(as_message(durability)); // the caller may be gone
        })))
    }

    /// Reports that the entry is durable.
    pub(crate) fn give(mut self) {
        self.say(Durability::Durable);
    }

    fn say(&mut self, durability: Durability) {
        if let Some(tell) = self.0.take() {
            tell(durability);
        }
    }
}

impl From<RpcReplyPort<()>> for Receipt {
    fn from(reply: RpcReplyPort<()>) -> Self {
        Self(Some(Box::new(move |durability| {
            if durability == Durability::Durable {
                let _gone = reply.send(());
            }
        })))
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        self.say(Durability::Lost);
    }
}
