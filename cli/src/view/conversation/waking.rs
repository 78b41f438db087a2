//! What happens by itself: a second of the work passes, a key has stayed alone, or the program is stopped and
//! goes on.

use std::io;
use std::time::Duration;

use rustix::process::Signal as SignalNumber;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Shown;

/// How long a suspended process waits for the signal that continues it, once it runs again.
const CONTINUED: Duration = Duration::from_millis(200);

impl Shown<'_> {
    /// Returns the time until something happens by itself; `None` if nothing will.
    pub(super) fn until_wake(&self) -> Option<Duration> {
        let now = self.began.elapsed();
        let settles = self.view.settles_at().map(|at| at.saturating_sub(now));
        let has_clock = self.view.has_clock() && !self.surface.is_plain();
        let second = has_clock.then(|| self.until_next_second(now));
        settles.into_iter().chain(second).min()
    }

    /// Applies a key that has stayed alone, if there is one.
    pub(super) async fn wake(&mut self) -> io::Result<()> {
        // What was typed after the key may not have been read yet.
        if let Some(typed) = self.surface.next_at_once().await {
            return self.inputs(typed?).await;
        }
        let effects = self.view.settle(self.began.elapsed());
        self.perform(effects).await
    }

    /// Stops the program until the user continues it.
    pub(super) async fn suspend(&mut self) -> io::Result<()> {
        let mut continued = signal(SignalKind::from_raw(SignalNumber::CONT.as_raw()))?;
        self.surface.suspend()?;
        // The process may run on for a moment before it stops. A shell without jobs stops nothing.
        let _either = tokio::time::timeout(CONTINUED, continued.recv()).await;
        self.surface.resume()
    }

    /// Returns the time until the next second of the work.
    fn until_next_second(&self, now: Duration) -> Duration {
        let command = self.view.command.as_ref().map(|command| command.since);
        let since = self.view.work.map(|work| work.since).or(command).unwrap_or_default();
        let nanos = now.saturating_sub(since).subsec_nanos();
        Duration::from_secs(1).saturating_sub(Duration::from_nanos(nanos.into()))
    }
}

/// Waits for a signal; for ever without one.
pub(super) async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
