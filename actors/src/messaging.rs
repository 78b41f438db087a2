//! Asking another actor, such that the answer is one of our own messages — also when there is none.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ractor::concurrency::oneshot;
use ractor::{ActorRef, Message, RpcReplyPort};

use crate::job_names::Job;
use crate::jobs::Jobs;

/// Asks `whom` at once, and waits for the answer; nothing comes back when it died without one.
pub(crate) fn answer<M: Message, R: Send + 'static>(
    whom: &ActorRef<M>,
    question: impl FnOnce(RpcReplyPort<R>) -> M,
) -> BoxFuture<'static, Option<R>> {
    #[expect(clippy::disallowed_methods, reason = "a question that is not sent is dropped")]
    let (answer, waiting) = oneshot();
    // A question that cannot be sent comes back, and the reply port with it: kept, it would be
    // waited for.
    drop(whom.cast(question(answer.into())));
    waiting.map(Result::ok).boxed()
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The answerer died.
    Died,
    /// It did not answer in time.
    Late,
    /// The wait for the answer crashed: what became of the answerer is not known.
    Unheard,
}

/// Asks `whom` and delivers the answer to `myself` as `then` says. When the answerer dies without
/// an answer, `then` is told so, and nobody waits for the dead. The wait is the job `name` of
/// `jobs` and ends with the asker.
///
/// It has no deadline: the answerer has one of its own, or the work takes as long as there is of
/// it (copying a tree, capturing it, writing it back), and the closing of the engine watches over
/// both. Where neither holds, [`ask_within`] is to be used.
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

/// The same, for at most `deadline`.
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

/// Sends notifications to the actor that a child reports to, which the child does not know.
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

/// Tells whoever asked for something to be written whether it was, exactly once: where the answerer
/// dies with it, it says that. Answers arrive in the order in which they are given.
pub(crate) struct Receipt(Option<Box<dyn FnOnce(Durability) + Send>>);

/// What became of something that was to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It is there whatever happens.
    Durable,
    /// Whoever would have written it is gone.
    Lost,
}

impl Receipt {
    /// Returns a receipt that arrives at `whom` as `as_message` says.
    pub(crate) fn to<M: Message>(
        whom: &ActorRef<M>,
        as_message: impl FnOnce(Durability) -> M + Send + 'static,
    ) -> Self {
        let whom = whom.clone();
        Self(Some(Box::new(move |durability| {
            let _gone = whom.cast(as_message(durability)); // whoever asked may be gone
        })))
    }

    /// Says that it is written.
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
