//! A check that the state of a running run equals the state that its ledger entries give.

use protocol::LedgerEntry;

use super::RunRecord;
use crate::task::task_of;

/// Applies the entries of a run to a second record and compares that record with the record of the
/// running run. It finds code that changes the durable state of a run without an entry.
#[derive(Debug)]
pub struct ReplayCheck {
    replayed: RunRecord,
    apply: fn(&mut RunRecord, &LedgerEntry),
}

/// The state of a running run differs from the state that its entries give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("after {entry}, the run is {live}, and its entries say {replayed}")]
pub struct Divergence {
    /// The last entry.
    pub entry: String,
    /// The state of the running run.
    pub live: String,
    /// The state that the entries give.
    pub replayed: String,
}

impl ReplayCheck {
    /// Starts with the record of a run that was just opened or read from the ledger.
    #[must_use]
    pub fn new(record: RunRecord) -> Self {
        Self { replayed: record, apply: RunRecord::apply }
    }

    /// Applies one more entry and compares the task to which it belongs, or the whole run.
    ///
    /// # Errors
    /// The states differ.
    pub fn check(&mut self, entry: &LedgerEntry, live: &RunRecord) -> Result<(), Divergence> {
        (self.apply)(&mut self.replayed, entry);
        let diverged = |live: String, replayed: String| {
            Err(Divergence { entry: format!("{entry:?}"), live, replayed })
        };
        match task_of(entry) {
            Some(task) => match (live.task(task), self.replayed.task(task)) {
                (live, replayed) if live == replayed => Ok(()),
                (live, replayed) => diverged(format!("{live:?}"), format!("{replayed:?}")),
            },
            None if *live == self.replayed => Ok(()),
            None => diverged(format!("{live:?}"), format!("{:?}", self.replayed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_support::{run, started};

    #[test]
    fn a_divergence_is_found() {
        let record = run(&["one", "two"]);
        let entry = started(&record, 0);
        let mut live = record.clone();
        live.apply(&entry);
        let mut right = ReplayCheck::new(record.clone());
        assert_eq!(right.check(&entry, &live), Ok(()));

        let mut forgetful = ReplayCheck { apply: |_, _| {}, ..ReplayCheck::new(record) };
        let found = forgetful.check(&entry, &live).unwrap_err();
        assert!(found.live.contains("Running") && found.replayed.contains("Queued"), "{found}");
    }

    #[test]
    fn a_live_run_that_changes_without_an_entry_is_found_out() {
        let record = run(&["one", "two"]);
        let (mut live, mut check) = (record.clone(), ReplayCheck::new(record.clone()));
        live.landing = crate::run::LandingRecord::Begun;
        let end = LedgerEntry::RunInterrupted { run: record.spec.id };
        live.apply(&end);
        assert!(check.check(&end, &live).is_err());
    }
}
