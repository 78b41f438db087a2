//! Which of the landings on one branch are taken back, and where the branch goes.

use engine::ports::BranchEnd;
use git2::{Oid, Repository};
use protocol::{RepoPath, TaskName};

use super::branches::BranchStep;
use super::record::TakenBranch;
use crate::error::Result;
use crate::landing::on_branch::{BranchMove, oid, tip};

/// A landing that moved a branch, in force.
pub(super) struct InForce<'a> {
    /// The identifier of its journal.
    pub(super) id: &'a str,
    /// The tasks whose work it landed.
    pub(super) tasks: &'a [TaskName],
    pub(super) branch: &'a BranchMove,
}

/// What of the landings on one branch is taken back.
pub(super) struct Chain {
    /// What is recorded; without landings if all are left.
    pub(super) taken: TakenBranch,
    /// The commit that the branch has; `None` if it is gone.
    pub(super) now: Option<Oid>,
    /// The commit to which it goes; `None` if it is removed.
    pub(super) back: Option<Oid>,
    /// The landings that are left, with the reason.
    pub(super) left: Vec<BranchStep>,
}

impl Chain {
    /// Compares the branch with the landings that moved it, the last one first.
    pub(super) fn of(
        git: &Repository,
        root: Option<&RepoPath>,
        reference: &str,
        in_force: &[InForce<'_>],
    ) -> Result<Self> {
        let now = tip(git, reference)?;
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        let mut back = now;
        for landing in in_force {
            let moved = landing.branch;
            let to = oid(&moved.to)?;
            match back {
                Some(at) if at == to => {
                    back = moved.from.as_deref().map(oid).transpose()?;
                    taken.push(landing);
                }
                Some(at) if git.graph_descendant_of(at, to).unwrap_or(false) => {
                    let from = moved.from.as_ref().map(|from| format!("{from}.."));
                    let range = format!("{}{}", from.unwrap_or_default(), moved.to);
                    let hint = Some(format!("git revert --no-edit {range}"));
                    left.push(BranchStep::left(reference, "it has other commits since", hint));
                    break;
                }
                // The branch is gone, or was reset.
                _ => taken.push(landing),
            }
        }
        let mut tasks: Vec<TaskName> = Vec::new();
        for task in taken.iter().flat_map(|landing| landing.tasks) {
            // Of work that has landed in parts, each landing names the task.
            if !tasks.contains(task) {
                tasks.push(task.clone());
            }
        }
        let taken = TakenBranch {
            landings: taken.iter().map(|landing| landing.id.to_owned()).collect(),
            tasks,
            root: root.cloned(),
            reference: reference.to_owned(),
            at: now.filter(|_| back != now).map(|now| now.to_string()),
            back: back.filter(|_| back != now).map(|back| back.to_string()),
        };
        Ok(Self { taken, now, back, left })
    }

    /// Returns what becomes of the branch.
    pub(super) fn end(&self) -> BranchEnd {
        match (&self.taken.at, &self.taken.back) {
            (None, _) => BranchEnd::Gone,
            (Some(from), Some(to)) => BranchEnd::Moved { from: from.clone(), to: to.clone() },
            (Some(commit), None) => BranchEnd::Removed { commit: commit.clone() },
        }
    }
}
