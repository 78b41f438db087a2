//! The queue of one account, alone or shared with other engines.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::{AccountId, GateStore, GateStoreError, SharedAccount, Timer as _};
use engine::request::{GateEffect, GateInput, GatePolicy, GateQueue};

use crate::tokio_timer::RuntimeTimer;

/// The queue of one account. Its times are those of a clock that all engines have in common.
pub(super) struct AccountQueue {
    account: AccountId,
    queue: GateQueue,
    clock: QueueClock,
    /// Where it is shared, if it is.
    store: Option<Arc<dyn GateStore>>,
    /// Its membership, from the first step on.
    shared: Option<Box<dyn SharedAccount>>,
}

/// The clock of a queue.
#[derive(Clone, Copy)]
pub(super) struct QueueClock {
    timer: RuntimeTimer,
    /// What the clock showed when the timer was started.
    origin: Duration,
}

impl QueueClock {
    pub(super) fn now(self) -> Duration {
        self.timer.now().saturating_add(self.origin)
    }

    /// Waits until this time, and never less.
    pub(super) async fn sleep_until(self, time: Duration) {
        loop {
            let left = time.saturating_sub(self.now());
            if left.is_zero() {
                return;
            }
            self.timer.sleep(left).await;
        }
    }
}

impl AccountQueue {
    pub(super) fn new(
        account: AccountId,
        policy: GatePolicy,
        store: Option<Arc<dyn GateStore>>,
    ) -> Self {
        // What only this process has is not shared.
        let store = store.filter(|_| account.identity.is_some());
        Self {
            account,
            queue: GateQueue::new(policy),
            clock: QueueClock { timer: RuntimeTimer::start(), origin: Duration::ZERO },
            store,
            shared: None,
        }
    }

    pub(super) fn clock(&self) -> QueueClock {
        self.clock
    }

    /// Returns what runs steps that may block; `None` if they do not.
    pub(super) fn store(&self) -> Option<Arc<dyn GateStore>> {
        self.store.clone()
    }

    /// Returns whether a step with these inputs would change nothing.
    pub(super) fn ignores(&self, inputs: &[GateInput]) -> bool {
        let ignored = |input: &GateInput| matches!(input, GateInput::Accepted(_, None));
        self.queue.ignores_acceptance() && inputs.iter().all(ignored)
    }

    /// Processes inputs and returns the effects. May block for a moment.
    pub(super) fn step(&mut self, inputs: Vec<GateInput>) -> Vec<GateEffect> {
        let mut left = Some(inputs);
        let mut effects = Vec::new();
        if let Err(error) = self.step_shared(&mut left, &mut effects) {
            let account = &self.account;
            tracing::warn!(%account, %error, "its limits now hold for this process only");
            (self.store, self.shared) = (None, None);
            self.queue.forget_others(self.clock.now());
        }
        for input in left.into_iter().flatten() {
            effects.extend(self.queue.step(input, self.clock.now()));
        }
        effects
    }

    /// Processes inputs together with other engines, and takes those that it has processed.
    fn step_shared(
        &mut self,
        inputs: &mut Option<Vec<GateInput>>,
        effects: &mut Vec<GateEffect>,
    ) -> Result<(), GateStoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        let shared = match &mut self.shared {
            Some(shared) => shared,
            none => {
                let member = store.join(&self.account)?;
                self.clock.origin = member.now().saturating_sub(self.clock.timer.now());
                none.insert(member)
            }
        };
        let name = shared.member().to_owned();
        let (queue, clock) = (&mut self.queue, self.clock);
        shared.update(&mut |bytes, is_there| {
            let inputs = inputs.take().unwrap_or_default();
            let now = clock.now();
            let (all, after) = queue.step_shared(inputs, &name, (bytes, is_there), now);
            effects.extend(all);
            after
        })
    }
}
