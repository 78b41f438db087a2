//! What the landings of a run have changed in the working tree, where no undo has taken it back.

use std::collections::{BTreeMap, BTreeSet};

use engine::fault::Faults;
use protocol::{Landed, RepoPath, RunName, TaskName};

use super::history::History;
use crate::error::Result;
use crate::file_entry::{Change, Entry};
use crate::landing::journal::Journals;
use crate::landing::journal_content::Journal;
use crate::paths::RepoPaths;

/// The landed work of a run that is in force, as it is in the working tree if it was not edited since.
#[derive(Default)]
pub(in crate::landing) struct WorkInForce {
    /// The tasks whose whole work has landed, and of which nothing was taken back.
    pub(in crate::landing) tasks: BTreeSet<TaskName>,
    /// What each of them has changed, in the order of the landings.
    pub(in crate::landing) works: Vec<(TaskName, Vec<Change>)>,
    /// What the last landing or undo has left at each path.
    pub(in crate::landing) left: BTreeMap<RepoPath, Option<Entry>>,
}

impl WorkInForce {
    /// Reads the records of the run's landings and undos.
    pub(in crate::landing) fn of(paths: &RepoPaths, run: &RunName) -> Result<Self> {
        let faults = Faults::default();
        let History { landings, timeline, whole: tasks, .. } =
            History::read(&Journals::in_folder(&paths.landings, &faults), run)?;
        // What has landed again was thrown away in between.
        let mut later = BTreeSet::new();
        let mut works = Vec::new();
        for mut work in landings.into_iter().flat_map(|landing| landing.works).rev() {
            if tasks.contains(&work.task) {
                let task = work.task;
                work.changes.retain(|change| later.insert((task.clone(), change.path.clone())));
                works.push((task, work.changes));
            }
        }
        works.reverse();
        Ok(Self { tasks, works, left: timeline.end() })
    }
}

/// Notes in `whole` which tasks have landed as a whole in the working tree with a landing, or of which an undo
/// has taken something back.
pub(super) fn note_whole(whole: &mut BTreeSet<TaskName>, journal: &Journal) {
    for taken in journal.undo.iter().flat_map(|undo| &undo.changes) {
        whole.retain(|task| !taken.tasks.contains(task));
    }
    if journal.undo.is_some() || journal.branch.is_some() {
        return;
    }
    for landing in &journal.report.tasks {
        match &landing.landed {
            Landed::Landed { branch: None, .. } => drop(whole.insert(landing.task.clone())),
            Landed::Unchanged => {}
            Landed::Landed { branch: Some(_), .. }
            | Landed::Conflicted { .. }
            | Landed::Unwritten { .. }
            | Landed::Waiting { .. }
            | Landed::Unverified(_)
            | Landed::TakenBack { .. } => drop(whole.remove(&landing.task)),
        }
    }
}
