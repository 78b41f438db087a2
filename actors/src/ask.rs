//! Asking another actor, such that the answer is one of our own messages — also when there is none.

use std::sync::Arc;

use ractor::concurrency::oneshot;
use ractor::{ActorRef, Message, RpcReplyPort};

use crate::jobs::Jobs;

/// Asks `whom` and delivers the answer to `myself` as `then` says. When the answerer dies without
/// an answer, `then` is told `None`, so that nobody waits for the dead. The wait is owned by
/// `jobs` and ends with the asker.
///
/// It has no deadline: the answerer has one of its own, or the work takes as long as there is of
/// it (copying a tree, capturing it, writing it back), and the closing of the house watches over
/// both.
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

/// Tells news to whoever a child reports to, without the child knowing who that is.
pub(crate) struct Teller<T>(Arc<dyn Fn(T) + Send + Sync>);

impl<T> Clone for Teller<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: 'static> Teller<T> {
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
