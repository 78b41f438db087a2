//! The restart policy for crashed actors and workers.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How many restarts are allowed in a window of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartBudget {
    /// The maximum number of restarts in the window.
    pub restarts: usize,
    /// The length of the window.
    pub window: Duration,
}

impl RestartBudget {
    /// The budget of an actor or worker that must not be restarted.
    pub const NONE: Self = Self { restarts: 0, window: Duration::ZERO };
}

/// The recent crashes of one child, which is an actor or a worker.
#[derive(Debug, Default)]
pub struct CrashLog(VecDeque<Instant>);

/// The decision after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Restart the child.
    Restart,
    /// Do not restart the child; report the failure.
    GiveUp,
}

impl CrashLog {
    /// Records a crash at `now` and decides whether to restart the child.
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
