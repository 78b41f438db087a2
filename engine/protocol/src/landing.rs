//! What became of the tasks' work.

use serde::{Deserialize, Serialize};

use crate::{RepoPath, RunName, TaskName};

/// What one landing did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingReport {
    /// Every task that was to land, in the order they were tried.
    pub tasks: Vec<TaskLanding>,
}

/// What became of one task's work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLanding {
    /// Whose work.
    pub task: TaskName,
    /// What became of it.
    #[serde(flatten)]
    pub landed: Landed,
}

/// What became of a task's work. Whatever is not landed is kept in the task store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "landing", rename_all = "snake_case")]
pub enum Landed {
    /// It is in the working tree, or on this branch.
    Landed {
        /// The branch, in branch mode.
        branch: Option<String>,
    },
    /// There was nothing to land.
    Unchanged,
    /// It disagrees with what is there.
    Conflicted {
        /// Path by path.
        conflicts: Vec<Conflict>,
    },
    /// It could not be written.
    Unwritten {
        /// Why.
        message: String,
    },
    /// It builds on work that did not land.
    Waiting {
        /// Whose work.
        on: Vec<TaskName>,
    },
}

/// One path on which a task and the tree disagree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// The path.
    pub path: RepoPath,
    /// What the disagreement is.
    pub reason: ConflictReason,
    /// What the task began with; none if the path was not there.
    pub base: Option<Side>,
    /// What is there now.
    pub ours: Option<Side>,
    /// What the task wants.
    pub theirs: Option<Side>,
    /// The task of the same run that put `ours` there, if one did.
    pub with: Option<TaskName>,
}

/// One version of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// Its git mode: 100644, 100755 or 120000.
    pub mode: u32,
    /// The id of its bytes in the task store.
    pub oid: String,
}

/// Why a path conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictReason {
    /// Both changed the same lines.
    Content,
    /// Both changed a file that has no lines.
    Binary,
    /// Both added it, differently.
    BothAdded,
    /// One changed it, the other removed it.
    ChangedAndRemoved,
    /// One made it another kind of thing, the other changed it.
    Kind,
    /// A file stands where a folder is wanted, or the other way round.
    InTheWay,
    /// It builds on a change that is not committed, and a branch has only commits.
    Uncommitted,
    /// A filter program would have to run to commit it.
    Filter,
    /// Someone kept writing it while it was to land.
    Contested,
}

/// A version of a file that a landing replaced, and that turned out to be somebody's work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rescue {
    /// The file.
    pub path: RepoPath,
    /// The run whose landing replaced it.
    pub run: RunName,
    /// Where it is kept.
    pub kept: RescueLocation,
}

/// Where a version of a file is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "in", rename_all = "snake_case")]
pub enum RescueLocation {
    /// In the task store.
    Store {
        /// The folder of the store, a bare repository.
        git_dir: String,
        /// What names the bytes there, as git understands it.
        object: String,
    },
    /// In the working tree: a program still has it open for writing.
    Tree {
        /// Its name there.
        file: RepoPath,
    },
}
