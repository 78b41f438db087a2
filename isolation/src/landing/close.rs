//! Everything that ends a landing: finishing it, taking it back, and doing either after a kill.

use std::collections::BTreeSet;

use engine::fault::Faults;
use engine::ports::Withdrawal;
use protocol::{Conflict, ConflictReason, Landed, LandingReport, RepoPath};
use rustix::fs::fsync;

use crate::entry::Entry;
use crate::error::{OrCannot, Result};
use crate::landing::journal::{Journal, Journals, State};
use crate::landing::moves::Moved;
use crate::landing::roll::{Roll, Rolled, Seen};
use crate::landing::step::Step;
use crate::store::{Durability, TaskStore};
use crate::tree::{Parent, Tree};

/// What landings in one repository work on.
pub(super) struct Close<'a> {
    pub(super) tree: &'a Tree,
    pub(super) store: &'a TaskStore,
    pub(super) journals: &'a Journals<'a>,
    pub(super) faults: &'a Faults,
    pub(super) withdrawal: &'a Withdrawal,
}

impl Close<'_> {
    /// Ends a landing whose steps are all taken: what waited beside the targets goes, and folders
    /// that have become empty.
    ///
    /// What fails here changes nothing about the tree. It stays open, and the next start ends it.
    pub(super) fn finish(&self, journal: &Journal, from: State) {
        if let Err(error) = self.try_finish(journal, from) {
            tracing::warn!(id = journal.id, %error, "a landing is complete but could not be closed");
        }
    }

    /// The journal stays until the ledger has its report.
    fn try_finish(&self, journal: &Journal, from: State) -> Result<()> {
        if from != State::Landed {
            self.sync_folders(journal.steps.iter().map(|step| &step.path))?;
            self.journals.advance(&journal.id, from, State::Landed)?;
        }
        self.drop_temps(journal)?;
        self.drop_emptied(journal)?;
        self.faults.strike("landing.done").or_cannot(|| "close a landing")?;
        self.journals.advance(&journal.id, State::Landed, State::Unreported)
    }

    /// Takes a landing back: every path that nobody has edited since is as it was before.
    pub(super) fn take_back(&self, journal: &Journal) -> Result<()> {
        let again = Roll::again(self.tree, self.store, self.faults);
        for step in journal.steps.iter().rev() {
            // A path that somebody has edited is as they want it.
            let _theirs = again.take(&step.reversed())?;
        }
        self.drop_temps(journal)?;
        for folder in journal.folders.iter().rev() {
            let _stays = again.moves.remove_folder(folder);
        }
        self.sync_folders(journal.steps.iter().map(|step| &step.path))?;
        self.store.release(&journal.reference())?;
        self.journals.forget(&journal.id)
    }

    /// Drops a landing that has not changed anything yet.
    pub(super) fn drop_intent(&self, journal: &Journal) -> Result<()> {
        let again = Roll::again(self.tree, self.store, self.faults);
        for step in &journal.steps {
            again.moves.remove(&step.temp)?;
        }
        self.store.release(&journal.reference())?;
        self.journals.forget(&journal.id)
    }

    /// Finishes a landing that was committed to when its engine died, path by path. A path that
    /// somebody has edited since stays as they want it, and is a conflict of the tasks that wanted
    /// it changed.
    pub(super) fn roll_forward(&self, mut journal: Journal) -> Result<LandingReport> {
        let again = Roll::again(self.tree, self.store, self.faults);
        let mut contested = Vec::new();
        for step in &journal.steps {
            if again.take(step)? == Rolled::Contested {
                contested.push(step.clone());
            }
        }
        for step in &contested {
            let ours = match again.see(&step.path)? {
                Seen::Entry(entry, bytes) => {
                    self.store.write(&bytes)?;
                    Some(entry)
                }
                Seen::Missing | Seen::Other => None,
            };
            conflict(&mut journal.report, step, ours);
        }
        if !contested.is_empty() {
            self.journals.write(&journal, State::Committed)?;
        }
        self.try_finish(&journal, State::Committed)?;
        Ok(journal.report)
    }

    /// Ends a landing whose tree was complete when its engine died.
    pub(super) fn end(&self, journal: Journal) -> Result<LandingReport> {
        self.try_finish(&journal, State::Landed)?;
        Ok(journal.report)
    }

    /// Keeps the bytes of both versions of every path, durably.
    pub(super) fn hold(&self, journal: &Journal) -> Result<()> {
        let versions = journal.steps.iter().enumerate().flat_map(|(number, step)| {
            let named = move |name: &str, entry: Option<Entry>| {
                entry.map(|entry| (format!("{number}-{name}").into_bytes(), entry))
            };
            [named("before", step.expected), named("after", step.new)]
        });
        let versions = versions.flatten().collect::<Vec<_>>();
        self.store.hold(&journal.reference(), &versions, Durability::Synced)
    }

    /// Makes renames in the folders of these paths durable.
    pub(super) fn sync_folders<'p>(&self, paths: impl Iterator<Item = &'p RepoPath>) -> Result<()> {
        let mut synced: BTreeSet<Option<RepoPath>> = BTreeSet::new();
        for path in paths {
            if !synced.insert(path.folders().next()) {
                continue;
            }
            // One that has gone was in another one, which is told below or by the next path.
            if let Parent::Folder { fd, .. } = self.tree.parent(path)? {
                fsync(fd).or_cannot(|| format!("sync the folder of {path}"))?;
            }
        }
        Ok(())
    }

    fn drop_temps(&self, journal: &Journal) -> Result<()> {
        let again = Roll::again(self.tree, self.store, self.faults);
        for step in &journal.steps {
            let seen = again.see(&step.temp)?;
            again.drop_temp(step, seen)?;
        }
        Ok(())
    }

    /// Removes the folders that the removals have left empty, as git does.
    fn drop_emptied(&self, journal: &Journal) -> Result<()> {
        let again = Roll::again(self.tree, self.store, self.faults);
        for step in journal.steps.iter().filter(|step| step.new.is_none()) {
            for folder in step.path.folders() {
                // One that may not be removed stays: an empty folder is nothing to git.
                if !matches!(again.moves.remove_folder(&folder), Ok(Moved::Yes)) {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Turns the landing of every task that wanted `step` into a conflict.
fn conflict(report: &mut LandingReport, step: &Step, ours: Option<Entry>) {
    let conflict = Conflict {
        path: step.path.clone(),
        reason: ConflictReason::Contested,
        base: step.expected.map(Entry::to_side),
        ours: ours.map(Entry::to_side),
        theirs: step.new.map(Entry::to_side),
        with: None,
    };
    for landing in report.tasks.iter_mut().filter(|landing| step.by.contains(&landing.task)) {
        match &mut landing.landed {
            Landed::Conflicted { conflicts } => {
                // A recovery that was killed itself may have said so already.
                conflicts.retain(|known| known.path != conflict.path);
                conflicts.push(conflict.clone());
            }
            landed @ Landed::Landed { .. } => {
                *landed = Landed::Conflicted { conflicts: vec![conflict.clone()] };
            }
            Landed::Unchanged | Landed::Unwritten { .. } | Landed::Waiting { .. } => {}
        }
    }
}
