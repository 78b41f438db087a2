//! A limit of requests per time, by a clock of the server's own.

use std::time::{Duration, Instant};

use super::Answer;

/// How many requests are answered in each window of time.
pub(super) struct Quota {
    most: usize,
    window: Duration,
    /// How long after a refusal requests may come that were on their way.
    grace: Duration,
    began: Instant,
    taken: usize,
    /// From when to when no request may come, because one was refused.
    closed: Option<(Instant, Instant)>,
    /// How many were refused.
    refused: usize,
    violations: Vec<String>,
}

impl Quota {
    pub(super) fn new(most: usize, window: Duration, grace: Duration) -> Self {
        Self {
            most,
            window,
            grace,
            began: Instant::now(),
            taken: 0,
            closed: None,
            refused: 0,
            violations: Vec::new(),
        }
    }

    pub(super) fn refused(&self) -> usize {
        self.refused
    }

    /// Returns who came too early, and forgets it.
    pub(super) fn take_violations(&mut self) -> Vec<String> {
        std::mem::take(&mut self.violations)
    }

    /// Takes one request, whose first bytes came at this time. Returns its refusal if there were too
    /// many. Who was refused knows it from now on, not before.
    pub(super) fn take(&mut self, came: Instant) -> Option<Answer> {
        let now = Instant::now();
        if let Some((from, until)) = self.closed
            && (from..until).contains(&came)
        {
            let (late, early) = (came - from, until - came);
            let what = format!("a request came {early:?} before it might, {late:?} too late");
            self.violations.push(what);
        }
        if now.duration_since(self.began) >= self.window {
            (self.began, self.taken) = (now, 0);
        }
        self.taken += 1;
        if self.taken <= self.most {
            return None;
        }
        let wait = self.window.saturating_sub(now.duration_since(self.began));
        let millis = wait.as_millis() + 1;
        self.refused += 1;
        // Who came at about the same time was on its way, and gets the same answer.
        if self.closed.is_none_or(|(_, until)| until <= now) {
            self.closed = Some((now + self.grace, now + wait));
        }
        let refusal = Answer::error(429, "rate_limit_error", "Too many requests");
        Some(refusal.with_header("retry-after-ms", millis.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_too_often_is_told_when_to_come_again_and_noticed_before() {
        let mut quota = Quota::new(1, Duration::from_secs(3600), Duration::ZERO);
        assert!(quota.take(Instant::now()).is_none());
        let on_its_way = Instant::now();
        let Some(Answer::Status { code, headers, .. }) = quota.take(Instant::now()) else {
            panic!("it is refused")
        };
        assert_eq!((code, headers[0].0), (429, "retry-after-ms"));
        assert!(quota.take(on_its_way).is_some());
        assert_eq!(quota.take_violations(), Vec::<String>::new());
        assert!(quota.take(Instant::now()).is_some());
        assert_eq!(quota.take_violations().len(), 1);
    }
}
