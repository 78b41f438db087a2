//! Makes the commits of a stack: one branch with the work of all tasks, one after the other.

use std::collections::BTreeMap;

use git2::{Oid, Repository};
use protocol::{Conflict, Landed, LandingReport, RepoPath, Settled, TaskLanding, TaskName};

use engine::ports::{LandingRequest, LandingTask, Notice};

use crate::branch::clean_filter::Cleaner;
use crate::branch::commit_tree::{CommitTree, RepoBlobs, write_changed_tree};
use crate::branch::commits::{identity, tree_of};
use crate::branch::make_branches::head;
use crate::branch::merged_by_hand::is_merged;
use crate::branch::replay::{MergedWork, Replay, Replayed};
use crate::branch::stack_branch::StackTarget;
use crate::error::{OrCannot, Result, error_text};
use crate::file_entry::Change;
use crate::merge::{
    MergeRules, MergedPath, Merger, mark_setup_conflicts, missing_predecessors, predecessors,
};
use crate::nested::{Part, with_git_links};
use crate::repository::Repo;
use crate::store::{Contents, TaskStore};

/// The commits of a stack, which no branch has yet.
pub(crate) struct Stacked {
    /// The report of each task, as if the branch had the commits.
    pub(crate) report: LandingReport,
    /// The new tip of the branch; `None` if no commit was made.
    pub(crate) tip: Option<Oid>,
    /// The last commit of each task that has commits.
    pub(crate) tips: BTreeMap<TaskName, Oid>,
    /// Every path that the commits change.
    pub(crate) changed: BTreeMap<RepoPath, MergedPath>,
    /// What is not as the user may expect.
    pub(crate) notices: Vec<Notice>,
}

/// Makes the commits of the tasks of `request`, on top of `target`, in `git`. The tasks of
/// `in_the_way` are left out, with these conflicts.
pub(crate) fn make_stack(
    repo: &Repo,
    git: &Repository,
    (store, part): (&TaskStore, Part<'_>),
    target: &StackTarget,
    request: &LandingRequest,
    in_the_way: &BTreeMap<TaskName, Vec<Conflict>>,
) -> Result<Stacked> {
    identity(git)?;
    let head = CommitTree { git, tree: head(git)?.map(|head| head.tree_id()) };
    let cleaner = Cleaner { repo, git, store, head };
    let rules = MergeRules::of(repo, &request.union)?;
    let start = CommitTree { git, tree: tree_of(git, target.base)? };
    let blobs = RepoBlobs(git);
    let merger = Merger::over(&start, &blobs).under(&rules);
    let tip = target.base;
    let replay = Replay { git, store, rules: &rules };
    let notices = Vec::new();
    let tips = BTreeMap::new();
    let mut stacker =
        Stacker { git, store, part, cleaner, merger, replay, tip, tips, target, notices };
    let mut landings: Vec<TaskLanding> = Vec::with_capacity(request.tasks.len());
    for task in &request.tasks {
        let merged = match in_the_way.get(&task.task).cloned() {
            Some(conflicts) => Ok(Merged::Not(Landed::Conflicted { conflicts })),
            None => stacker.merge(task, &request.tasks, &landings),
        };
        let landed = match merged {
            Ok(Merged::Not(landed)) => landed,
            // After this error the merged trees are not those of the report.
            Ok(Merged::Work(work)) => stacker.commit(task, work)?,
            Err(error) => Landed::Unwritten { message: error_text(&error) },
        };
        let settled = Settled::default();
        landings.push(TaskLanding { task: task.task.clone(), landed, settled });
    }
    let tip = stacker.tip.filter(|tip| Some(*tip) != target.base);
    let changed = stacker.merger.so_far()?;
    let report = LandingReport { tasks: landings };
    let Stacker { tips, notices, .. } = stacker;
    Ok(Stacked { report, tip, tips, changed, notices })
}

/// The result of merging the work of one task.
enum Merged {
    /// It is merged, and becomes commits.
    Work(Work),
    /// It is not merged.
    Not(Landed),
}

/// The merged work of one task.
struct Work {
    contents: Contents,
    /// The changes with the blobs that git would commit.
    clean: Vec<Change>,
    joined: Vec<RepoPath>,
}

struct Stacker<'a> {
    git: &'a Repository,
    store: &'a TaskStore,
    /// The part of each task's work that lands in the repository.
    part: Part<'a>,
    cleaner: Cleaner<'a>,
    merger: Merger<'a>,
    replay: Replay<'a>,
    /// The last commit.
    tip: Option<Oid>,
    /// The last commit of each task.
    tips: BTreeMap<TaskName, Oid>,
    target: &'a StackTarget,
    notices: Vec<Notice>,
}

impl Stacker<'_> {
    /// Merges the work of a task into the tree of the last commit.
    fn merge(
        &mut self,
        task: &LandingTask,
        tasks: &[LandingTask],
        landings: &[TaskLanding],
    ) -> Result<Merged> {
        let contents = self.part.of(self.store.contents(&task.capture)?, self.git);
        if contents.changes.is_empty() && self.part.links(&task.task).is_empty() {
            return Ok(Merged::Not(Landed::Unchanged));
        }
        let on = missing_predecessors(task, landings);
        if !on.is_empty() {
            return Ok(Merged::Not(Landed::Waiting { on }));
        }
        let clean = match self.cleaner.clean(&contents.changes)? {
            Ok(clean) => clean,
            Err(conflicts) => return Ok(Merged::Not(Landed::Conflicted { conflicts })),
        };
        match self.merger.add(&task.task, &predecessors(task, tasks), &clean)? {
            Ok(joined) => Ok(Merged::Work(Work { contents, clean, joined })),
            Err(_) if is_merged(self.git, self.target.base, &task.capture)? => {
                Ok(Merged::Not(Landed::Unchanged))
            }
            Err(conflicts) => {
                let mut conflicts = self.cleaner.explain(conflicts, &contents.changes, &clean)?;
                mark_setup_conflicts(&mut conflicts, &contents.setup);
                Ok(Merged::Not(Landed::Conflicted { conflicts }))
            }
        }
    }

    /// Commits the merged work of a task.
    fn commit(&mut self, task: &LandingTask, work: Work) -> Result<Landed> {
        let Work { contents, clean, joined } = work;
        let what = || "write a tree";
        let last = tree_of(self.git, self.tip)?;
        let before = last.map(|tree| self.git.find_tree(tree)).transpose().or_cannot(what)?;
        let changes = self.merger.last_changes(&task.task)?;
        let tree = write_changed_tree(self.git, before.as_ref(), &changes).or_cannot(what)?;
        let tree = with_git_links(self.git, tree, self.part.links(&task.task))?;
        if last == Some(tree) {
            // An earlier landing, or somebody else, has made the same changes.
            return Ok(Landed::Unchanged);
        }
        let parents: Vec<Oid> = self.tip.into_iter().collect();
        let (contents, clean, parents) = (&contents, &clean[..], &parents[..]);
        let work = MergedWork { task, contents, clean, tree, parents };
        let Replayed { tip, notices } = self.replay.commits(&work)?;
        self.tip = Some(tip);
        self.tips.insert(task.task.clone(), tip);
        self.notices.extend(notices);
        Ok(Landed::Landed { branch: Some(self.target.name.clone()), joined })
    }
}
