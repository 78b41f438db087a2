//! Stages the new versions of a landing beside their targets, before anything changes.

use std::sync::atomic::{AtomicBool, Ordering};

use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{CancelToken, IsolationError};

use crate::error::{OrCannot, Result};
use crate::file_entry::Entry;
use crate::landing::apply::Applier;
use crate::landing::attempt::AttemptError;
use crate::landing::file_mover::{FileMover, Swap};
use crate::landing::many::{are_many, for_each};
use crate::landing::plan::{FileChange, WriteMethod};
use crate::store::TaskStore;
use crate::tree::Stat;

impl Applier<'_> {
    /// Stages the new version of each change that has one, with several threads if there are many.
    /// The landing can be cancelled meanwhile.
    pub(super) fn stage_all(
        &self,
        changes: &[FileChange],
    ) -> std::result::Result<(), AttemptError> {
        if !are_many(changes.len()) {
            return changes.iter().try_for_each(|change| {
                may_stage(self.context.faults, self.context.cancel, change)?;
                match staged_by(change) {
                    Some(new) => self.stage(change, new).map_err(|it| AttemptError::at(change, it)),
                    None => Ok(()),
                }
            });
        }
        let written = self.write_many(changes)?;
        for (change, written) in changes.iter().zip(written) {
            match (staged_by(change), written?) {
                (Some(_), Some(stat)) => self.remember_staged(change, stat),
                // Something is there, which is looked at first.
                (Some(new), None) => {
                    self.stage(change, new).map_err(|error| AttemptError::at(change, error))?;
                }
                (None, _) => {}
            }
        }
        Ok(())
    }

    /// Writes the new version of each change. Returns the stats, and the error that ended the work.
    fn write_many(
        &self,
        changes: &[FileChange],
    ) -> Result<Vec<std::result::Result<Option<Stat>, AttemptError>>> {
        let context = self.context;
        let (tree, faults, cancel) = (context.tree, context.faults, context.cancel);
        let store = context.store.path();
        let own = || Ok((TaskStore::open(store)?, FileMover::within(tree, Swap::Exchange, faults)));
        let has_failed = AtomicBool::new(false);
        for_each(changes, own, |(store, mover), change| {
            if has_failed.load(Ordering::Relaxed) {
                return Ok(Ok(None));
            }
            let staged = may_stage(faults, cancel, change).map_err(AttemptError::from);
            let staged = staged.and_then(|()| {
                let Some(new) = staged_by(change) else { return Ok(None) };
                mover.begin_change();
                let written =
                    store.read(new.oid).and_then(|bytes| mover.write_fresh(change, new, &bytes));
                written.map_err(|error| AttemptError::at(change, error))
            });
            if staged.is_err() {
                has_failed.store(true, Ordering::Relaxed);
            }
            Ok(staged)
        })
    }
}

/// Returns the version of a change that is staged.
fn staged_by(change: &FileChange) -> Option<Entry> {
    change.new.filter(|_| change.method == WriteMethod::Exchange)
}

fn may_stage(faults: &Faults, cancel: &CancelToken, change: &FileChange) -> Result<()> {
    failpoint!(faults, "landing.temps").or_cannot(|| format!("write {}", change.path))?;
    if cancel.is_cancelled() { Err(IsolationError::Withdrawn) } else { Ok(()) }
}
