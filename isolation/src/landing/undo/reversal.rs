//! The changes that take a landing back: for each path, from what has landed to what was there
//! before.

use std::collections::BTreeMap;

use engine::ports::{UndoRequest, UndoScope};
use protocol::{Conflict, ConflictReason, RepoPath, TaskName};

use super::history::{History, PastChange, PastLanding, PastWork};
use crate::file_entry::{Change, Entry};

/// The changes that take one landing back, or the work of a task in it.
pub(super) struct Reversal {
    /// The identifier of the landing's journal.
    pub(super) landing: String,
    /// The moment of the history at which what is taken back had just landed.
    pub(super) moment: usize,
    /// The changes: the base is what has landed, and the task's version what was there before.
    pub(super) changes: Vec<Change>,
    /// The tasks whose work is taken back, by path.
    pub(super) tasks: BTreeMap<RepoPath, Vec<TaskName>>,
    /// Paths on which the work of the task cannot be told from that of others.
    pub(super) stuck: Vec<Conflict>,
}

/// Returns what takes the landings of a run back, the last landing first, and in it the last task.
pub(super) fn reversals(history: &History, request: &UndoRequest) -> Vec<Reversal> {
    let is_wanted = |task: &TaskName| request.tasks.iter().any(|wanted| wanted.task == *task);
    let mut reversals = Vec::new();
    for landing in history.landings.iter().rev() {
        match request.scope {
            UndoScope::Run => reversals.push(whole(landing)),
            UndoScope::Tasks => {
                let works = landing.works.iter().rev().filter(|work| is_wanted(&work.task));
                reversals.extend(works.map(|work| of_work(landing, work)));
                reversals.push(untold(landing, &is_wanted));
            }
        }
    }
    reversals.retain(|reversal| !reversal.tasks.is_empty());
    reversals
}

impl Reversal {
    fn of(landing: &PastLanding, moment: usize) -> Self {
        let (changes, tasks, stuck) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self { landing: landing.id.clone(), moment, changes, tasks, stuck }
    }
}

/// Returns the changes that restore every version that the landing has replaced.
fn whole(landing: &PastLanding) -> Reversal {
    let mut reversal = Reversal::of(landing, landing.moment);
    for (path, PastChange { before, after, by }) in &landing.changes {
        reversal.changes.push(Change::new(path.clone(), *after, *before));
        reversal.tasks.insert(path.clone(), by.clone());
    }
    // What they have changed meanwhile, and changed back, is taken back with the rest.
    for PastWork { task, changes, .. } in &landing.works {
        for Change { path, .. } in changes {
            let tasks = reversal.tasks.entry(path.clone()).or_default();
            if !tasks.contains(task) {
                tasks.push(task.clone());
            }
        }
    }
    reversal
}

/// Returns the changes of one task backwards, as `git revert` makes them.
fn of_work(landing: &PastLanding, work: &PastWork) -> Reversal {
    let mut reversal = Reversal::of(landing, work.moment);
    let renamed = work.changes.iter().filter_map(|change| Some((change.from.as_ref()?, change)));
    let new_names: BTreeMap<&RepoPath, &Change> = renamed.collect();
    for change in &work.changes {
        let is_gone = change.task.is_none();
        let new_name = new_names.get(&change.path).filter(|_| is_gone);
        let from = new_name.map(|renamed| renamed.path.clone());
        let (path, base, task) = (change.path.clone(), change.task, change.base);
        reversal.tasks.insert(path.clone(), vec![work.task.clone()]);
        reversal.changes.push(Change { path, base, task, from });
    }
    reversal
}

/// Returns the paths that tasks have changed together with others in a landing whose journal does not
/// say what each of them has changed: an older version of Regatta has written it.
fn untold(landing: &PastLanding, is_wanted: &dyn Fn(&TaskName) -> bool) -> Reversal {
    let mut reversal = Reversal::of(landing, landing.moment);
    for (path, change) in landing.untold() {
        let meant: Vec<TaskName> =
            change.by.iter().filter(|task| is_wanted(task)).cloned().collect();
        if meant.is_empty() {
            continue;
        }
        reversal.stuck.push(Conflict {
            path: path.clone(),
            reason: ConflictReason::Content,
            base: change.after.map(Entry::to_side),
            ours: change.after.map(Entry::to_side),
            theirs: None,
            with: change.by.iter().find(|other| !meant.contains(other)).cloned(),
            renamed: None,
        });
        reversal.tasks.insert(path.clone(), meant);
    }
    reversal
}
