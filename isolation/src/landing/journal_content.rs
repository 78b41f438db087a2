//! The content of a journal of a landing: what it changes, and its report.

use std::collections::BTreeSet;

use protocol::{LandingId, LandingReport, RepoPath, RunName};
use serde::{Deserialize, Serialize};

use crate::file_entry::Entry;
use crate::landing::on_branch::{BranchMove, stored_index};
use crate::landing::plan::FileChange;
use crate::landing::stored_changes;
use crate::landing::undo::{MadeBranch, NestedBranch, UndoRecord};
use crate::merge::TaskChange;

/// The content of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    version: u32,
    /// The identifier of the landing: the run and a number.
    pub(super) id: String,
    pub(super) run: RunName,
    /// The identifier of the landing in the ledger. A landing that is retried has several journals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) landing: Option<LandingId>,
    /// The folders that the landing makes.
    pub(super) folders: Vec<RepoPath>,
    /// The changes in the order in which they are applied.
    #[serde(rename = "steps")]
    pub(super) changes: Vec<FileChange>,
    /// What each task has changed, in their order, if two of them have changed one path: the changes do
    /// not say it then.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "stored_changes")]
    pub(super) task_changes: Vec<TaskChange>,
    /// The branch that moves, if the work becomes commits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) branch: Option<BranchMove>,
    /// The new entries of the index, if the branch is checked out. Otherwise there are no changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "stored_index")]
    pub(super) index: Vec<(RepoPath, Option<Entry>)>,
    /// The branches that the landing made, if each task gets its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) made: Vec<MadeBranch>,
    /// The folders of the nested repositories whose files change.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) nested: BTreeSet<RepoPath>,
    /// The branches that the landing made or moved in nested repositories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) nested_branches: Vec<NestedBranch>,
    /// What this landing takes back of others, if it is an undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) undo: Option<UndoRecord>,
    pub(super) report: LandingReport,
}

impl Journal {
    const VERSION: u32 = 1;

    /// The version of journals of a branch, which other programs must not finish as if they were of
    /// files alone.
    const BRANCH_VERSION: u32 = 2;

    /// The version of journals of an undo and of the branches of tasks, which programs that do not
    /// know them must not finish.
    const UNDO_VERSION: u32 = 3;

    /// Returns the journal of a new landing.
    pub(super) fn new(
        id: String,
        (run, landing): (RunName, LandingId),
        folders: Vec<RepoPath>,
        changes: Vec<FileChange>,
        report: LandingReport,
    ) -> Self {
        Self {
            version: Self::VERSION,
            id,
            run,
            landing: Some(landing),
            folders,
            changes,
            task_changes: Vec::new(),
            branch: None,
            index: Vec::new(),
            made: Vec::new(),
            nested: BTreeSet::new(),
            nested_branches: Vec::new(),
            undo: None,
            report,
        }
    }

    /// Returns the journal of a landing of work in which tasks have changed the same paths.
    pub(super) fn sharing(self, task_changes: Vec<TaskChange>) -> Self {
        Self { task_changes, ..self }
    }

    /// Returns the journal of a landing that takes others back.
    pub(super) fn taking_back(self, undo: UndoRecord) -> Self {
        Self { version: Self::UNDO_VERSION, undo: Some(undo), ..self }
    }

    /// Returns the journal of a landing that made these branches.
    pub(super) fn making(self, made: Vec<MadeBranch>) -> Self {
        Self { version: Self::UNDO_VERSION, made, ..self }
    }

    /// Returns the journal of a landing that changes files of the nested repositories in `nested`.
    pub(super) fn in_nested(self, nested: BTreeSet<RepoPath>) -> Self {
        Self { nested, ..self }
    }

    /// Returns the journal of a landing that made or moved branches in nested repositories.
    pub(super) fn making_nested(self, nested_branches: Vec<NestedBranch>) -> Self {
        Self { version: Self::UNDO_VERSION, nested_branches, ..self }
    }

    /// Returns the folders of the nested repositories in which it writes.
    pub(super) fn roots(&self) -> impl Iterator<Item = RepoPath> {
        let taken = self.undo.iter().flat_map(|undo| &undo.branches);
        let taken = taken.filter_map(|taken| taken.root.clone());
        let made = self.nested_branches.iter().map(|branch| branch.root.clone());
        self.nested.iter().cloned().chain(made).chain(taken)
    }

    /// Returns the journal of a landing that moves a branch.
    pub(super) fn moving(self, branch: BranchMove, index: Vec<(RepoPath, Option<Entry>)>) -> Self {
        Self { version: Self::BRANCH_VERSION, branch: Some(branch), index, ..self }
    }

    /// Returns whether this program knows the version of the journal.
    pub(super) fn is_known(&self) -> bool {
        let version = match (&self.undo, &self.branch) {
            (Some(_), _) => Self::UNDO_VERSION,
            (None, _) if !self.made.is_empty() || !self.nested_branches.is_empty() => {
                Self::UNDO_VERSION
            }
            (None, Some(_)) => Self::BRANCH_VERSION,
            (None, None) => Self::VERSION,
        };
        self.version == version
    }

    /// Returns the reference of the task store that keeps the landing's versions alive.
    pub(super) fn reference(&self) -> String {
        format!("refs/landings/{}", self.id)
    }
}
