//! Finishes a landing, or rolls it back, also after a crash.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{CancelToken, LandingNotice};
use protocol::{Conflict, ConflictReason, Landed, LandingReport, RepoPath};
use rustix::fs::{fstat, fsync, syncfs};

use crate::error::{OrCannot, Result};
use crate::file_entry::Entry;
use crate::landing::apply::{Applied, Applier, PathState};
use crate::landing::file_mover::Moved;
use crate::landing::journal::{Journals, State};
use crate::landing::journal_content::Journal;
use crate::landing::open_writers::LONGEST_WAIT;
use crate::landing::plan::FileChange;
use crate::landing::rescue::GivenBack;
use crate::store::{Durability, TaskStore};
use crate::tree::{Parent, Stat, Tree};

/// The context of a landing or a recovery: the tree, the store, the journals, and the time left for
/// waiting.
pub(super) struct LandingContext<'a> {
    pub(super) tree: &'a Tree,
    pub(super) store: &'a TaskStore,
    pub(super) journals: &'a Journals<'a>,
    pub(super) faults: &'a Faults,
    pub(super) cancel: &'a CancelToken,
    /// The callback for notifications to the caller that started the landing.
    pub(super) notify: &'a dyn Fn(LandingNotice),
    /// The remaining time for waiting until programs have finished writing.
    pub(super) left_to_wait: Cell<Duration>,
    /// The saves that were put back to their paths.
    pub(super) given_back: RefCell<Vec<GivenBack>>,
    /// The stats of the files that this landing has staged.
    pub(super) staged: RefCell<BTreeMap<RepoPath, Stat>>,
    open_files_unknown: Cell<Reported>,
    no_exchange: Cell<Reported>,
}

/// The number of folders above which syncing their whole file system is faster.
const MANY_FOLDERS: usize = 16;

/// Whether the landing has reported that something is not possible here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reported {
    No,
    Yes,
}

impl<'a> LandingContext<'a> {
    /// Returns the context of one landing or one recovery.
    pub(super) fn new(
        tree: &'a Tree,
        store: &'a TaskStore,
        journals: &'a Journals<'a>,
        faults: &'a Faults,
        cancel: &'a CancelToken,
        notify: &'a dyn Fn(LandingNotice),
    ) -> Self {
        Self {
            tree,
            store,
            journals,
            faults,
            cancel,
            notify,
            left_to_wait: Cell::new(LONGEST_WAIT),
            given_back: RefCell::default(),
            staged: RefCell::default(),
            open_files_unknown: Cell::new(Reported::No),
            no_exchange: Cell::new(Reported::No),
        }
    }
}

