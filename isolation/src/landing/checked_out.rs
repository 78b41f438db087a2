//! Moves a branch that is checked out: its files and its index come along, or nothing changes. Files
//! are written as in the working tree, then the branch moves, and then the index.

use std::collections::BTreeMap;

use engine::ports::{Completion, IsolationError, LandingNotice, LandingRequest, Notice};
use git2::Repository;
use protocol::{Conflict, ConflictReason, LandingReport, RepoPath, TaskName};

use crate::baseline::{RunFiles, conversion};
use crate::branch::{InTheWay, StackTarget, Stacked, committed_bytes, make_stack, working_bytes};
use crate::error::{OrCannot, Result, error_text};
use crate::file_entry::{Entry, Mode};
use crate::landing::apply::{Applied, Applier};
use crate::landing::attempt::{apply_all, prepare};
use crate::landing::finish::LandingContext;
use crate::landing::index_lock::IndexLock;
use crate::landing::journal::State;
use crate::landing::journal_content::Journal;
use crate::landing::on_branch::{BranchMove, failpoint, has_moved, move_branch};
use crate::landing::plan::Plan;
use crate::merge::MergedPath;
use crate::nested::{NO_LINKS, Part};
use crate::repository::{RefUpdated, Repo};
use crate::store::TaskStore;
use crate::tree::{Tree, TreeEntry};

/// The commits of a branch that is checked out, and the files that come along.
pub(super) struct CheckedOut {
    pub(super) stacked: Stacked,
    /// The files as they are and will be in the working tree.
    files: BTreeMap<RepoPath, MergedPath>,
}

/// The places that a checkout concerns.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub(super) repo: &'a Repo,
    /// The repository with the new objects in memory.
    pub(super) git: &'a Repository,
    pub(super) store: &'a TaskStore,
    pub(super) tree: &'a Tree,
}

impl CheckedOut {
    /// Returns commits that are made already, and the files that come along.
    pub(super) fn of(stacked: Stacked, files: BTreeMap<RepoPath, MergedPath>) -> Self {
        Self { stacked, files }
    }

