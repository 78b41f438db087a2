//! Who gets a copy, and who makes one: a few at a time, and no more than are needed.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::copies::{Pool, State};
use super::pooled_copy::PooledCopy;
use crate::workspace::{COPY_THREADS, cores};

/// What a new workspace is made of.
pub(crate) enum Source<'a> {
    /// A copy that no task uses any more.
    Pooled(Box<PooledCopy>),
    /// A new copy, which may be made until this is dropped.
    New(Turn<'a>),
}

/// The turn of one thread to make a copy.
pub(crate) struct Turn<'a> {
    pool: &'a Pool,
    began: Instant,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        state.making -= 1;
        state.patience = self.began.elapsed();
        self.pool.changed.notify_all();
    }
}

/// Returns how many copies are made at the same time: each takes as many threads as copy best. More
/// would let all tasks wait for the last copy.
fn turns() -> usize {
    cores().div_ceil(COPY_THREADS)
}

impl Pool {
    /// Returns a copy that no task uses, or the turn to make one. Waits for one or the other: so that
    /// no more copies are made than are needed, also for a copy that is being captured.
    pub(crate) fn take(&self) -> Source<'_> {
        let mut state = self.state();
        let mut left = None;
        loop {
            if let Some(pooled) = state.idle.pop() {
                return Source::Pooled(Box::new(pooled));
            }
            let patience = left.unwrap_or(state.patience).min(state.patience);
            if state.ending.len() > state.waiting && !patience.is_zero() {
                let began = Instant::now();
                state.waiting += 1;
                let waited = self.changed.wait_timeout(state, patience);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                state.waiting -= 1;
                let waited = began.elapsed();
                left = Some(patience.saturating_sub(waited));
                if self.leaves_a_core {
                    state.patience = state.patience.saturating_sub(waited);
                }
            } else if state.making < turns() {
                return Source::New(self.turn(&mut state));
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Returns the turn to make a copy of which no task waits, after waiting for it. Returns `None` if
    /// `copies` were begun in this run, or if it is time to `stop`.
    pub(super) fn turn_ahead(&self, copies: usize, stop: &AtomicBool) -> Option<Turn<'_>> {
        let mut state = self.state();
        loop {
            if state.made >= copies || stop.load(Ordering::Relaxed) {
                return None;
            }
            if state.making < turns() {
                return Some(self.turn(&mut state));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns the turn to make a copy that is not used again, after waiting for it.
    pub(crate) fn turn_apart(&self) -> Turn<'_> {
        let mut state = self.state();
        while state.making >= turns() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.making += 1;
        Turn { pool: self, began: Instant::now() }
    }

    fn turn(&self, state: &mut State) -> Turn<'_> {
        state.making += 1;
        state.made += 1;
        Turn { pool: self, began: Instant::now() }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use protocol::TaskName;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn expecting(patience: Duration) -> (Pool, TaskName) {
        let (pool, task) = (Pool::default(), TaskName::nearest("one"));
        {
            let mut state = pool.state();
            state.patience = patience;
            let _new = state.ending.insert(task.clone());
        }
        (pool, task)
    }

    fn makes_one(pool: &Pool) -> bool {
        matches!(pool.take(), Source::New(_))
    }

    #[test]
    fn who_has_waited_for_a_copy_as_long_as_making_one_takes_makes_one() {
        for leaves_a_core in [true, false] {
            let (mut pool, _) = expecting(Duration::from_millis(1));
            pool.leaves_a_core = leaves_a_core;
            let made = pool.take();
            assert!(matches!(made, Source::New(_)));
            // Where a capture takes all cores, the next one waits as long.
            assert_eq!(pool.state().patience.is_zero(), leaves_a_core);
            drop(made);
            assert!(!pool.state().patience.is_zero(), "it is how long that copy took");
        }
    }

    #[test]
    fn an_expected_copy_is_waited_for_until_it_is_certain_that_it_does_not_come() {
        let (pool, task) = expecting(LONG);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| makes_one(&pool));
            pool.forget(&task);
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn one_waits_for_each_copy_that_is_expected_and_the_others_make_their_own() {
        let (pool, task) = expecting(LONG);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| makes_one(&pool));
            while pool.state().waiting == 0 {
                thread::yield_now();
            }
            assert!(makes_one(&pool));
            pool.forget(&task);
            assert!(waiting.join().unwrap());
        });
        assert_eq!(pool.state().made, 2);
    }

    #[test]
    fn copies_are_made_ahead_until_there_are_as_many_as_are_asked_for_or_nobody_needs_them() {
        let (pool, go_on) = (Pool::default(), AtomicBool::new(false));
        assert!(makes_one(&pool), "a task has made one");
        assert!(pool.turn_ahead(2, &go_on).is_some());
        assert!(pool.turn_ahead(2, &go_on).is_none());
        assert!(pool.turn_ahead(3, &AtomicBool::new(true)).is_none());
        assert!(pool.turn_ahead(3, &go_on).is_some());
    }
}
