//! Finishing a recovery: what is in the ledger by now does not have to be found again.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use engine::fault::Faults;
use engine::ports::{Recovered, Workspace};
use protocol::RunName;

use crate::backends::FrozenTree;
use crate::baseline::Claim;
use crate::error::{OrCannot, Result};
use crate::landing;
use crate::places::RepoPlaces;
use crate::run_folder::remove_if_unused;
use crate::store::remove_leftovers;

/// A dead run whose folder is claimed.
pub(super) struct ClaimedRun {
    pub(super) name: RunName,
    pub(super) folder: PathBuf,
    pub(super) claim: Claim,
    /// The workspaces in it that are captured, each with what discards it.
    pub(super) discard: Vec<(Arc<dyn FrozenTree>, Workspace)>,
}

/// What is to be done once the findings of a recovery are recorded.
pub(crate) struct Cleanup {
    runs: Vec<ClaimedRun>,
    /// The runs whose landings were reported.
    landed: Vec<RunName>,
    /// Whether an engine died here.
    somebody_died: bool,
    places: RepoPlaces,
    faults: Faults,
    /// Keeps other recoveries out. Released last.
    _alone: File,
}

impl Cleanup {
    pub(super) fn of(
        recovered: &Recovered,
        runs: Vec<ClaimedRun>,
        alone: File,
        places: &RepoPlaces,
        faults: &Faults,
    ) -> Self {
        Self {
            runs,
            landed: recovered.landings.iter().map(|landing| landing.run.clone()).collect(),
            somebody_died: !recovered.dead.is_empty() || !recovered.landings.is_empty(),
            places: places.clone(),
            faults: faults.clone(),
            _alone: alone,
        }
    }

    /// Removes what is captured and what is empty. What fails keeps nothing else from it, and is
    /// found again by the next start.
    pub(crate) fn finish(self, unrecorded: &BTreeSet<RunName>) -> Result<()> {
        let (places, faults) = (&self.places, &self.faults);
        faults.strike("recover.finish").or_cannot(|| "finish a recovery")?;
        let mut end = Ok(());
        for run in self.landed.iter().filter(|run| !unrecorded.contains(*run)) {
            end = end.and(landing::acknowledge(places, faults, run));
        }
        for ClaimedRun { name: run, folder, claim, discard } in self.runs {
            let known = !unrecorded.contains(&run);
            for (frozen, workspace) in discard.iter().filter(|_| known) {
                end = end.and(frozen.discard(workspace));
            }
            let removed = faults.strike("recover.remove").or_cannot(|| "remove a run's folder");
            end = end.and(removed.and_then(|()| remove_if_unused(&folder, places, &run)));
            // Given up last: nobody else may look at a folder that is half removed.
            drop(claim);
        }
        if self.somebody_died {
            remove_leftovers(&places.store);
        }
        end
    }
}