    /// Makes the commits. A task that changes a file with a change that is not committed conflicts.
    pub(super) fn make(
        places: Places<'_>,
        target: &StackTarget,
        (request, began): (&LandingRequest, &RunFiles<'_>),
    ) -> Result<Self> {
        let Places { repo, git, store, .. } = places;
        let part = Part::Root(&NO_LINKS);
        let mut in_the_way: BTreeMap<TaskName, InTheWay> = BTreeMap::new();
        loop {
            let stacked =
                make_stack(repo, git, (store, part, Some(began)), target, request, &in_the_way)?;
            let mut files = BTreeMap::new();
            let mut is_met = false;
            for (path, merged) in &stacked.changed {
                match places.file(path, merged)? {
                    Ok(file) => drop(files.insert(path.clone(), file)),
                    Err(conflict) => {
                        is_met = true;
                        for task in &merged.by {
                            in_the_way.entry(task.clone()).or_default().add(&conflict);
                        }
                    }
                }
            }
            if !is_met {
                return Ok(Self { stacked, files });
            }
        }
    }

    /// Writes the files, moves the branch and writes the index. `None` if somebody else was faster;
    /// nothing has changed then.
    pub(super) fn land(
        self,
        context: &LandingContext<'_>,
        places: Places<'_>,
        journal: impl FnOnce(Plan, LandingReport) -> Journal,
        id: &str,
        is_still_there: impl FnOnce() -> Result<bool>,
    ) -> Result<Option<LandingReport>> {
        let repo = places.repo;
        let Self { stacked, files } = self;
        let plan = Plan::of(context.tree, id, &files, None)?;
        let journal = journal(plan, stacked.report.clone());
        let applier = Applier::first_pass(context, &journal.run);
        if !applier.targets_being_written(&journal.changes)?.is_empty() {
            return Ok(None);
        }
        context.journals.write(&journal, State::Intent)?;
        let give_up = || {
            IndexLock::release(repo, id)?;
            context.drop_intent(&journal)
        };
        let lock = match IndexLock::acquire(repo, id) {
            Ok(lock) => lock,
            Err(error) => {
                give_up()?;
                return Err(error);
            }
        };
        // From here on git neither commits nor switches branches.
        let is_the_same = is_still_there()
            .and_then(|there| Ok(there && places.are_the_same(&stacked.changed, &files)?));
        match is_the_same {
            Ok(true) => {}
            Ok(false) => return give_up().map(|()| None),
            Err(error) => {
                give_up()?;
                return Err(error);
            }
        }
        if let Err(failure) = prepare(context, &journal) {
            give_up()?;
            return Err(failure.into_error());
        }
        let applied = match apply_all(&applier, &journal.changes) {
            Ok(None) => {
                applier.give_back_edited(journal.changes.iter()).map(|edited| edited.is_empty())
            }
            Ok(Some(_contested)) => Ok(false),
            Err(failure) => Err(failure.into_error()),
        };
        let branch = journal.branch.as_ref().ok_or("it names no branch");
        let branch = branch.or_cannot(|| "read the journal of a landing")?;
        let moved = match applied {
            Ok(true) => move_branch(&repo.git()?, branch, journal.run.as_str()),
            Ok(false) => Ok(RefUpdated::Contested),
            Err(error) => Err(error),
        };
        match moved {
            Ok(RefUpdated::Yes) => {}
            moved => {
                context.journals.advance(id, State::Committed, State::Undoing)?;
                IndexLock::release(repo, id)?;
                context.roll_back(&journal)?;
                return moved.map(|_contested| None);
            }
        }
        let written = failpoint(context.faults)
            .and_then(|()| lock.replace(context.tree, &journal.index, context.faults));
        match written {
            Ok(()) => context.finish(&journal, State::Committed),
            // Nothing takes it back: the branch may be seen by others already.
            Err(error) => (context.notify)(LandingNotice::Degraded(Notice {
                from: format!("the work has landed on {}", branch.reference),
                to: "the index is locked and as before; the next command of regatta completes it"
                    .to_owned(),
                why: error_text(&error),
            })),
        }
        Ok(Some(journal.report))
    }

    /// Returns the new entries of the index.
    pub(super) fn index(&self) -> Vec<(RepoPath, Option<Entry>)> {
        let changed = self.stacked.changed.iter();
        changed.map(|(path, merged)| (path.clone(), merged.after)).collect()
    }
}

/// Finishes a landing whose engine died while the files of a branch were written. Returns `None` if
/// the branch had not moved: everything is as before then.
pub(super) fn finish_checked_out(
    context: &LandingContext<'_>,
    repo: &Repo,
    journal: Journal,
    branch: &BranchMove,
) -> Result<Option<(LandingReport, Completion)>> {
    if !has_moved(&repo.git()?, &journal, branch)? {
        IndexLock::release(repo, &journal.id)?;
        context.journals.advance(&journal.id, State::Committed, State::Undoing)?;
        context.roll_back(&journal)?;
        return Ok(None);
    }
    let lock = IndexLock::acquire(repo, &journal.id)?;
    let applier = Applier::later_pass(context, &journal.run);
    let mut taken = Vec::new();
    for change in &journal.changes {
        // What the user has edited since stays, as a change that is not committed.
        if applier.apply(change)? == Applied::Done {
            taken.push(change);
        }
    }
    let _edited = applier.give_back_edited(taken.into_iter())?;
    lock.replace(context.tree, &journal.index, context.faults)?;
    let report = journal.report.clone();
    context.end_move(journal)?;
    Ok(Some((report, Completion::Now)))
}

impl Places<'_> {
    /// Returns whether the files and the index are still as they were.
    fn are_the_same(
        &self,
        changed: &BTreeMap<RepoPath, MergedPath>,
        files: &BTreeMap<RepoPath, MergedPath>,
    ) -> Result<bool> {
        for (path, merged) in changed {
            if self.file(path, merged)?.ok().as_ref() != files.get(path) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns a changed file as it is and will be in the working tree, or the conflict with what is
    /// there.
    pub(super) fn file(
        &self,
        path: &RepoPath,
        merged: &MergedPath,
    ) -> Result<std::result::Result<MergedPath, Conflict>> {
        let what = || format!("compare {path} with the index");
        let conflict = |reason, ours: Option<Entry>| Conflict {
            path: path.clone(),
            reason,
            base: merged.before.map(Entry::to_side),
            ours: ours.map(Entry::to_side),
            theirs: merged.after.map(Entry::to_side),
            with: None,
            renamed: None,
        };
        let entry = |mode, bytes: &[u8]| {
            let raw = Entry { mode, oid: self.store.write(bytes)? };
            let clean = committed_bytes(self.git, path, mode, bytes)?;
            Ok::<_, IsolationError>((Some(raw), Some(Entry { mode, oid: clean })))
        };
        let (raw, clean) = match self.tree.read_entry(path)? {
            TreeEntry::Missing | TreeEntry::Blocked(_) => (None, None),
            TreeEntry::File { mode, bytes, .. } => entry(mode, &bytes)?,
            TreeEntry::Link { target, .. } => entry(Mode::Link, &target)?,
            // A folder may become empty by what is removed.
            TreeEntry::Folder if merged.before.is_none() => (None, None),
            TreeEntry::Folder | TreeEntry::Special => {
                return Ok(Err(conflict(ConflictReason::InTheWay, None)));
            }
        };
        let staged = self.staged(path).or_cannot(what)?;
        for blob in [merged.before, merged.after].into_iter().flatten() {
            let bytes = self.git.find_blob(blob.oid).map(|blob| blob.content().to_vec());
            self.store.write(&bytes.or_cannot(what)?)?;
        }
        if clean != merged.before || staged != Ok(merged.before) {
            return Ok(Err(conflict(ConflictReason::Uncommitted, raw)));
        }
        let Some(after) = merged.after else {
            return Ok(Ok(MergedPath { before: raw, after: None, by: merged.by.clone() }));
        };
        let conversion = conversion(self.git, path).or_cannot(what)?;
        if let Some(reason) = conversion.obstacle() {
            return Ok(Err(conflict(reason, raw)));
        }
        let bytes = working_bytes(self.git, path, after, &conversion)?;
        if committed_bytes(self.git, path, after.mode, &bytes)? != after.oid {
            return Ok(Err(conflict(conversion.failure(), raw)));
        }
        let after = Entry { oid: self.store.write(&bytes)?, ..after };
        Ok(Ok(MergedPath { before: raw, after: Some(after), by: merged.by.clone() }))
    }

    /// Returns the entry of the index; `Err` if it is a conflict or no file.
    fn staged(
        &self,
        path: &RepoPath,
    ) -> std::result::Result<std::result::Result<Option<Entry>, ()>, git2::Error> {
        let mut index = self.git.index()?;
        index.read(false)?;
        if (1..=3).any(|stage| index.get_path(path.as_path(), stage).is_some()) {
            return Ok(Err(()));
        }
        let Some(entry) = index.get_path(path.as_path(), 0) else { return Ok(Ok(None)) };
        let mode = Mode::from_git(entry.mode);
        Ok(mode.map(|mode| Some(Entry { mode, oid: entry.id })).ok_or(()))
    }
}
