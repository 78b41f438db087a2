//! The types with which landed work is taken back.

use protocol::{CaptureRef, Conflict, LandingReport, RepoPath, RunName, TaskName};

/// A request to take back what the landings of a run have written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoRequest {
    /// The run.
    pub run: RunName,
    /// How much of the run is taken back.
    pub scope: UndoScope,
    /// The tasks whose work has landed and is to be taken back, in the order of their declaration.
    pub tasks: Vec<UndoTask>,
}

/// How much of a run is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoScope {
    /// Everything that has landed.
    Run,
    /// The work of the tasks of the request, and nothing else.
    Tasks,
}

/// A task whose work is to be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoTask {
    /// The task.
    pub task: TaskName,
    /// Its work; `None` if it was discarded.
    pub capture: Option<CaptureRef>,
}

/// What was taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoReport {
    /// The tasks of which something was taken back, each as
    /// [`Landed::TakenBack`](protocol::Landed::TakenBack). A task that is missing is as before.
    pub report: LandingReport,
    /// The files that have changed, sorted.
    pub paths: Vec<RepoPath>,
    /// What was left as it is: the base is the version that had landed, ours what is there, and
    /// theirs what was there before. Sorted by path.
    pub left: Vec<Conflict>,
    /// The branches of the landings.
    pub branches: Vec<UndoneBranch>,
    /// Tasks whose work was in the tree before it landed, so that their landing wrote nothing.
    pub unwritten: Vec<TaskName>,
}

/// What became of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoneBranch {
    /// Its name, without `refs/heads/`.
    pub name: String,
    /// The folder of the nested repository that has it; `None` if it is in the user's.
    pub nested: Option<RepoPath>,
    /// What became of it.
    pub end: BranchEnd,
}

/// What became of a branch of a landing that is taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchEnd {
    /// It is removed.
    Removed {
        /// The commit that it had.
        commit: String,
    },
    /// It is where it was before the landing.
    Moved {
        /// The commit that it had.
        from: String,
        /// The commit that it has now.
        to: String,
    },
    /// It does not have the work any more, because the user has removed or reset it.
    Gone,
    /// It is left as it is.
    Left {
        /// The reason.
        why: String,
        /// The command by which the user can go on, if there is one.
        hint: Option<String>,
    },
}

impl UndoReport {
    /// Returns whether something was left as it is.
    #[must_use]
    pub fn has_left(&self) -> bool {
        let is_left = |branch: &UndoneBranch| matches!(branch.end, BranchEnd::Left { .. });
        !self.left.is_empty() || !self.unwritten.is_empty() || self.branches.iter().any(is_left)
    }
}
