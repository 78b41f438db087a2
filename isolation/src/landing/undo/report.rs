//! The result of an undo for each task, and for the whole.

use std::collections::{BTreeMap, BTreeSet};

use engine::ports::{UndoReport, UndoRequest, UndoTask};
use protocol::{
    CaptureRef, Conflict, ConflictReason, Landed, LandingReport, RepoPath, TaskLanding, TaskName,
};

use super::record::{TakenChange, UndoRecord};
use super::reversal::Reversal;
use crate::error::Result;
use crate::merge::MergedPath;
use crate::settle::concerned_paths;

/// Landings that are merged back into the tree, in memory.
#[derive(Default)]
pub(super) struct MergedBack {
    /// The paths that change.
    pub(super) merged: BTreeMap<RepoPath, MergedPath>,
    pub(super) record: UndoRecord,
    /// The folders of the nested repositories whose files may change.
    pub(super) nested: BTreeSet<RepoPath>,
    left: Vec<(Conflict, BTreeSet<TaskName>)>,
    /// The tasks whose changes are taken back, by path.
    tasks: BTreeMap<RepoPath, BTreeSet<TaskName>>,
}

impl MergedBack {
    /// Adds one reversal that was merged with these conflicts. The files at `unwritable` cannot be
    /// written.
    pub(super) fn add(
        &mut self,
        reversal: Reversal,
        conflicts: Vec<Conflict>,
        unwritable: &BTreeSet<RepoPath>,
    ) {
        let Reversal { landing, moment: _, changes: _, tasks, stuck } = reversal;
        let mut not_taken: BTreeSet<RepoPath> = BTreeSet::new();
        // The names of the tasks in this merge are not those of the run.
        let conflicts = conflicts.into_iter().map(|conflict| Conflict { with: None, ..conflict });
        for mut conflict in conflicts.chain(stuck) {
            let concerned = concerned_paths(&conflict);
            if unwritable.contains(&conflict.path) {
                conflict.reason = ConflictReason::Unwritable;
            }
            let by = concerned.iter().filter_map(|path| tasks.get(path)).flatten().cloned();
            self.left.push((conflict, by.collect()));
            not_taken.extend(concerned);
        }
        for (path, by) in tasks.into_iter().filter(|(path, _)| !not_taken.contains(path)) {
            self.tasks.entry(path.clone()).or_default().extend(by.iter().cloned());
            self.record.changes.push(TakenChange { landing: landing.clone(), path, tasks: by });
        }
    }

    /// Sets the paths that change.
    pub(super) fn finish(&mut self, merged: BTreeMap<RepoPath, MergedPath>) {
        self.merged = merged;
        let all: BTreeSet<&TaskName> = self.tasks.values().flatten().collect();
        for (path, merged) in &mut self.merged {
            // A file that the user has renamed meanwhile has a path that no task knows.
            merged.by = match self.tasks.get(path) {
                Some(by) => by.iter().cloned().collect(),
                None => all.iter().map(|task| (*task).clone()).collect(),
            };
        }
    }

    /// Returns the report. `is_there` returns whether the work of a capture is in the tree, for the
    /// tasks of which `wrote` is false: no landing of theirs has written a file.
    pub(super) fn report(
        &self,
        request: &UndoRequest,
        wrote: &dyn Fn(&TaskName) -> bool,
        is_there: &dyn Fn(&CaptureRef) -> Result<bool>,
    ) -> Result<UndoReport> {
        let taken: BTreeSet<&TaskName> =
            self.record.changes.iter().flat_map(|change| &change.tasks).collect();
        let mut report = UndoReport::default();
        for UndoTask { task, capture } in &request.tasks {
            let left = self.left.iter().filter(|(_, by)| by.contains(task));
            let left: Vec<Conflict> = left.map(|(conflict, _)| conflict.clone()).collect();
            let was_there = || match capture {
                Some(capture) if !wrote(task) => is_there(capture),
                _ => Ok(false),
            };
            if taken.contains(task) || left.is_empty() && !was_there()? {
                let landed = Landed::TakenBack { left };
                report.report.tasks.push(TaskLanding::of(task.clone(), landed));
            } else if left.is_empty() {
                report.unwritten.push(task.clone());
            }
        }
        report.paths = self.merged.keys().cloned().collect();
        report.left = self.left.iter().map(|(conflict, _)| conflict.clone()).collect();
        report.left.sort_by(|one, other| one.path.cmp(&other.path));
        report.left.dedup_by(|one, other| one.path == other.path);
        Ok(report)
    }
}

/// Returns the report that these tasks are taken back as a whole.
pub(super) fn taken_back<'t>(tasks: impl Iterator<Item = &'t TaskName>) -> LandingReport {
    let landed = || Landed::TakenBack { left: Vec::new() };
    LandingReport { tasks: tasks.map(|task| TaskLanding::of(task.clone(), landed())).collect() }
}
