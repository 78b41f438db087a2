//! Everything that ends a landing: finishing it, taking it back, and doing either after a kill.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

use engine::fault::Faults;
use engine::ports::{CancelToken, LandingNews};
use protocol::{Conflict, ConflictReason, Landed, LandingReport, RepoPath};
use rustix::fs::fsync;

use crate::entry::Entry;
use crate::error::{OrCannot, Result};
use crate::landing::journal::{Journal, Journals, State};
use crate::landing::moves::Moved;
use crate::landing::roll::{Roll, Rolled, Seen};
use crate::landing::step::Step;
use crate::landing::writers::LONGEST_WAIT;
use crate::store::{Durability, TaskStore};
use crate::tree::{Parent, Tree};

/// What landings in one repository work on.
pub(super) struct Close<'a> {
    pub(super) tree: &'a Tree,
    pub(super) store: &'a TaskStore,
    pub(super) journals: &'a Journals<'a>,
    pub(super) faults: &'a Faults,
    pub(super) cancel: &'a CancelToken,
    /// Is called with what whoever started the landing must know.
    pub(super) news: &'a dyn Fn(LandingNews),
    /// What is left of the time for waiting until programs have finished writing.
    pub(super) left_to_wait: Cell<Duration>,
    unwatched: Cell<Unwatched>,
}

/// Whether it was said that programs which write cannot be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unwatched {
    NotSaid,
    Said,
}

impl<'a> Close<'a> {
    /// Returns what landings work on, for one landing or one recovery.
    pub(super) fn new(
        tree: &'a Tree,
        store: &'a TaskStore,
        journals: &'a Journals<'a>,
        faults: &'a Faults,
        cancel: &'a CancelToken,
        news: &'a dyn Fn(LandingNews),
    ) -> Self {
        let (left_to_wait, unwatched) = (Cell::new(LONGEST_WAIT), Cell::new(Unwatched::NotSaid));
        Self { tree, store, journals, faults, cancel, news, left_to_wait, unwatched }
    }
}

impl Close<'_> {
    /// Says once that programs which write to files cannot be seen, and why.
    pub(super) fn tell_unwatched(&self, path: &RepoPath, why: &str) {
        if self.unwatched.replace(Unwatched::Said) == Unwatched::NotSaid {
            (self.news)(LandingNews::Unwatched { path: path.clone(), why: why.to_owned() });
        }
    }

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
        let again = Roll::again(self, &journal.run);
        let removed = again.drop_versions(&journal.steps)?;
        self.drop_emptied(journal)?;
        self.faults.strike("landing.done").or_cannot(|| "close a landing")?;
        self.journals.advance(&journal.id, State::Landed, State::Unreported)?;
        again.rescue_late_writes(removed.into_iter())
    }

    /// Takes a landing back: every path that nobody has edited since is as it was before.
    pub(super) fn take_back(&self, journal: &Journal) -> Result<()> {
        let again = Roll::again(self, &journal.run);
        let mut taken = Vec::new();
        for step in journal.steps.iter().rev() {
            let reversed = step.reversed();
            // A path that somebody has edited is as they want it.
            if again.put_back(step)? == Rolled::There && again.take(&reversed)? == Rolled::There {
                taken.push(reversed);
            }
        }
        // The same holds for one whose new version somebody has opened for writing.
        for step in again.give_back_edited(taken.iter())? {
            if let Seen::Entry(entry, bytes) = again.see(&step.temp)? {
                again.rescue(step, entry, &bytes)?;
            }
        }
        let removed = again.drop_versions(&journal.steps)?;
        for folder in journal.folders.iter().rev() {
            let _stays = again.moves.remove_folder(folder);
        }
        self.sync_folders(journal.steps.iter().map(|step| &step.path))?;
        self.store.release(&journal.reference())?;
        self.journals.forget(&journal.id)?;
        again.rescue_late_writes(removed.into_iter())
    }

    /// Drops a landing that has not changed anything yet.
    pub(super) fn drop_intent(&self, journal: &Journal) -> Result<()> {
        let again = Roll::again(self, &journal.run);
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
        let run = journal.run.clone();
        let again = Roll::again(self, &run);
        let (mut taken, mut contested) = (Vec::new(), Vec::new());
        for step in &journal.steps {
            match again.take(step)? {
                Rolled::There => taken.push(step),
                Rolled::Contested => contested.push(step.clone()),
            }
        }
        let edited = again.give_back_edited(taken.into_iter())?;
        contested.extend(edited.into_iter().cloned());
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

    /// Removes the folders that the removals have left empty, as git does.
    fn drop_emptied(&self, journal: &Journal) -> Result<()> {
        let again = Roll::again(self, &journal.run);
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
