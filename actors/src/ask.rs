//! Asking another actor, such that the answer is one of our own messages — also when there is none.

use std::sync::Arc;
use std::time::Duration;

use ractor::concurrency::oneshot;
use ractor::{ActorRef, Message, RpcReplyPort};

use crate::jobs::Jobs;

/// Asks `whom` and delivers the answer to `myself` as `then` says. When the answerer dies without
/// an answer, `then` is told `None`, so that nobody waits for the dead. The wait is owned by
/// `jobs` and ends with the asker.
///
/// It has no deadline: the answerer has one of its own, or the work takes as long as there is of
/// it (copying a tree, capturing it, writing it back), and the closing of the engine watches over
/// both. Where neither holds, [`ask_within`] is to be used.
pub(crate) fn ask<M: Message, A: Message, R: Send + 'static>(
    jobs: &mut Jobs,
    myself: &ActorRef<A>,
    whom: &ActorRef<M>,
    question: impl FnOnce(RpcReplyPort<R>) -> M,
    then: impl FnOnce(Option<R>) -> A + Send + 'static,
) {
    let (answer, waiting) = oneshot();
    // If it is dead already the reply port is dropped here, and that is the answer.
    let _dead = whom.cast(question(answer.into()));
    // Waiting does not panic; if it did, there would be no answer.
    jobs.run(myself, waiting, |answer| then(answer.ok().and_then(Result::ok)));
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// The answerer died.
    Died,
    /// It did not answer in time.
    Late,
}

/// The same, for at most `deadline`.
pub(crate) fn ask_within<M: Message, A: Message, R: Send + 'static>(
    jobs: &mut Jobs,
    myself: &ActorRef<A>,
    whom: &ActorRef<M>,
    deadline: Duration,
    question: impl FnOnce(RpcReplyPort<R>) -> M,
    then: impl FnOnce(Result<R, NoAnswer>) -> A + Send + 'static,
) {
    let (answer, waiting) = oneshot();
    let _dead = whom.cast(question(answer.into()));
    jobs.run(myself, tokio::time::timeout(deadline, waiting), |answer| {
        then(match answer {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Err(_elapsed)) => Err(NoAnswer::Late),
            Ok(Ok(Err(_))) | Err(_) => Err(NoAnswer::Died),
        })
    });
}

/// Tells news to whoever a child reports to, without the child knowing who that is.
pub(crate) struct Teller<T>(Arc<dyn Fn(T) + Send + Sync>);

impl<T> Clone for Teller<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: 'static> Teller<T> {
    /// Returns a teller whose news are given to `take`, which never waits.
    pub(crate) fn new(take: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// Returns a teller whose news arrive at `whom` as `as_message` says.
    pub(crate) fn to<M: Message>(
        whom: &ActorRef<M>,
        as_message: impl Fn(T) -> M + Send + Sync + 'static,
    ) -> Self {
        let whom = whom.clone();
        Self(Arc::new(move |news| {
            let _gone = whom.cast(as_message(news)); // whoever listened may be gone; news are not obligations
        }))
    }

    pub(crate) fn tell(&self, news: T) {
        (self.0)(news);
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
