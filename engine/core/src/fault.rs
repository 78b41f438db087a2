//! Planned faults, with which tests check how the engine handles failures.
//!
//! A plan is a comma-separated list of words, for instance
//! `kill@landing.exchange:3,crash@session,off@F272`. The fault `ACTION@POINT` occurs the first time
//! the code reaches the point, with `:N` the N-th time, and with `:*` every time. Without debug
//! assertions there are no faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The planned faults of this process. Clones share the counters.
#[derive(Clone)]
pub struct Faults {
    planned: Arc<Vec<Planned>>,
    means: FaultHooks,
}

/// The faults that the caller has to implement, because the engine itself has no access to the
/// system.
#[derive(Clone, Copy)]
pub struct FaultHooks {
    /// Kills the process with SIGKILL.
    pub kill: fn(),
    /// Blocks until a condition of the caller holds, for instance until a test removes a file.
    pub wait: fn(),
}

struct Planned {
    action: Fault,
    point: String,
    hits: Hits,
    reached: AtomicU32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hits {
    Nth(u32),
    Always,
}

/// A fault that can be planned at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
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
    /// The capability whose name is given as the point is switched off.
    Off,
}

impl Default for Faults {
    fn default() -> Self {
        Self { planned: Arc::default(), means: FaultHooks { kill: || {}, wait: || {} } }
    }
}

impl Faults {
    /// Parses a plan. Without debug assertions the result is empty.
    ///
    /// # Errors
    /// Returns the first invalid word of the plan.
    pub fn read(plan: &str, means: FaultHooks) -> Result<Self, String> {
        if !cfg!(debug_assertions) {
            return Ok(Self::default());
        }
        let words = plan.split(',').map(str::trim).filter(|word| !word.is_empty());
        let planned: Option<Vec<_>> = words.clone().map(Planned::read).collect();
        match planned {
            Some(planned) => Ok(Self { planned: Arc::new(planned), means }),
            None => {
                let bad = words.into_iter().find(|word| Planned::read(word).is_none());
                Err(bad.unwrap_or_default().to_owned())
            }
        }
    }

    /// Counts that the code has reached `point`, and causes the fault that is planned there.
    ///
    /// # Errors
    /// The planned fault makes the call fail.
    ///
    /// # Panics
    /// Panics if the planned fault is a crash.
    pub fn failpoint(&self, point: &str) -> Result<(), std::io::Error> {
        match self.at(point) {
            None | Some(Fault::Off) => Ok(()),
            Some(Fault::Kill) => {
                (self.means.kill)();
                Ok(())
            }
            Some(Fault::Slow) => {
                (self.means.wait)();
                Ok(())
            }
            Some(Fault::Crash) => panic!("a fault was planned at {point}"),
            Some(Fault::Fail) => Err(std::io::Error::other("a fault was planned here")),
            Some(Fault::Full) => Err(std::io::ErrorKind::StorageFull.into()),
        }
    }

    /// Counts that the code has reached `point`, and returns the fault that occurs there, if any.
    #[must_use]
    pub fn at(&self, point: &str) -> Option<Fault> {
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

    /// Returns whether the capability `name` is switched off.
    #[must_use]
    pub fn is_off(&self, name: &str) -> bool {
        self.planned.iter().any(|planned| planned.action == Fault::Off && planned.point == name)
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
            "kill" => Fault::Kill,
            "crash" => Fault::Crash,
            "fail" => Fault::Fail,
            "full" => Fault::Full,
            "slow" => Fault::Slow,
            "off" => Fault::Off,
            _ => return None,
        };
        Some(Self { action, point: point.to_owned(), hits, reached: AtomicU32::new(0) })
    }

    fn reach(&self, point: &str) -> Option<Fault> {
        if self.point != point || self.action == Fault::Off {
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

    const MEANS: FaultHooks = FaultHooks { kill: || {}, wait: || {} };

    #[test]
    fn a_fault_strikes_when_its_point_has_been_reached_often_enough() {
        let faults = Faults::read("kill@landing:2, off@F272, slow@x:*", MEANS).unwrap();
        assert_eq!(faults.were_hit(), !cfg!(debug_assertions));
        let hits: Vec<_> = (0..3).map(|_| faults.at("landing")).collect();
        let expected = if cfg!(debug_assertions) { Some(Fault::Kill) } else { None };
        assert_eq!(hits, [None, expected, None]);
        assert_eq!(faults.is_off("F272"), cfg!(debug_assertions));
        assert_eq!(faults.at("x"), faults.at("x"));
    }

    #[test]
    fn a_build_without_debug_assertions_has_no_faults() {
        let faults = Faults::read("kill@landing", MEANS).unwrap();
        assert_eq!(faults.at("landing").is_some(), cfg!(debug_assertions));
    }

    #[test]
    fn a_word_that_is_none_is_named_where_faults_exist() {
        let read = Faults::read("kill@a,boom@b", MEANS).err();
        assert_eq!(read, cfg!(debug_assertions).then(|| "boom@b".to_owned()));
    }
}
