//! What the landings of a run have changed and no undo has taken back yet.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{Conflict, ConflictReason, Landed, RepoPath, RunName, Side, TaskName};

use super::record::{MadeBranch, NestedBranch, TakenChange, UndoRecord};
use super::refusals::unreadable_record;
use super::timeline::Timeline;
use crate::error::Result;
use crate::file_entry::{Change, Entry};
use crate::landing::journal::{Journals, State, is_of};
use crate::landing::journal_content::Journal;
use crate::landing::on_branch::BranchMove;
use crate::landing::plan::FileChange;

/// The landings of one run, in their order.
pub(super) struct History {
    pub(super) landings: Vec<PastLanding>,
    /// What landings and undos have changed, one after the other.
    pub(super) timeline: Timeline,
    /// The folders that undos made.
    made_again: BTreeSet<RepoPath>,
}

/// One landing, without what was taken back of it.
pub(super) struct PastLanding {
    pub(super) id: String,
    /// The changes of files that are in force.
    pub(super) changes: BTreeMap<RepoPath, PastChange>,
    /// What is in force of what each task has changed, in their order.
    pub(super) works: Vec<PastWork>,
    /// Whether the works are all that has changed.
    is_told: bool,
    /// When the changes had become what they are.
    pub(super) moment: usize,
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

/// What one task has changed in a landing.
pub(super) struct PastWork {
    pub(super) task: TaskName,
    pub(super) changes: Vec<Change>,
    /// When it had just landed.
    pub(super) moment: usize,
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
        let (mut timeline, mut made_again) = (Timeline::default(), BTreeSet::new());
        for (id, state) in ids.into_values() {
            let read = journals.read(&id, state).map_err(|error| unreadable_record(run, &error))?;
            let Some(journal) = read else { continue };
            match &journal.undo {
                None => landings.push(PastLanding::of(journal, &mut timeline)),
                Some(undo) => {
                    let steps = journal.changes.iter();
                    let steps = steps.map(|step| (step.path.clone(), step.expected, step.new));
                    let steps = steps.map(|(path, old, new)| Change::new(path, old, new));
                    let moment = timeline.push(steps.collect());
                    for landing in &mut landings {
                        landing.take_back(undo, (moment, &journal.changes));
                    }
                    made_again.extend(journal.folders);
                }
            }
        }
        Ok(Self { landings, timeline, made_again })
    }

    /// Returns whether a task has changed a file, also if that was taken back.
    pub(super) fn has_writer(&self, task: &TaskName) -> bool {
        self.landings.iter().any(|landing| landing.writers.contains(task))
    }

    /// Returns whether something of a task is in force in the user's own repository.
    pub(super) fn has_own_work(&self, task: &TaskName) -> bool {
        self.landings.iter().any(|landing| {
            let is_on_branch = landing.branch.is_some() && landing.landed.contains(task);
            let is_in_file = landing.changes.values().any(|change| change.by.contains(task))
                || landing.works.iter().any(|work| work.task == *task);
            is_on_branch || is_in_file || landing.made.iter().any(|made| made.task == *task)
        })
    }

    /// Returns the folders of the nested repositories whose files the landings changed.
    pub(super) fn nested(&self) -> impl Iterator<Item = RepoPath> {
        self.landings.iter().flat_map(|landing| landing.nested.iter().cloned())
    }

    /// Returns every folder that the landings and their undos made, sorted.
    pub(super) fn folders(&self) -> Vec<RepoPath> {
        let folders = self.landings.iter().flat_map(|landing| landing.folders.iter());
        folders.chain(&self.made_again).cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }
}

impl PastLanding {
    fn of(journal: Journal, timeline: &mut Timeline) -> Self {
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
        let is_told = !journal.task_changes.is_empty();
        let own = match is_told {
            true => own_changes(&journal),
            false => split(&journal, &changes),
        };
        let works: Vec<PastWork> = own
            .into_iter()
            .map(|(task, changes)| {
                let moment = timeline.push(changes.clone());
                PastWork { task, changes, moment }
            })
            .collect();
        let writers = changes.values().flat_map(|change| change.by.iter());
        let writers = writers.chain(works.iter().map(|work| &work.task)).cloned().collect();
        let landed = journal.report.tasks.iter();
        // Of work with conflicts that are left, the rest has landed.
        let landed = landed.filter(|task| {
            matches!(task.landed, Landed::Landed { .. }) || !task.settled.landed.is_empty()
        });
        Self {
            landed: landed.map(|landing| landing.task.clone()).collect(),
            id: journal.id,
            changes,
            works,
            is_told,
            moment: timeline.latest(),
            folders: journal.folders,
            branch: journal.branch,
            made: journal.made,
            is_nested: !journal.nested_branches.is_empty(),
            nested_branches: journal.nested_branches,
            nested: journal.nested,
            writers,
        }
    }

