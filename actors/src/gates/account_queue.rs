//! The queue of one account, alone or shared with other engines.

use std::sync::Arc;
use std::time::Duration;

use engine::ports::{AccountId, GateStore, GateStoreError, SharedAccount, Timer as _};
use engine::request::{GateEffect, GateInput, GatePolicy, GateQueue};

use crate::tokio_timer::RuntimeTimer;

/// How old what other engines share may be in a step for which it hardly matters. Within that time a
/// request may still be sent that another engine knows to be too early, as one that is on its way.
const FRESH: Duration = Duration::from_millis(20);

/// After which time other engines see such a step.
const SHOWN_AFTER: Duration = Duration::from_millis(50);

/// The queue of one account. Its times are those of a clock that all engines have in common.
pub(super) struct AccountQueue {
    account: AccountId,
    queue: GateQueue,
    clock: QueueClock,
    /// Where it is shared, if it is.
    store: Option<Arc<dyn GateStore>>,
    /// Its membership, from the first step on.
    shared: Option<Box<dyn SharedAccount>>,
    /// When a step was last shared.
    shared_at: Option<Duration>,
    /// Whether others will be shown the steps that were not.
    will_be_shown: bool,
    /// Why it is not shared any more, until that is taken.
    lost: Option<GateStoreError>,
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
            shared_at: None,
            will_be_shown: false,
            lost: None,
        }
    }

    /// Takes why the queue is not shared any more, if that has happened.
    pub(super) fn take_lost(&mut self) -> Option<GateStoreError> {
        self.lost.take()
    }

    pub(super) fn clock(&self) -> QueueClock {
        self.clock
    }

    /// Returns what runs a step with these inputs, which may block; `None` if it does not.
    pub(super) fn store_for(&self, inputs: &[GateInput]) -> Option<Arc<dyn GateStore>> {
        self.store.clone().filter(|_| !self.is_left_alone(inputs))
    }

    /// Returns whether a step with these inputs need not be shared.
    fn is_left_alone(&self, inputs: &[GateInput]) -> bool {
        let now = self.clock.now();
        let is_fresh = self.shared_at.is_some_and(|at| now < at.saturating_add(FRESH));
        is_fresh && self.queue.is_unlimited_for(inputs, now)
    }

    /// Processes inputs without other engines and returns the effects. They are shown it later, if
    /// there are any. Does not block.
    pub(super) fn step_alone(&mut self, inputs: Vec<GateInput>) -> Vec<GateEffect> {
        let now = self.clock.now();
        let mut effects: Vec<_> =
            inputs.into_iter().flat_map(|input| self.queue.step(input, now)).collect();
        if self.store.is_some() && !std::mem::replace(&mut self.will_be_shown, true) {
            effects.push(GateEffect::WakeAt(now.saturating_add(SHOWN_AFTER)));
        }
        effects
    }

    /// Returns whether a step with these inputs would change nothing.
    pub(super) fn ignores(&self, inputs: &[GateInput]) -> bool {
        let ignored = |input: &GateInput| matches!(input, GateInput::Accepted(_, None));
        self.queue.ignores_acceptance() && inputs.iter().all(ignored)
    }

    /// Processes inputs with other engines and returns the effects. May block for a moment.
    pub(super) fn step(&mut self, inputs: Vec<GateInput>) -> Vec<GateEffect> {
        let mut left = Some(inputs);
        let mut effects = Vec::new();
        if let Err(error) = self.step_shared(&mut left, &mut effects) {
            let account = &self.account;
            tracing::warn!(%account, %error, "its limits now hold for this process only");
            (self.store, self.shared) = (None, None);
            self.queue.forget_others(self.clock.now());
            self.lost = Some(error);
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
        (self.shared_at, self.will_be_shown) = (Some(clock.now()), false);
        shared.update(&mut |bytes, is_there| {
            let inputs = inputs.take().unwrap_or_default();
            let now = clock.now();
            let (all, after) = queue.step_shared(inputs, &name, (bytes, is_there), now);
            effects.extend(all);
            after
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use async_trait::async_trait;
    use engine::ports::{Change, Requester};
    use engine::request::{GateEnd, GateReport, RequestPolicy, Ticket};

    use super::*;

    /// The bytes that are shared, and how often they were.
    #[derive(Clone, Default)]
    struct Bytes(Arc<Mutex<(Vec<u8>, usize)>>);

    #[async_trait]
    impl GateStore for Bytes {
        async fn run(&self, step: Box<dyn FnOnce() + Send>) {
            step();
        }

        fn join(&self, _account: &AccountId) -> Result<Box<dyn SharedAccount>, GateStoreError> {
            Ok(Box::new(self.clone()))
        }
    }

    impl SharedAccount for Bytes {
        fn member(&self) -> &'static str {
            "me"
        }

        fn now(&self) -> Duration {
            Duration::from_secs(7)
        }

        fn update(&mut self, change: &mut Change<'_>) -> Result<(), GateStoreError> {
            let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            shared.0 = change(&shared.0, &|_member| true);
            shared.1 += 1;
            Ok(())
        }
    }

    impl Bytes {
        fn updates(&self) -> usize {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).1
        }

        fn under_way(&self) -> usize {
            let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).0.clone();
            let now = Duration::from_secs(7);
            GateReport::read(&bytes, &|_member| true, now).map_or(0, |report| report.under_way)
        }
    }

    fn arrived(ticket: u64) -> Vec<GateInput> {
        let requester = Requester::Person;
        vec![GateInput::Arrived { ticket: Ticket(ticket), requester, retries: 0, tokens: 9 }]
    }

    fn ended(ticket: u64, end: GateEnd) -> Vec<GateInput> {
        vec![GateInput::Ended(Ticket(ticket), end)]
    }

    /// Does a step as a gate does, and returns the effects.
    fn step(queue: &mut AccountQueue, inputs: Vec<GateInput>) -> Vec<GateEffect> {
        match queue.store_for(&inputs) {
            Some(_store) => queue.step(inputs),
            None => queue.step_alone(inputs),
        }
    }

    #[test(start_paused = true)]
    async fn what_nothing_limits_is_shared_now_and_then_and_a_limit_at_once() {
        let store = Bytes::default();
        let account = AccountId { identity: Some("a".into()), ..AccountId::of_provider("acme") };
        let policy = GatePolicy::from(&RequestPolicy::default());
        let policy = GatePolicy { account: Some(account.clone()), ..policy };
        let mut queue = AccountQueue::new(account, policy, Some(Arc::new(store.clone())));
        let first = step(&mut queue, arrived(1));
        assert_eq!((first, store.updates()), (vec![GateEffect::Admit(Ticket(1))], 1));
        for ticket in 2..100 {
            let effects = step(&mut queue, arrived(ticket));
            assert_eq!(effects[0], GateEffect::Admit(Ticket(ticket)));
            let shown = matches!(effects[1..], [GateEffect::WakeAt(_)]);
            assert_eq!(shown, ticket == 2, "{effects:?}");
        }
        assert_eq!((store.updates(), store.under_way()), (1, 1));
        tokio::time::advance(SHOWN_AFTER).await;
        let woken = vec![GateInput::Woken(queue.clock().now())];
        assert_eq!((step(&mut queue, woken), store.updates()), (vec![], 2));
        assert_eq!(store.under_way(), 99);
        step(&mut queue, ended(1, GateEnd::Answered { tokens: 9 }));
        assert_eq!((store.updates(), store.under_way()), (2, 99));
        let rejected = GateEnd::Rejected { wait: None, reason: "slow".into() };
        step(&mut queue, ended(2, rejected));
        assert_eq!((store.updates(), store.under_way()), (3, 97));
        step(&mut queue, ended(3, GateEnd::Answered { tokens: 9 }));
        assert_eq!((store.updates(), store.under_way()), (4, 96), "it has a limit now");
    }
}
