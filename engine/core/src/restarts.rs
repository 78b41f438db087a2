//! When a dead child is worth another try.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How many crashes within which window a supervisor forgives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartBudget {
    /// Restarts allowed within `window`.
    pub restarts: usize,
    /// How long a crash is held against the child.
    pub window: Duration,
}

impl RestartBudget {
    /// The budget of a child that must never run twice.
    pub const NONE: Self = Self { restarts: 0, window: Duration::ZERO };
}

/// The crashes of one child.
#[derive(Debug, Default)]
pub struct CrashLog(VecDeque<Instant>);

/// What to do about a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Start the child again.
    Restart,
    /// Report the failure upwards.
    GiveUp,
}

impl CrashLog {
    /// Records a crash at `now` and decides what to do about it.
    pub fn record(&mut self, budget: RestartBudget, now: Instant) -> Decision {
        self.0.retain(|crash| now.duration_since(*crash) < budget.window);
        self.0.push_back(now);
        if self.0.len() > budget.restarts { Decision::GiveUp } else { Decision::Restart }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test needs some instant to count from")]
    fn start() -> Instant {
        Instant::now()
    }

    #[test]
    fn a_child_without_a_budget_is_never_restarted() {
        assert_eq!(CrashLog::default().record(RestartBudget::NONE, start()), Decision::GiveUp);
    }

    #[test]
    fn a_crash_is_forgotten_when_its_window_has_passed() {
        let (mut crashes, start) = (CrashLog::default(), start());
        let budget = RestartBudget { restarts: 1, window: Duration::from_secs(10) };
        assert_eq!(crashes.record(budget, start), Decision::Restart);
        assert_eq!(crashes.record(budget, start + Duration::from_secs(5)), Decision::GiveUp);
        assert_eq!(crashes.record(budget, start + Duration::from_secs(30)), Decision::Restart);
    }
}
