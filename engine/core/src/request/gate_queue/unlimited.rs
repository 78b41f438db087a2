//! Steps for which it does not matter at once what engines share: nothing limits the account.

use std::time::Duration;

use super::{GateEnd, GateInput, GateQueue};

impl GateQueue {
    /// Returns whether a step with these inputs would admit what comes, depend on nothing that engines
    /// share, and change nothing that they must know at once: as far as is known, nothing limits the
    /// account, and nobody waits.
    #[must_use]
    pub fn is_unlimited_for(&self, inputs: &[GateInput], now: Duration) -> bool {
        let shared = &self.shared;
        let is_limited = shared.window.limit().is_some()
            || shared.rates.are_limited()
            || !shared.breaker.is_quiet()
            || !shared.backoff.is_zero()
            || self.paused_until(now).is_some();
        !is_limited && self.waiting.is_empty() && inputs.iter().all(is_harmless)
    }
}

/// Returns whether an input tells nothing new about an account that nothing limits.
fn is_harmless(input: &GateInput) -> bool {
    match input {
        GateInput::Arrived { .. }
        | GateInput::Paused { .. }
        | GateInput::NotSent(_)
        | GateInput::Withdrawn(_)
        | GateInput::Accepted(_, None)
        | GateInput::Ended(_, GateEnd::Answered { .. } | GateEnd::Unrelated) => true,
        GateInput::Accepted(_, Some(_))
        | GateInput::Ended(
            _,
            GateEnd::Rejected { .. } | GateEnd::Overloaded { .. } | GateEnd::Failed { .. },
        )
        | GateInput::Woken(_) => false,
    }
}
