//! What the fakes of one engine were asked for, in one order.

use std::sync::{Arc, Mutex, PoisonError};

use protocol::{LedgerEntry, TaskName};

/// Something that a fake did.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// An entry was written.
    Wrote(Box<LedgerEntry>),
    /// A workspace was made for this task.
    Prepared(TaskName),
    /// The set-up of this task's workspace has ended.
    SetUp(TaskName),
    /// The command of this task began.
    Ran(TaskName),
    /// The workspace of this task was removed.
    Discarded(TaskName),
    /// Work landed.
    Landed,
    /// The claim of a run was given up.
    Closed,
}

/// Notes steps. Its clones are one.
#[derive(Clone, Debug, Default)]
pub struct Trace(Arc<Mutex<Vec<Step>>>);

impl Trace {
    /// Returns every step so far.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn note(&self, step: Step) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(step);
    }
}
