//! What is known about a copy that a task uses, and how it differs from a new one.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::failpoint;
use protocol::RepoPath;

use super::copy_stats::CopyStats;
use super::git_folder::GitFolder;
use super::look::{Differences, Look, has_same_folders, look};
use crate::baseline::Snapshot;
use crate::error::Result;
use crate::tree::Tree;
use crate::view::WriteRecord;

/// What is known about a copy that a task uses.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(super) stats: CopyStats,
    pub(super) marker_ns: i64,
    /// The paths to which the work of predecessors was written, and the folders above them.
    pub(super) overwritten: BTreeSet<Vec<u8>>,
    /// How the copy differed when it was captured.
    pub(super) differences: Option<Found>,
    /// What views have written to it; `None` if there is no view yet, or no use for a record.
    pub(super) record: Option<Arc<WriteRecord>>,
    /// Whether something else than views may have written to it.
    pub(super) had_processes: bool,
    /// How many tasks with processes had ended in the run when it was last looked at.
    pub(super) looked_at: Option<u64>,
    /// Whether its task has ended, and is counted.
    pub(super) is_over: bool,
    /// Its git folder when that was new; `None` if it is made anew for the next task.
    pub(super) git: Option<GitFolder>,
}

/// How differences were found.
#[derive(Debug)]
pub(super) enum Found {
    /// The copy was looked at, when so many tasks with processes had `ended`. They are all as long as no
    /// process of another task could write to it. One that could is noticed by what it adds, removes or
    /// renames there; a write in place is not, as in the workspace of a task that runs.
    Looked { differences: Differences, ended: u64 },
    /// They follow from the record of the views, as long as it is complete.
    Recorded(Differences),
}

impl Lent {
    /// Returns what is known about a copy that was complete at `marker_ns`, with the new git folder
    /// `git`. The work of predecessors was written to the paths in `changes`.
    pub(crate) fn new<'a>(
        stats: CopyStats,
        git: Option<GitFolder>,
        marker_ns: i64,
        changes: impl Iterator<Item = &'a RepoPath>,
    ) -> Self {
        let mut overwritten = BTreeSet::new();
        for path in changes {
            overwritten.insert(path.as_bytes().to_vec());
            overwritten.insert(Vec::new());
            overwritten.extend(path.folders().map(|folder| folder.as_bytes().to_vec()));
        }
        Self {
            stats,
            marker_ns,
            overwritten,
            differences: None,
            record: None,
            had_processes: false,
            looked_at: None,
            is_over: false,
            git,
        }
    }

    /// Returns whether processes of its task may run, or have run.
    pub(super) fn may_have_processes(&self) -> bool {
        let is_complete = self.record.as_ref().is_some_and(|record| record.is_complete());
        self.had_processes || !is_complete
    }

    /// Returns how the copy differs from a new one now.
    pub(super) fn differences(&mut self, snapshot: &Snapshot, tree: &Tree) -> Result<Differences> {
        let is_complete = || self.record.as_ref().is_some_and(|record| record.is_complete());
        match self.differences.take() {
            Some(Found::Looked { differences, ended })
                if snapshot.pool.is_still_true(ended)
                    || has_same_folders(&self.as_look(snapshot, tree), &differences)? =>
            {
                Ok(differences)
            }
            Some(Found::Recorded(differences))
                if is_complete() && !snapshot.pool.may_have_processes() =>
            {
                let faults = &snapshot.context.faults;
                if cfg!(debug_assertions) && failpoint!(faults, "capture.record.check").is_ok() {
                    let looked = self.look(snapshot, tree)?;
                    assert!(
                        differences.covers(&looked),
                        "{differences:?} lacks some of {looked:?}"
                    );
                }
                Ok(differences)
            }
            Some(Found::Looked { .. } | Found::Recorded(_)) | None => self.look(snapshot, tree),
        }
    }

    pub(super) fn look(&self, snapshot: &Snapshot, tree: &Tree) -> Result<Differences> {
        look(&self.as_look(snapshot, tree))
    }

    fn as_look<'a>(&'a self, snapshot: &'a Snapshot, tree: &'a Tree) -> Look<'a> {
        let Self { stats, marker_ns, overwritten, .. } = self;
        Look { snapshot, stats, tree, marker_ns: *marker_ns, overwritten }
    }
}
