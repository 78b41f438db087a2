//! What the journal of an undo says about the landings that it takes back, and what the journal of
//! a landing says about the branches that it made.

use protocol::{RepoPath, TaskName};
use serde::{Deserialize, Serialize};

use crate::landing::on_branch::BranchMove;

/// What an undo takes back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::landing) struct UndoRecord {
    /// The changes of files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::landing) changes: Vec<TakenChange>,
    /// The branches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::landing) branches: Vec<TakenBranch>,
    /// The folders that the landings had made, sorted. The undo removes those that become empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::landing) folders: Vec<RepoPath>,
}

/// One change of a landing that is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::landing) struct TakenChange {
    /// The identifier of the landing's journal.
    pub(in crate::landing) landing: String,
    /// The path, as the landing has changed it.
    pub(in crate::landing) path: RepoPath,
    /// The tasks whose change is taken back.
    pub(in crate::landing) tasks: Vec<TaskName>,
}

/// A branch that is taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::landing) struct TakenBranch {
    /// The identifiers of the journals of the landings that moved it.
    pub(in crate::landing) landings: Vec<String>,
    /// The tasks whose work is taken back.
    pub(in crate::landing) tasks: Vec<TaskName>,
    /// The folder of the nested repository that has it; `None` if it is in the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::landing) root: Option<RepoPath>,
    /// The full name of the branch.
    pub(in crate::landing) reference: String,
    /// The commit that it has; `None` if there is nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::landing) at: Option<String>,
    /// The commit that it gets; `None` if it is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::landing) back: Option<String>,
}

/// The branch of one task that a landing made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::landing) struct MadeBranch {
    /// The task.
    pub(in crate::landing) task: TaskName,
    /// The full name of the branch.
    pub(in crate::landing) reference: String,
    /// Its commit.
    pub(in crate::landing) commit: String,
}

/// A branch in a nested repository that a landing made or moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::landing) struct NestedBranch {
    /// The folder of the repository.
    pub(in crate::landing) root: RepoPath,
    /// The tasks with work on it.
    pub(in crate::landing) tasks: Vec<TaskName>,
    /// The branch, and its commits before and after.
    pub(in crate::landing) branch: BranchMove,
}

impl TakenBranch {
    /// Returns whether both are about the same branch.
    pub(in crate::landing) fn is_of_branch(&self, other: &Self) -> bool {
        (&self.root, &self.reference) == (&other.root, &other.reference)
    }
}

impl UndoRecord {
    /// Forgets the changes of a path that could not be taken back.
    pub(in crate::landing) fn leave(&mut self, path: &RepoPath) {
        self.changes.retain(|taken| taken.path != *path);
    }

    /// Returns whether a folder was made by a landing that is taken back.
    pub(in crate::landing) fn made(&self, folder: &RepoPath) -> bool {
        self.folders.binary_search(folder).is_ok()
    }
}
