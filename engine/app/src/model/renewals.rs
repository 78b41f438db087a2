//! The renewals of logins that are under way, and their owner.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// How long the end of the program waits for renewals.
const LONGEST: Duration = Duration::from_secs(10);

/// The renewals under way. One goes on if the request that waits for it is cancelled, and the end of the
/// program waits for it: the server may have taken the old token back.
#[derive(Clone, Debug, Default)]
pub(super) struct Renewals(Arc<Mutex<JoinSet<()>>>);

impl Renewals {
    /// Starts a renewal. Without a result, it has panicked or the program has ended.
    pub(super) fn start<T: Send + 'static>(
        &self,
        renewal: impl Future<Output = T> + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (sender, receiver) = oneshot::channel();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while all.try_join_next().is_some() {}
        all.spawn(async move {
            let _cancelled = sender.send(renewal.await); // no caller may wait for it any more
        });
        receiver
    }

    /// Waits until no renewal is under way.
    pub(super) async fn finish(&self) {
        let mut all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let finished = async { while all.join_next().await.is_some() {} };
        if tokio::time::timeout(LONGEST, finished).await.is_err() {
            tracing::warn!("the renewal of a login takes too long and is given up");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    async fn a_renewal_that_nobody_waits_for_any_more_is_done_before_the_program_ends() {
        let renewals = Renewals::default();
        let (is_done, gate) =
            (Arc::new(AtomicBool::new(false)), Arc::new(tokio::sync::Notify::new()));
        let (done, opened) = (Arc::clone(&is_done), Arc::clone(&gate));
        drop(renewals.start(async move {
            opened.notified().await;
            done.store(true, Ordering::SeqCst);
        }));
        assert_eq!(renewals.start(async { 7 }).await, Ok(7));
        gate.notify_one();
        renewals.finish().await;
        assert!(is_done.load(Ordering::SeqCst));
    }
}
