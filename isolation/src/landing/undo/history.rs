//! What the landings of a run have changed and no undo has taken back yet.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{Conflict, ConflictReason, Landed, RepoPath, RunName, Side, TaskName};

use super::in_force::note_whole;
use super::moved_on::note_moved_on;
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
    /// The tasks whose whole work is in the working tree.
    pub(super) whole: BTreeSet<TaskName>,
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
    /// What it had found at each path that it, or one of the works in it, has changed.
    pub(super) found: BTreeMap<RepoPath, Option<Entry>>,
    /// When it had landed.
    pub(super) landed_at: usize,
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
        let mut whole = BTreeSet::new();
        for (id, state) in ids.into_values() {
            let read = journals.read(&id, state).map_err(|error| unreadable_record(run, &error))?;
            let Some(journal) = read else { continue };
            note_whole(&mut whole, &journal);
            match &journal.undo {
                None => landings.push(PastLanding::of(journal, &mut timeline)),
                Some(undo) => {
                    let steps = journal.changes.iter();
                    let steps = steps.map(|step| (step.path.clone(), step.expected, step.new));
                    let steps = steps.map(|(path, old, new)| Change::new(path, old, new));
                    let moment = timeline.push(steps.collect());
                    take_back(&mut landings, undo, (moment, &journal.changes));
                    made_again.extend(journal.folders);
                }
            }
        }
        Ok(Self { landings, timeline, whole, made_again })
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
        let mut found: BTreeMap<RepoPath, Option<Entry>> = BTreeMap::new();
        for change in works.iter().flat_map(|work| &work.changes) {
            found.entry(change.path.clone()).or_insert(change.base);
        }
        found.extend(changes.iter().map(|(path, change)| (path.clone(), change.before)));
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
            found,
            landed_at: timeline.latest(),
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

    /// Returns what the landing had found at a path, and what of it is left there: the same if nothing is.
    fn versions(&self, path: &RepoPath) -> (Option<Entry>, Option<Entry>) {
        let found = self.found.get(path).copied().flatten();
        self.changes.get(path).map_or((found, found), |change| (change.before, change.after))
    }

    /// Removes what an undo has taken back.
    fn take_back(&mut self, undo: &UndoRecord, (moment, steps): (usize, &Steps)) {
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

    /// What is left of the changes is what the works that are in force come to, and what undos of others
    /// have made of the files, if that is not what was there before.
    fn take_back_files(&mut self, taken: &[&TakenChange], steps: &Steps) {
        for taken in taken {
            for work in self.works.iter_mut().filter(|work| taken.tasks.contains(&work.task)) {
                work.changes.retain(|change| change.path != taken.path);
            }
            if let Some(change) = self.changes.get_mut(&taken.path) {
                change.by.retain(|task| !taken.tasks.contains(task));
            }
        }
        self.works.retain(|work| !work.changes.is_empty());
        let written = self.follow(steps);
        if self.is_told {
            let paths = taken.iter().map(|taken| &taken.path);
            let paths = paths.chain(steps.steps.iter().map(|step| &step.path));
            let paths: BTreeSet<&RepoPath> = paths.collect();
            // A file that one task has renamed may have the work of another at a path of the first alone.
            let meets = |work: &&PastWork| work.changes.iter().any(|it| paths.contains(&it.path));
            let left = self.works.iter().filter(meets).map(|work| work.task.clone());
            let left: Vec<TaskName> = left.collect();
            let over: BTreeSet<&TaskName> = taken.iter().flat_map(|taken| &taken.tasks).collect();
            for (path, change) in &mut self.changes {
                if change.by.is_empty() && !left.is_empty() {
                    change.by.clone_from(&left);
                } else if change.by.is_empty() && written.contains(path) {
                    change.by = over.iter().map(|task| (*task).clone()).collect();
                }
            }
            self.changes.retain(|_, change| change.before != change.after);
        }
        self.changes.retain(|_, change| !change.by.is_empty());
    }

    /// Adds the steps of an undo to the changes. Returns the paths at which they have replaced what the
    /// landing, or an earlier undo of a part of it, had written.
    fn follow(&mut self, steps: &Steps) -> BTreeSet<RepoPath> {
        let works = &self.works;
        for step in &steps.steps {
            let left =
                works.iter().filter(|work| work.changes.iter().any(|it| it.path == step.path));
            let by = || left.map(|work| work.task.clone()).collect();
            let found = self.found.get(&step.path).copied().flatten();
            let new = || PastChange { before: found, after: found, by: by() };
            self.changes.entry(step.path.clone()).or_insert_with(new);
        }
        let is_known = |step: &FileChange| self.changes[&step.path].after == step.expected;
        // What the user has edited can be in each file that is written, also at another name.
        let is_edited = steps.are_elsewhere || !steps.steps.iter().all(is_known);
        let mut written = BTreeSet::new();
        for step in &steps.steps {
            let Some(change) = self.changes.get_mut(&step.path) else { continue };
            let is_own = !is_edited || step.new.is_none() || step.new == change.before;
            if change.after == step.expected && is_own {
                change.after = step.new;
                written.insert(step.path.clone());
            }
        }
        written
    }

    fn take_back_own(&mut self, reference: &str) {
        self.made.retain(|made| made.reference != reference);
        if self.branch.as_ref().is_some_and(|branch| branch.reference == reference) {
            self.branch = None;
        }
    }
}

/// What an undo has changed of the files of one landing.
struct Steps {
    steps: Vec<FileChange>,
    /// Whether it has also changed files at paths that no landing has changed: the user has renamed them.
    are_elsewhere: bool,
}

/// Removes what an undo, whose changes of files are these, has taken back. Of several landings that have
/// changed a file the last goes back first, to what it had found.
fn take_back(
    landings: &mut [PastLanding],
    undo: &UndoRecord,
    (moment, steps): (usize, &[FileChange]),
) {
    let is_taken =
        |landing: &PastLanding| undo.changes.iter().any(|taken| taken.landing == landing.id);
    let is_known =
        |path: &RepoPath| landings.iter().any(|landing| landing.found.contains_key(path));
    let are_elsewhere = !steps.iter().all(|step| is_known(&step.path));
    let mut rest = steps.to_vec();
    for at in (0..landings.len()).rev() {
        let (earlier, landing) = landings.split_at_mut(at);
        let Some(landing) = landing.first_mut() else { continue };
        let is_of_several =
            |path: &RepoPath| earlier.iter().any(|it| it.found.contains_key(path) && is_taken(it));
        let mut steps = Vec::new();
        if is_taken(landing) {
            for step in rest.iter_mut().filter(|step| landing.found.contains_key(&step.path)) {
                let mut own = step.clone();
                let (before, after) = landing.versions(&step.path);
                if after == step.expected && is_of_several(&step.path) {
                    own.new = before;
                    step.expected = before;
                }
                steps.push(own);
            }
        }
        landing.take_back(undo, (moment, &Steps { steps, are_elsewhere }));
    }
    note_moved_on(landings, undo, (moment, steps));
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
