//! The timer of the runtime, which tests can pause.

use std::time::Duration;

use engine::ports::Timer;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::Instant;

/// A timer that uses the runtime's time and measures it from the timer's creation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuntimeTimer(Instant);

impl RuntimeTimer {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }
}

impl Timer for RuntimeTimer {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }
}
