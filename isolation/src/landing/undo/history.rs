//! What the landings of a run have changed and no undo has taken back yet.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{Conflict, ConflictReason, Landed, RepoPath, RunName, Side, TaskName};

use super::record::{MadeBranch, NestedBranch, UndoRecord};
use super::refusals::unreadable_record;
use crate::error::Result;
use crate::file_entry::Entry;
use crate::landing::journal::{Journals, State, is_of};
use crate::landing::journal_content::Journal;
use crate::landing::on_branch::BranchMove;
use crate::landing::plan::FileChange;

/// The landings of one run, in their order.
pub(super) struct History {
    pub(super) landings: Vec<PastLanding>,
}

/// One landing, without what was taken back of it.
pub(super) struct PastLanding {
    pub(super) id: String,
    /// The changes of files that are in force.
    pub(super) changes: BTreeMap<RepoPath, PastChange>,
    /// The folders that it made.
    pub(super) folders: Vec<RepoPath>,
    /// The branch that it moved, if that is in force.
    pub(super) branch: Option<BranchMove>,
    /// The branches that it made and that are in force.
    pub(super) made: Vec<MadeBranch>,
    /// Those in nested repositories.
    pub(super) nested_branches: Vec<NestedBranch>,
    /// Whether it made nothing but branches in nested repositories.
    pub(super) is_nested: bool,
    /// The folders of the nested repositories whose files it changed.
    nested: BTreeSet<RepoPath>,
    /// The tasks whose work landed.
    pub(super) landed: Vec<TaskName>,
    /// The tasks that changed files, also those whose changes were taken back.
    writers: BTreeSet<TaskName>,
}

/// The change of one path by a landing.
#[derive(Clone, Debug)]
pub(super) struct PastChange {
    /// The version that the landing replaced.
    pub(super) before: Option<Entry>,
    /// The version that it wrote, or that is left of it.
    pub(super) after: Option<Entry>,
    /// The tasks that made the change and were not taken back.
    pub(super) by: Vec<TaskName>,
}

impl History {
    /// Reads the journals of the landings of `run` that are over.
    pub(super) fn read(journals: &Journals<'_>, run: &RunName) -> Result<Self> {
        let mut ids: BTreeMap<u64, (String, State)> = BTreeMap::new();
        let done = journals.done(run)?.into_iter().map(|id| (id, State::Done));
        let open = journals.open()?.into_iter();
        let open = open.filter(|(id, state)| *state == State::Unreported && is_of(id, run));
        for (id, state) in done.chain(open) {
            let number = id.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
            if let Some(number) = number {
                ids.insert(number, (id, state));
            }
        }
        let mut landings: Vec<PastLanding> = Vec::new();
        for (id, state) in ids.into_values() {
            let read = journals.read(&id, state).map_err(|error| unreadable_record(run, &error))?;
            let Some(journal) = read else { continue };
            match &journal.undo {
                None => landings.push(PastLanding::of(journal)),
                Some(undo) => {
                    for landing in &mut landings {
                        landing.take_back(undo, &journal.changes);
                    }
                }
            }
        }
        Ok(Self { landings })
    }

    /// Returns whether a task has changed a file, also if that was taken back.
    pub(super) fn has_writer(&self, task: &TaskName) -> bool {
        self.landings.iter().any(|landing| landing.writers.contains(task))
    }

    /// Returns whether something of a task is in force in the user's own repository.
    pub(super) fn has_own_work(&self, task: &TaskName) -> bool {
        self.landings.iter().any(|landing| {
            let is_on_branch = landing.branch.is_some() && landing.landed.contains(task);
            let is_in_file = landing.changes.values().any(|change| change.by.contains(task));
            is_on_branch || is_in_file || landing.made.iter().any(|made| made.task == *task)
        })
    }

    /// Returns the folders of the nested repositories whose files the landings changed.
    pub(super) fn nested(&self) -> impl Iterator<Item = RepoPath> {
        self.landings.iter().flat_map(|landing| landing.nested.iter().cloned())
    }

    /// Returns every folder that the landings made, sorted.
    pub(super) fn folders(&self) -> Vec<RepoPath> {
        let folders = self.landings.iter().flat_map(|landing| landing.folders.iter().cloned());
        folders.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

impl PastLanding {
    fn of(journal: Journal) -> Self {
        let is_landed = |change: &FileChange| !is_left(&journal, change);
        let changes = journal.changes.iter().filter(|change| is_landed(change)).map(|change| {
            let FileChange { path, expected, new, by, .. } = change.clone();
            (path, PastChange { before: expected, after: new, by })
        });
        // The files of a branch that is checked out come along with the branch.
        let changes: BTreeMap<RepoPath, PastChange> = match journal.branch {
            None => changes.collect(),
            Some(_) => BTreeMap::new(),
        };
        let writers = changes.values().flat_map(|change| change.by.iter().cloned()).collect();
        let landed = journal.report.tasks.iter();
        // Of work with conflicts that are left, the rest has landed.
        let landed = landed.filter(|task| {
            matches!(task.landed, Landed::Landed { .. }) || !task.settled.landed.is_empty()
        });
        Self {
            landed: landed.map(|landing| landing.task.clone()).collect(),
            id: journal.id,
            changes,
            folders: journal.folders,
            branch: journal.branch,
            made: journal.made,
            is_nested: !journal.nested_branches.is_empty(),
            nested_branches: journal.nested_branches,
            nested: journal.nested,
            writers,
        }
    }

    /// Removes what an undo has taken back. `steps` are the changes of files that it made.
    fn take_back(&mut self, undo: &UndoRecord, steps: &[FileChange]) {
        for taken in undo.changes.iter().filter(|taken| taken.landing == self.id) {
            let Some(change) = self.changes.get_mut(&taken.path) else { continue };
            change.by.retain(|task| !taken.tasks.contains(task));
            if change.by.is_empty() {
                self.changes.remove(&taken.path);
                continue;
            }
            let step = steps.iter().find(|step| step.path == taken.path);
            if let Some(step) = step.filter(|step| step.expected == change.after) {
                change.after = step.new;
            }
        }
        for taken in &undo.branches {
            if !taken.landings.contains(&self.id) {
                continue;
            }
            let Some(root) = &taken.root else {
                self.take_back_own(&taken.reference);
                continue;
            };
            self.nested_branches.retain(|nested| {
                nested.root != *root || nested.branch.reference != taken.reference
            });
        }
    }

    fn take_back_own(&mut self, reference: &str) {
        self.made.retain(|made| made.reference != reference);
        if self.branch.as_ref().is_some_and(|branch| branch.reference == reference) {
            self.branch = None;
        }
    }
}

/// Returns whether the landing has left a path because it was edited during a crash.
fn is_left(journal: &Journal, change: &FileChange) -> bool {
    let theirs: Option<Side> = change.new.map(Entry::to_side);
    let is_it = |conflict: &Conflict| {
        conflict.reason == ConflictReason::Contested
            && conflict.path == change.path
            && conflict.theirs == theirs
    };
    let mut tasks = journal.report.tasks.iter().filter(|task| change.by.contains(&task.task));
    tasks.any(|task| match &task.landed {
        Landed::Conflicted { conflicts } => conflicts.iter().any(is_it),
        _ => false,
    })
}
