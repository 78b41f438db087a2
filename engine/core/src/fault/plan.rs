//! The parser of plans, and what happens at a point.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{FaultHooks, Faults};

pub(super) struct Planned {
    action: Action,
    point: String,
    hits: Hits,
    reached: AtomicU32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hits {
    Nth(u32),
    Always,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// The process is killed with SIGKILL.
    Kill,
    /// The code at the point panics.
    Crash,
    /// The call at the point fails with an I/O error.
    Fail,
    /// The call at the point fails because the disk is full.
    Full,
    /// The code at the point blocks until `FaultHooks::wait` returns.
    Slow,
}

impl Faults {
    /// Parses a plan.
    ///
    /// # Errors
    /// Returns the first invalid word of the plan.
    pub fn read(plan: &str, hooks: FaultHooks) -> Result<Self, String> {
        let words = plan.split(',').map(str::trim).filter(|word| !word.is_empty());
        let planned = words.map(|word| Planned::read(word).ok_or_else(|| word.to_owned()));
        Ok(Self { planned: planned.collect::<Result<_, _>>()?, hooks })
    }

    /// Counts that the code has reached `point`, and causes the fault that is planned there. The
    /// macro [`failpoint`](crate::failpoint) calls this.
    ///
    /// # Errors
    /// The planned fault makes the call fail.
    ///
    /// # Panics
    /// Panics if the planned fault is a crash.
    pub fn failpoint(&self, point: &str) -> io::Result<()> {
        match self.reach(point) {
            None => Ok(()),
            Some(Action::Kill) => {
                (self.hooks.kill)();
                Ok(())
            }
            Some(Action::Slow) => {
                (self.hooks.wait)();
                Ok(())
            }
            Some(Action::Crash) => panic!("a fault was planned at {point}"),
            Some(Action::Fail) => Err(io::Error::other("a fault was planned here")),
            Some(Action::Full) => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    fn reach(&self, point: &str) -> Option<Action> {
        self.planned.iter().find_map(|planned| planned.reach(point))
    }

    /// Returns whether all planned faults have occurred.
    #[must_use]
    pub fn were_hit(&self) -> bool {
        self.planned.iter().all(|planned| {
            let count = match planned.hits {
                Hits::Nth(count) => count,
                Hits::Always => 1,
            };
            planned.reached.load(Ordering::Relaxed) >= count
        })
    }
}

impl Planned {
    fn read(word: &str) -> Option<Self> {
        let (action, place) = word.split_once('@')?;
        let (point, hits) = match place.rsplit_once(':') {
            Some((point, "*")) => (point, Hits::Always),
            Some((point, count)) => (point, Hits::Nth(count.parse().ok()?)),
            None => (place, Hits::Nth(1)),
        };
        let action = match action {
            "kill" => Action::Kill,
            "crash" => Action::Crash,
            "fail" => Action::Fail,
            "full" => Action::Full,
            "slow" => Action::Slow,
            _ => return None,
        };
        Some(Self { action, point: point.to_owned(), hits, reached: AtomicU32::new(0) })
    }

    fn reach(&self, point: &str) -> Option<Action> {
        if self.point != point {
            return None;
        }
        let reached = self.reached.fetch_add(1, Ordering::Relaxed) + 1;
        let hits = match self.hits {
            Hits::Nth(count) => reached == count,
            Hits::Always => true,
        };
        hits.then_some(self.action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failpoint;

    #[test]
    fn a_fault_occurs_when_its_point_has_been_reached_often_enough() {
        let faults = Faults::read("fail@landing:2, full@x:*", FaultHooks::default()).unwrap();
        assert!(!faults.were_hit());
        let failures: Vec<_> = (0..3).map(|_| failpoint!(faults, "landing").is_err()).collect();
        assert_eq!(failures, [false, true, false]);
        for _ in 0..2 {
            let full = failpoint!(faults, "x").unwrap_err();
            assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        }
        assert!(faults.were_hit());
    }

    #[test]
    fn the_first_word_that_is_not_a_fault_is_named() {
        for (plan, word) in [("kill@a,boom@b,c", "boom@b"), ("off@F272", "off@F272")] {
            assert_eq!(Faults::read(plan, FaultHooks::default()).err().as_deref(), Some(word));
        }
    }
}
