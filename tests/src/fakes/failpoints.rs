//! Failpoints of the fakes: steps that panic or block because a test asked for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// The failpoints of one fake. Its clones are one.
#[derive(Clone)]
pub struct Failpoints {
    planned: Arc<Mutex<BTreeMap<&'static str, Action>>>,
    /// How many steps have blocked so far, and how many blocked steps may go on.
    blocked: watch::Sender<usize>,
    released: watch::Sender<bool>,
}

#[derive(Clone, Copy)]
enum Action {
    Panic,
    PanicOnce,
    Block,
}

/// Whether a step is to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    Freely,
    Blocked,
}

impl Default for Failpoints {
    fn default() -> Self {
        let (blocked, released) = (watch::Sender::new(0), watch::Sender::new(false));
        Self { planned: Arc::default(), blocked, released }
    }
}

impl Failpoints {
    /// Lets every step named `step` panic.
    pub fn panic_at(&self, step: &'static str) {
        self.plan(step, Action::Panic);
    }

    /// Lets the next step named `step` panic.
    pub fn panic_once_at(&self, step: &'static str) {
        self.plan(step, Action::PanicOnce);
    }

    /// Lets every step named `step` wait until [`Failpoints::release`].
    pub fn block_at(&self, step: &'static str) {
        self.plan(step, Action::Block);
    }

    /// Lets every blocked step go on.
    pub fn release(&self) {
        self.released.send_replace(true);
    }

    /// Waits until a step has blocked.
    ///
    /// # Panics
    /// Never: the sender is ours.
    pub async fn until_blocked(&self) {
        let mut blocked = self.blocked.subscribe();
        blocked.wait_for(|count| *count > 0).await.expect("the sender is ours");
    }

    /// Does what is planned at `step`.
    ///
    /// # Panics
    /// Where that is planned.
    pub(super) async fn reach(&self, step: &'static str) {
        if self.pass(step) == Passed::Blocked {
            self.blocked.send_modify(|count| *count += 1);
            let mut released = self.released.subscribe();
            released.wait_for(|released| *released).await.expect("the sender is ours");
        }
    }

    /// Does what is planned at `step`, which cannot wait.
    ///
    /// # Panics
    /// Where that is planned.
    pub(super) fn pass(&self, step: &'static str) -> Passed {
        let planned = {
            let mut all = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
            let planned = all.get(step).copied();
            if let Some(Action::PanicOnce) = planned {
                all.remove(step);
            }
            planned
        };
        match planned {
            None => Passed::Freely,
            Some(Action::Panic | Action::PanicOnce) => panic!("a test asked for it at {step}"),
            Some(Action::Block) => Passed::Blocked,
        }
    }

    fn plan(&self, step: &'static str, action: Action) {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner).insert(step, action);
    }
}