impl LandingContext<'_> {
    /// Reports once that programs which have files open for writing cannot be detected, and why.
    pub(super) fn notify_unwatched(&self, path: &RepoPath, why: &str) {
        if self.open_files_unknown.replace(Reported::Yes) == Reported::No {
            (self.notify)(LandingNotice::OpenFilesUnknown {
                path: path.clone(),
                why: why.to_owned(),
            });
        }
    }

    /// Reports once that files cannot be exchanged.
    pub(super) fn notify_no_exchange(&self, path: &RepoPath) {
        if self.no_exchange.replace(Reported::Yes) == Reported::No {
            (self.notify)(LandingNotice::NoExchange { path: path.clone() });
        }
    }

    /// Finishes a landing whose changes are all applied: removes the replaced versions and empty
    /// folders.
    ///
    /// An error here does not affect the tree. The landing stays open, and the next recovery
    /// finishes it.
    pub(super) fn finish(&self, journal: &Journal, from: State) {
        if let Err(error) = self.try_finish(journal, from) {
            tracing::warn!(id = journal.id, %error, "a landing is complete but could not be closed");
        }
    }

    /// Finishes a landing. The journal stays until the ledger has recorded the report.
    fn try_finish(&self, journal: &Journal, from: State) -> Result<()> {
        if from != State::Landed {
            // A new folder is itself a new name in the folder above.
            let changed = journal.changes.iter().map(|change| &change.path);
            self.sync_folders(changed.chain(&journal.folders))?;
            self.journals.advance(&journal.id, from, State::Landed)?;
        }
        let applier = Applier::later_pass(self, &journal.run);
        let removed = applier.drop_versions(&journal.changes)?;
        self.drop_emptied(journal)?;
        failpoint!(self.faults, "landing.done").or_cannot(|| "close a landing")?;
        self.journals.advance(&journal.id, State::Landed, State::Unreported)?;
        applier.rescue_late_writes(removed.into_iter())?;
        applier.rescue_overwritten()
    }

    /// Rolls a landing back: every path that was not edited since gets its old version.
    pub(super) fn roll_back(&self, journal: &Journal) -> Result<()> {
        let applier = Applier::later_pass(self, &journal.run);
        let mut taken = Vec::new();
        for change in journal.changes.iter().rev() {
            let reversed = change.reversed();
            // A path that was edited stays as it is.
            if applier.put_back(change)? == Applied::Done
                && applier.apply(&reversed)? == Applied::Done
            {
                taken.push(reversed);
            }
        }
        // If the new version was edited meanwhile, or a program has it open for writing, it was put
        // back to its path. The old version is then kept in the task store.
        for change in applier.give_back_edited(taken.iter())? {
            if let PathState::Entry(entry, bytes) = applier.state_of(&change.temp)? {
                applier.rescue(change, entry, &bytes)?;
            }
        }
        let removed = applier.drop_versions(&journal.changes)?;
        for folder in journal.folders.iter().rev() {
            let _stays = applier.mover.remove_folder(folder);
        }
        self.sync_folders(journal.changes.iter().map(|change| &change.path))?;
        self.store.release(&journal.reference())?;
        self.journals.forget(&journal.id)?;
        applier.rescue_late_writes(removed.into_iter())?;
        applier.rescue_overwritten()
    }

    /// Removes the journal and the staged files of a landing that has not changed the tree yet.
    pub(super) fn drop_intent(&self, journal: &Journal) -> Result<()> {
        let applier = Applier::later_pass(self, &journal.run);
        for change in &journal.changes {
            applier.mover.remove(&change.temp)?;
        }
        self.store.release(&journal.reference())?;
        self.journals.forget(&journal.id)
    }

    /// Finishes a landing whose engine died after it committed the journal, path by path. A path
    /// that somebody has edited since stays as it is, and becomes a conflict of the tasks that
    /// changed it.
    pub(super) fn roll_forward(&self, mut journal: Journal) -> Result<LandingReport> {
        let run = journal.run.clone();
        let applier = Applier::later_pass(self, &run);
        let (mut taken, mut contested) = (Vec::new(), Vec::new());
        for change in &journal.changes {
            match applier.apply(change)? {
                Applied::Done => taken.push(change),
                Applied::Contested => contested.push(change.clone()),
            }
        }
        let edited = applier.give_back_edited(taken.into_iter())?;
        contested.extend(edited.into_iter().cloned());
        for change in &contested {
            let ours = match applier.state_of(&change.path)? {
                PathState::Entry(entry, bytes) => {
                    self.store.write(&bytes)?;
                    Some(entry)
                }
                PathState::Missing | PathState::Other => None,
            };
            conflict(&mut journal.report, change, ours);
            if let Some(undo) = &mut journal.undo {
                undo.leave(&change.path);
            }
        }
        if !contested.is_empty() {
            self.journals.write(&journal, State::Committed)?;
        }
        self.try_finish(&journal, State::Committed)?;
        Ok(journal.report)
    }

    /// Finishes a landing whose changes were all applied when its engine died.
    pub(super) fn end(&self, journal: Journal) -> Result<LandingReport> {
        self.try_finish(&journal, State::Landed)?;
        Ok(journal.report)
    }

    /// Finishes a landing whose branch has moved, or will not.
    pub(super) fn end_move(&self, journal: Journal) -> Result<()> {
        self.try_finish(&journal, State::Committed)
    }

    /// Keeps the old and the new version of every changed path in the task store, durably.
    pub(super) fn hold(&self, journal: &Journal) -> Result<()> {
        let versions = journal.changes.iter().enumerate().flat_map(|(number, change)| {
            let named = move |name: &str, entry: Option<Entry>| {
                entry.map(|entry| (format!("{number}-{name}").into_bytes(), entry))
            };
            [named("before", change.expected), named("after", change.new)]
        });
        let between = journal.task_changes.iter().enumerate().filter_map(|(number, own)| {
            let entry = own.change.task?;
            Some((format!("task-{number}-after").into_bytes(), entry))
        });
        let versions = versions.flatten().chain(between).collect::<Vec<_>>();
        self.store.hold(&journal.reference(), &versions, Durability::Synced)
    }

    /// Syncs the folders of these paths, so that renames in them are durable.
    pub(super) fn sync_folders<'p>(&self, paths: impl Iterator<Item = &'p RepoPath>) -> Result<()> {
        let folders: BTreeMap<Option<RepoPath>, &RepoPath> =
            paths.map(|path| (path.folders().next(), path)).collect();
        let mut devices = BTreeSet::new();
        for path in folders.values() {
            let what = || format!("sync the folder of {path}");
            // A folder that does not exist has nothing to sync.
            let Parent::Folder { fd, .. } = self.tree.parent(path)? else { continue };
            if folders.len() <= MANY_FOLDERS {
                fsync(fd).or_cannot(what)?;
            } else if devices.insert(fstat(&fd).or_cannot(what)?.st_dev) {
                syncfs(fd).or_cannot(what)?;
            }
        }
        Ok(())
    }

    /// Removes the folders that became empty through removals, as git does.
    fn drop_emptied(&self, journal: &Journal) -> Result<()> {
        let applier = Applier::later_pass(self, &journal.run);
        for change in journal.changes.iter().filter(|change| change.new.is_none()) {
            for folder in change.path.folders() {
                if journal.undo.as_ref().is_some_and(|undo| !undo.made(&folder)) {
                    break;
                }
                // A folder that cannot be removed stays: git ignores empty folders.
                if !matches!(applier.mover.remove_folder(&folder), Ok(Moved::Yes)) {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Reports the change as a conflict of every task that made it.
fn conflict(report: &mut LandingReport, change: &FileChange, ours: Option<Entry>) {
    let conflict = Conflict {
        path: change.path.clone(),
        reason: ConflictReason::Contested,
        base: change.expected.map(Entry::to_side),
        ours: ours.map(Entry::to_side),
        theirs: change.new.map(Entry::to_side),
        with: None,
        renamed: None,
    };
    for landing in report.tasks.iter_mut().filter(|landing| change.by.contains(&landing.task)) {
        landing.settled.landed.retain(|path| *path != change.path);
        landing.settled.conflicts.retain(|settled| settled.path != change.path);
        match &mut landing.landed {
            Landed::Conflicted { conflicts } => {
                // An interrupted recovery may have reported this conflict already.
                conflicts.retain(|known| known.path != conflict.path);
                conflicts.push(conflict.clone());
            }
            landed @ Landed::Landed { .. } => {
                *landed = Landed::Conflicted { conflicts: vec![conflict.clone()] };
            }
            Landed::TakenBack { left } => {
                left.retain(|known| known.path != conflict.path);
                left.push(conflict.clone());
            }
            Landed::Unchanged
            | Landed::Unwritten { .. }
            | Landed::Waiting { .. }
            | Landed::Unverified(_) => {}
        }
    }
}
