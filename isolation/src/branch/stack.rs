//! Makes the commits of a stack: one branch with the work of all tasks, one after the other.

use std::collections::BTreeMap;

use git2::{Oid, Repository};
use protocol::{CaptureRef, Landed, LandingReport, RepoPath, Settled, TaskLanding, TaskName};

use engine::ports::{LandingRequest, LandingTask, Notice};

use crate::baseline::RunFiles;
use crate::branch::clean_filter::Cleaner;
use crate::branch::commit_tree::{CommitTree, RepoBlobs, write_changed_tree};
use crate::branch::commits::{identity, tree_of};
use crate::branch::committed_moves::CommittedMoves;
use crate::branch::make_branches::head;
use crate::branch::merged_by_hand::is_merged;
use crate::branch::replay::{MergedWork, Replay, Replayed};
use crate::branch::settled_work::{
    InTheWay, SettledMerge, SettledWork, Settler, as_one_commit, kept, landed_on, unwritten,
};
use crate::branch::stack_branch::StackTarget;
use crate::error::{OrCannot, Result, error_text};
use crate::merge::{
    MergeRules, MergedPath, Merger, begin_with, missing_predecessors, predecessors,
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

/// Makes the commits of the tasks of `request`, on top of `target`, in `git`. `in_the_way` are the
/// conflicts of tasks that are known already, and `began` the files with which the run began.
pub(crate) fn make_stack(
    repo: &Repo,
    git: &Repository,
    (store, part, began): (&TaskStore, Part<'_>, Option<&RunFiles<'_>>),
    target: &StackTarget,
    request: &LandingRequest,
    in_the_way: &BTreeMap<TaskName, InTheWay>,
) -> Result<Stacked> {
    identity(git)?;
    let head = CommitTree { git, tree: head(git)?.map(|head| head.tree_id()) };
    let cleaner = Cleaner { repo, git, store, head };
    let rules = MergeRules::of(repo, &request.union)?;
    let start = CommitTree { git, tree: tree_of(git, target.base)? };
    let blobs = RepoBlobs(git);
    let moves = CommittedMoves::of(git, began, target.base);
    let merger = Merger::over(&start, &blobs).under(&rules).beside(&moves);
    let tip = target.base;
    let replay = Replay { git, store, rules: &rules };
    let notices = Vec::new();
    let tips = BTreeMap::new();
    let mut stacker =
        Stacker { git, store, part, cleaner, merger, replay, tip, tips, target, notices };
    let landed_changes = |capture: &CaptureRef| {
        let contents = part.of(store.contents(capture)?, git);
        Ok(stacker.cleaner.clean(&contents.changes)?.changes)
    };
    begin_with(&mut stacker.merger, &request.landed, &landed_changes);
    let mut landings: Vec<TaskLanding> = Vec::with_capacity(request.tasks.len());
    for task in &request.tasks {
        let known = in_the_way.get(&task.task).cloned().unwrap_or_default();
        let (landed, settled) = match stacker.merge(task, request, &landings, known) {
            Ok(Merged::Not(landed, settled)) => (landed, settled),
            // After this error the merged trees are not those of the report.
            Ok(Merged::Work(work)) => stacker.commit(task, *work)?,
            Err(error) => unwritten(task, error_text(&error)),
        };
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
    Work(Box<Work>),
    /// It is not merged.
    Not(Landed, Settled),
}

/// The merged work of one task.
struct Work {
    contents: Contents,
    settled: SettledWork,
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
        request: &LandingRequest,
        landings: &[TaskLanding],
        known: InTheWay,
    ) -> Result<Merged> {
        let contents = self.part.of(self.store.contents(&task.capture)?, self.git);
        if contents.changes.is_empty() && self.part.links(&task.task).is_empty() {
            return Ok(Merged::Not(Landed::Unchanged, Settled::default()));
        }
        let on = missing_predecessors(task, landings);
        if !on.is_empty() {
            return Ok(Merged::Not(Landed::Waiting { on }, Settled::default()));
        }
        let (git, base) = (self.git, self.target.base);
        let by_hand = || is_merged(git, base, &task.capture);
        let predecessors = predecessors(task, [&request.tasks, &request.landed]);
        let mut settler = Settler { cleaner: &self.cleaner, merger: &mut self.merger };
        Ok(match settler.merge((task, &predecessors), &contents, known, &by_hand)? {
            SettledMerge::Merged(settled) => Merged::Work(Box::new(Work { contents, settled })),
            SettledMerge::Conflicted(conflicts) => {
                let (landed, settled) = kept(task, conflicts);
                Merged::Not(landed, settled)
            }
            SettledMerge::ByHand => Merged::Not(Landed::Unchanged, Settled::default()),
        })
    }

    /// Commits the merged work of a task.
    fn commit(&mut self, task: &LandingTask, work: Work) -> Result<(Landed, Settled)> {
        let Work { mut contents, settled: SettledWork { clean, added } } = work;
        let what = || "write a tree";
        let last = tree_of(self.git, self.tip)?;
        let before = last.map(|tree| self.git.find_tree(tree)).transpose().or_cannot(what)?;
        let changes = self.merger.last_changes(&task.task)?;
        let tree = write_changed_tree(self.git, before.as_ref(), &changes).or_cannot(what)?;
        let tree = with_git_links(self.git, tree, self.part.links(&task.task))?;
        if last == Some(tree) {
            let is_there = self.target.tip.is_some() || self.tip != self.target.base;
            // Without a choice, an earlier landing or another program has made the same changes.
            let is_settled = is_there && !added.settled.is_empty();
            return Ok(match is_settled || !added.conflicts.is_empty() {
                true => landed_on(&self.target.name, added),
                false => (Landed::Unchanged, added.settled),
            });
        }
        as_one_commit(&mut contents, task, &added);
        let parents: Vec<Oid> = self.tip.into_iter().collect();
        let (contents, clean, parents) = (&contents, &clean[..], &parents[..]);
        let work = MergedWork { task, contents, clean, tree, parents };
        let Replayed { tip, notices } = self.replay.commits(&work)?;
        self.tip = Some(tip);
        self.tips.insert(task.task.clone(), tip);
        self.notices.extend(notices);
        Ok(landed_on(&self.target.name, added))
    }
}
