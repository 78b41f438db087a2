//! The changes that take a landing back: for each path, from what has landed to what was there
//! before.

use std::collections::BTreeMap;

use engine::ports::{UndoRequest, UndoScope, UndoTask};
use protocol::{Conflict, ConflictReason, RepoPath, TaskName};

use super::history::{History, PastChange, PastLanding};
use crate::error::Result;
use crate::file_entry::{Change, Entry};
use crate::store::TaskStore;

/// The changes that take one landing back, or the work of a task in it.
pub(super) struct Reversal {
    /// The identifier of the landing's journal.
    pub(super) landing: String,
    /// The changes: the base is what has landed, and the task's version what was there before.
    pub(super) changes: Vec<Change>,
    /// The tasks whose work is taken back, by path.
    pub(super) tasks: BTreeMap<RepoPath, Vec<TaskName>>,
    /// Paths on which the work of the task cannot be told from that of others.
    pub(super) stuck: Vec<Conflict>,
}

/// Returns what takes the landings of a run back, the last landing first.
pub(super) fn reversals(
    history: &History,
    store: &TaskStore,
    request: &UndoRequest,
) -> Result<Vec<Reversal>> {
    let mut reversals = Vec::new();
    for landing in history.landings.iter().rev() {
        match request.scope {
            UndoScope::Run => {
                let all = |_: &PastChange| true;
                reversals.push(whole(landing, all));
            }
            UndoScope::Tasks => {
                for task in request.tasks.iter().rev() {
                    reversals.push(of_task(landing, store, task)?);
                }
            }
        }
    }
    reversals.retain(|reversal| !reversal.tasks.is_empty());
    Ok(reversals)
}

/// Returns the changes that restore every version that the landing has replaced, where `is_meant`.
fn whole(landing: &PastLanding, is_meant: impl Fn(&PastChange) -> bool) -> Reversal {
    let meant = landing.changes.iter().filter(|(_, change)| is_meant(change));
    let (mut changes, mut tasks) = (Vec::new(), BTreeMap::new());
    for (path, PastChange { before, after, by }) in meant {
        let (base, task) = (*after, *before);
        changes.push(Change::new(path.clone(), base, task));
        tasks.insert(path.clone(), by.clone());
    }
    Reversal { landing: landing.id.clone(), changes, tasks, stuck: Vec::new() }
}

/// Returns the changes that take back the work of one task. Where others have changed the same file
/// in the same landing, it is what the task has changed, backwards.
fn of_task(landing: &PastLanding, store: &TaskStore, wanted: &UndoTask) -> Result<Reversal> {
    let task = &wanted.task;
    let mut reversal = whole(landing, |change| change.by == [task.clone()]);
    let is_shared = |change: &PastChange| change.by.len() > 1 && change.by.contains(task);
    let shared: Vec<_> = landing.changes.iter().filter(|(_, change)| is_shared(change)).collect();
    if shared.is_empty() {
        return Ok(reversal);
    }
    let own = match &wanted.capture {
        Some(capture) => store.changes(capture)?,
        None => Vec::new(),
    };
    for (path, change) in shared {
        reversal.tasks.insert(path.clone(), vec![task.clone()]);
        match own.iter().find(|own| own.path == *path) {
            Some(own) => {
                let (base, task) = (own.task, own.base);
                reversal.changes.push(Change::new(path.clone(), base, task));
            }
            None => reversal.stuck.push(Conflict {
                path: path.clone(),
                reason: ConflictReason::Content,
                base: change.after.map(Entry::to_side),
                ours: change.after.map(Entry::to_side),
                theirs: None,
                with: change.by.iter().find(|other| *other != task).cloned(),
                renamed: None,
            }),
        }
    }
    Ok(reversal)
}
