//! A run that has begun: its frozen tree and its claim on its folder, whatever backend it uses.

use std::sync::{Mutex, PoisonError};

use engine::ports::{CancelToken, FreezeRequest, IsolationError, LandingNews};

use crate::backends::RunContext;
use crate::baseline::{Claim, NewClaim};
use crate::branch;
use crate::error::{OrCannot, Result};
use crate::landing::{self, Turn};
use crate::run_folder::{RunFolder, remove_if_unused};

/// A run's frozen tree, and the claim on the run's folder of workspaces.
pub(crate) struct FrozenRun<T> {
    pub(crate) context: RunContext,
    /// What the backend made of the user's tree.
    pub(crate) tree: T,
    claim: Mutex<Option<Claim>>,
}

/// How a freeze waits for landings in the same repository.
#[derive(Clone, Copy)]
pub(crate) struct Landings<'a> {
    /// Ends the wait, and with it the freeze.
    pub(crate) cancel: &'a CancelToken,
    /// Told that it waits.
    pub(crate) news: &'a dyn Fn(LandingNews),
}

impl<T> FrozenRun<T> {
    /// Freezes the working tree as `freeze` does when no landing is changing it. The claim on the
    /// run's folder is taken before. Leaves nothing behind when it fails.
    pub(crate) fn freeze(
        context: RunContext,
        request: &FreezeRequest,
        claim: NewClaim,
        landings: Landings<'_>,
        freeze: impl FnOnce(&RunContext) -> Result<T>,
    ) -> Result<Self> {
        let RunContext { repo, places, faults, .. } = &context;
        if let Some(prefix) = &request.branches {
            branch::must_be_possible(repo, faults, prefix, &request.run)?;
        }
        // No landing changes the tree while it is looked at: half of one is nothing to begin with.
        let Landings { cancel, news } = landings;
        let turn = Turn::wait(&repo.common_dir, faults, cancel, news)?;
        let Some(_turn) = turn else { return Err(IsolationError::Withdrawn) };
        // The one that was waited for may have been killed in the middle.
        if let Err(error) = landing::finish_cut_short(repo, places, faults, cancel, news) {
            // A recovery has told it, and who lands is told again.
            tracing::warn!(%error, "the tree is looked at although a landing is not over");
        }
        faults.strike("freeze.scan").or_cannot(|| "look at the working tree")?;
        match freeze(&context) {
            Ok(tree) => Ok(Self { context, tree, claim: Mutex::new(claim.begin()) }),
            // Then dropping the claim removes the folder.
            Err(error) if RunFolder::is_bare(&context.folder) => Err(error),
            Err(error) => {
                let failed = FrozenRun { context, tree: (), claim: Mutex::new(claim.begin()) };
                if let Err(error) = failed.close() {
                    tracing::warn!(%error, "what is left of a baseline that failed stays");
                }
                Err(error)
            }
        }
    }

    /// Ends the run's use of its folder: removes it if no workspace is left, and gives up the
    /// claim. By now the ledger knows of the run's landing.
    pub(crate) fn close(&self) -> Result<()> {
        let mut claim = self.claim.lock().unwrap_or_else(PoisonError::into_inner);
        if claim.is_none() {
            return Ok(());
        }
        let RunContext { places, faults, run, folder, .. } = &self.context;
        let removed = landing::acknowledge(places, faults, run)
            .and_then(|()| remove_if_unused(folder, places, run));
        // Given up last: nobody else may look at a folder that is half removed.
        *claim = None;
        removed
    }
}
