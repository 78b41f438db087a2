//! Checks that a live run knows of itself what its ledger entries say, and nothing else.

use protocol::LedgerEntry;

use super::RunRecord;
use crate::task::task_of;

/// Folds the entries of a run a second time and compares, so that whoever changes the durable part
/// of a run without an entry is found out.
#[derive(Debug)]
pub struct ReplayCheck {
    folded: RunRecord,
    fold: fn(&mut RunRecord, &LedgerEntry),
}

/// The durable part of a live run is not the fold of its entries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("after {entry}, the run is {live}, and its entries say {folded}")]
pub struct Divergence {
    /// The last entry.
    pub entry: String,
    /// What the live run has.
    pub live: String,
    /// What its entries say.
    pub folded: String,
}

impl ReplayCheck {
    /// Begins with a run as it was opened, or as it was read.
    #[must_use]
    pub fn new(record: RunRecord) -> Self {
        Self { folded: record, fold: RunRecord::apply }
    }

    /// Folds one more entry and compares the part of the run that it concerns: one task, or all of
    /// the run.
    ///
    /// # Errors
    /// They differ.
    pub fn recorded(&mut self, entry: &LedgerEntry, live: &RunRecord) -> Result<(), Divergence> {
        (self.fold)(&mut self.folded, entry);
        let diverged = |live: String, folded: String| {
            Err(Divergence { entry: format!("{entry:?}"), live, folded })
        };
        match task_of(entry) {
            Some(task) => match (live.task(task), self.folded.task(task)) {
                (live, folded) if live == folded => Ok(()),
                (live, folded) => diverged(format!("{live:?}"), format!("{folded:?}")),
            },
            None if *live == self.folded => Ok(()),
            None => diverged(format!("{live:?}"), format!("{:?}", self.folded)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::test_support::{run, started};

    #[test]
    fn a_wrong_fold_is_found_out() {
        let record = run(&["one", "two"]);
        let entry = started(&record, 0);
        let mut live = record.clone();
        live.apply(&entry);
        let mut right = ReplayCheck::new(record.clone());
        assert_eq!(right.recorded(&entry, &live), Ok(()));

        let mut forgetful = ReplayCheck { fold: |_, _| {}, ..ReplayCheck::new(record) };
        let found = forgetful.recorded(&entry, &live).unwrap_err();
        assert!(found.live.contains("Running") && found.folded.contains("Queued"), "{found}");
    }

    #[test]
    fn a_live_run_that_changes_without_an_entry_is_found_out() {
        let record = run(&["one", "two"]);
        let (mut live, mut check) = (record.clone(), ReplayCheck::new(record.clone()));
        live.landing = crate::run::LandingRecord::Begun;
        let end = LedgerEntry::RunInterrupted { run: record.spec.id };
        live.apply(&end);
        assert!(check.recorded(&end, &live).is_err());
    }
}
