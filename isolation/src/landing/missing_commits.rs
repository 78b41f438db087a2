//! Finds the submodules whose new commit is nowhere in the user's repositories. It cannot become a
//! part of a branch: that is a conflict at the submodule's path.

use std::collections::BTreeMap;

use engine::ports::{ConflictingRest, LandingRequest, LandingTask, SettleChoice};
use git2::Oid;
use protocol::{
    Conflict, ConflictReason, Landed, LandingReport, RepoPath, Side, TaskLanding, TaskName,
};

use crate::branch::head_tree;
use crate::error::Result;
use crate::landing::parts::{PartLanding, Parts};
use crate::nested::git_link;

/// The mode of a submodule in a tree.
const GITLINK: u32 = 0o160_000;

impl Parts<'_> {
    /// Returns the conflicts of the tasks of `request` whose parts gave `landings` when they were
    /// tried. A choice that leaves the submodule as it is settles one.
    pub(super) fn missing_commits(
        &self,
        request: &LandingRequest,
        landings: &BTreeMap<&RepoPath, PartLanding>,
    ) -> Result<LandingReport> {
        let git = self.repo.git()?;
        let Some(tree) = head_tree(&git)? else { return Ok(LandingReport::default()) };
        let mut tasks = Vec::new();
        for task in &request.tasks {
            // Landing the task reports a capture that cannot be read.
            let Ok(contents) = self.store.contents(&task.capture) else { continue };
            let mut conflicts = Vec::new();
            for work in contents.nested.iter().filter(|work| work.has_moved()) {
                let has_work =
                    landings.get(&work.path).is_some_and(|landing| lands(landing, &task.task));
                let Some(to) = work.to else { continue };
                if has_work || self.on_the_users_side(work).is_some() || stays(task, &work.path) {
                    continue;
                }
                if let Some(now) = git_link(&git, tree, &work.path)? {
                    let [base, ours, theirs] = [work.from, Some(now), Some(to)].map(side);
                    let (path, reason) = (work.path.clone(), ConflictReason::MissingCommit);
                    let (with, renamed) = (None, None);
                    let conflict = Conflict { path, reason, base, ours, theirs, with, renamed };
                    conflicts.push(conflict);
                }
            }
            if !conflicts.is_empty() {
                let landed = Landed::Conflicted { conflicts };
                tasks.push(TaskLanding::of(task.task.clone(), landed));
            }
        }
        Ok(LandingReport { tasks })
    }
}

/// Returns whether the work of a task in a nested repository becomes a commit there, or is one.
fn lands(landing: &PartLanding, task: &TaskName) -> bool {
    let is_landed = |landing: &&TaskLanding| {
        landing.task == *task && matches!(landing.landed, Landed::Landed { .. })
    };
    landing.tips.contains_key(task) || landing.report.tasks.iter().any(|one| is_landed(&one))
}

/// Returns whether the submodule at a path stays as it is, because the user has chosen that.
fn stays(task: &LandingTask, path: &RepoPath) -> bool {
    task.settle.rest == ConflictingRest::LandClean
        || matches!(task.settle.choice(path), Some(SettleChoice::Ours))
}

fn side(commit: Option<Oid>) -> Option<Side> {
    commit.map(|oid| Side { mode: GITLINK, oid: oid.to_string() })
}
