//! How many tests work at once: as many as there are processors. Those that wait do not count. The
//! harness starts more tests than that (`RUST_TEST_THREADS` in `.cargo/config.toml`).

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

/// How many permits are taken.
static TAKEN: Mutex<usize> = Mutex::new(0);

/// Wakes a test that waits for a permit.
static RETURNED: Condvar = Condvar::new();

thread_local! {
    /// Whether the test on this thread has a permit.
    static HAS_PERMIT: Cell<bool> = const { Cell::new(false) };
}

/// A permit to work. Dropping it returns it, unless [`waits`] has returned it earlier.
#[derive(Debug)]
pub(crate) struct Permit;

impl Permit {
    /// Waits for a permit. `None` if this thread has one already.
    pub(crate) fn acquire() -> Option<Self> {
        if HAS_PERMIT.get() {
            return None;
        }
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = RETURNED.wait_while(taken, |taken| *taken >= processors());
        *taken.unwrap_or_else(PoisonError::into_inner) += 1;
        HAS_PERMIT.set(true);
        Some(Self)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        give_back();
    }
}

/// Lets another test work beside the one that runs on this thread, because it mostly waits: for a
/// clock, for a server that is silent, for a grace period.
///
/// # Panics
/// If the reason is empty.
pub fn waits(reason: &str) {
    assert!(!reason.is_empty(), "a test that waits has a reason");
    give_back();
}

fn give_back() {
    if HAS_PERMIT.replace(false) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        RETURNED.notify_one();
    }
}

fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn as_many_tests_work_as_there_are_processors_and_one_that_waits_does_not_count() {
        let (begun, seen) = mpsc::channel();
        // Each thread waits once it has begun, and ends when all have begun.
        let (end, ended) = mpsc::channel::<()>();
        let ended = &Mutex::new(ended);
        std::thread::scope(|scope| {
            for _ in 0..processors() * 2 {
                let begun = begun.clone();
                scope.spawn(move || {
                    let permit = Permit::acquire();
                    assert!(permit.is_some() && Permit::acquire().is_none());
                    waits("so that the next one can begin");
                    begun.send(()).expect("the test is there");
                    let _all_have_begun = ended.lock().expect("nothing panics here").recv();
                });
            }
            for _ in 0..processors() * 2 {
                seen.recv().expect("each of them begins");
            }
            drop(end);
        });
        assert_eq!(*TAKEN.lock().expect("nothing panics here"), 0);
    }
}
