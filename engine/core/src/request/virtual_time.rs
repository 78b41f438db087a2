//! A virtual clock for tests. It advances only when the future under test is not ready to continue.

use std::collections::BTreeMap;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::ports::Timer;

/// A timer with virtual time, which also runs the futures that use it. Clones share their time.
#[derive(Clone, Default)]
pub(crate) struct VirtualTime(Arc<Mutex<Sleepers>>);

#[derive(Default)]
struct Sleepers {
    now: Duration,
    count: u64,
    /// The wakers of the sleeping futures, by the time at which they are woken.
    asleep: BTreeMap<(Duration, u64), Waker>,
}

impl VirtualTime {
    /// Runs a future to its end.
    pub(crate) fn run<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        let woken = Arc::new(Flag(AtomicBool::new(true)));
        let waker = Waker::from(Arc::clone(&woken));
        loop {
            while woken.0.swap(false, Ordering::Relaxed) {
                if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker))
                {
                    return output;
                }
            }
            let next = {
                let mut sleepers = self.0.lock().unwrap();
                let ((until, _), next) = sleepers.asleep.pop_first().expect("a task is asleep");
                sleepers.now = until;
                next
            };
            next.wake();
        }
    }
}

impl Timer for VirtualTime {
    fn now(&self) -> Duration {
        self.0.lock().unwrap().now
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut sleepers = self.0.lock().unwrap();
        sleepers.count += 1;
        let key = (sleepers.now + duration, sleepers.count);
        Sleep { time: self.clone(), key }.boxed()
    }
}

struct Sleep {
    time: VirtualTime,
    key: (Duration, u64),
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut sleepers = self.time.0.lock().unwrap();
        if sleepers.now >= self.key.0 {
            return Poll::Ready(());
        }
        sleepers.asleep.insert(self.key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.time.0.lock().unwrap().asleep.remove(&self.key);
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}