    /// Returns the changes by several tasks of which it is not recorded what each of them has changed.
    pub(super) fn untold(&self) -> impl Iterator<Item = (&RepoPath, &PastChange)> {
        let is_shared = |(_, change): &(_, &PastChange)| change.by.len() > 1;
        self.changes.iter().filter(|_| !self.is_told).filter(is_shared)
    }

    /// Removes what an undo has taken back. `steps` are the changes of files that it made.
    fn take_back(&mut self, undo: &UndoRecord, (moment, steps): (usize, &[FileChange])) {
        let taken = undo.changes.iter().filter(|taken| taken.landing == self.id);
        let taken: Vec<&TakenChange> = taken.collect();
        if !taken.is_empty() {
            self.take_back_files(&taken, steps);
            self.moment = moment;
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

    /// What is left of the changes is what the works that are in force come to.
    fn take_back_files(&mut self, taken: &[&TakenChange], steps: &[FileChange]) {
        for taken in taken {
            for work in self.works.iter_mut().filter(|work| taken.tasks.contains(&work.task)) {
                work.changes.retain(|change| change.path != taken.path);
            }
            if let Some(change) = self.changes.get_mut(&taken.path) {
                change.by.retain(|task| !taken.tasks.contains(task));
            }
        }
        self.works.retain(|work| !work.changes.is_empty());
        if !self.is_told {
            self.changes.retain(|_, change| !change.by.is_empty());
        }
        for step in steps {
            if let Some(change) = self.changes.get_mut(&step.path) {
                if change.after == step.expected {
                    change.after = step.new;
                }
                continue;
            }
            let left = self
                .works
                .iter()
                .filter(|work| work.changes.iter().any(|change| change.path == step.path));
            let by: Vec<TaskName> = left.map(|work| work.task.clone()).collect();
            if !by.is_empty() {
                let (before, after) = (step.expected, step.new);
                self.changes.insert(step.path.clone(), PastChange { before, after, by });
            }
        }
        if self.is_told {
            // A file that one task has renamed may have the work of another at a path of the first alone.
            let left: Vec<TaskName> = self.works.iter().map(|work| work.task.clone()).collect();
            for change in self.changes.values_mut().filter(|change| change.by.is_empty()) {
                change.by.clone_from(&left);
            }
            self.changes.retain(|_, change| change.before != change.after && !change.by.is_empty());
            if self.changes.is_empty() {
                // What they have changed meanwhile, and changed back, is taken back with the rest.
                let is_taken =
                    |task: &TaskName| taken.iter().any(|taken| taken.tasks.contains(task));
                self.works.retain(|work| !is_taken(&work.task));
            }
        }
    }

    fn take_back_own(&mut self, reference: &str) {
        self.made.retain(|made| made.reference != reference);
        if self.branch.as_ref().is_some_and(|branch| branch.reference == reference) {
            self.branch = None;
        }
    }
}

/// Returns what each task has changed, as the journal says, without the paths that the landing has left.
fn own_changes(journal: &Journal) -> Vec<(TaskName, Vec<Change>)> {
    let left = journal.changes.iter().filter(|change| is_left(journal, change));
    let left: BTreeSet<&RepoPath> = left.map(|change| &change.path).collect();
    let mut works: Vec<(TaskName, Vec<Change>)> = Vec::new();
    for own in journal.task_changes.iter().filter(|own| !left.contains(&own.change.path)) {
        match works.last_mut().filter(|(task, _)| *task == own.task) {
            Some((_, changes)) => changes.push(own.change.clone()),
            None => works.push((own.task.clone(), vec![own.change.clone()])),
        }
    }
    works
}

/// Returns what each task has changed alone.
fn split(
    journal: &Journal,
    changes: &BTreeMap<RepoPath, PastChange>,
) -> Vec<(TaskName, Vec<Change>)> {
    let mut own: BTreeMap<&TaskName, Vec<Change>> = BTreeMap::new();
    for (path, PastChange { before, after, by }) in changes {
        if let [task] = &by[..] {
            own.entry(task).or_default().push(Change::new(path.clone(), *before, *after));
        }
    }
    let tasks = journal.report.tasks.iter().map(|landing| &landing.task);
    tasks.filter_map(|task| Some((task.clone(), own.remove(task)?))).collect()
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
