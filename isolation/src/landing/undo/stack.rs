//! Takes back the commits of landings on one branch. A branch that is checked out moves with its
//! files and its index, as when the commits were added.

use std::collections::BTreeMap;

use engine::ports::{BranchEnd, UndoReport, UndoRequest, UndoScope};
use git2::{DiffFile, DiffOptions, Oid, Repository};
use protocol::{LandingId, RepoPath, TaskName};

use super::branches::{self, BranchStep, short};
use super::chain::{Chain, InForce};
use super::history::History;
use super::record::{TakenBranch, UndoRecord};
use super::refusals::one_of_a_stack;
use super::report::taken_back;
use crate::branch::{Checkout, Stacked, checkout, keep_in_memory};
use crate::error::{OrCannot, Result, cannot};
use crate::file_entry::{Entry, Mode};
use crate::landing::checked_out::{CheckedOut, Places};
use crate::landing::finish::LandingContext;
use crate::landing::journal_content::Journal;
use crate::landing::on_branch::{BranchMove, tip};
use crate::landing::plan::Plan;
use crate::merge::MergedPath;
use crate::repository::Repo;
use crate::store::TaskStore;
use crate::tree::Tree;

/// How often the undo is begun anew because the branch or its files have changed meanwhile.
const MAX_ATTEMPTS: u32 = 3;

/// How many paths a message names.
const NAMED: usize = 3;

/// What becomes of the branch.
enum StackPlan {
    /// The reference moves, is removed, or stays.
    Reference(Vec<BranchStep>),
    /// The branch is checked out, and moves with its files.
    WithFiles { taken: TakenBranch, from: Oid, to: Oid, left: Vec<BranchStep> },
}

/// The undo of the commits of a run on one branch.
pub(super) struct StackUndo<'a> {
    pub(super) repo: &'a Repo,
    pub(super) request: &'a UndoRequest,
    pub(super) history: &'a History,
}

impl StackUndo<'_> {
    /// Takes the commits back.
    pub(super) fn carry_out(
        &self,
        context: &LandingContext<'_>,
        landing: LandingId,
    ) -> Result<UndoReport> {
        for _ in 0..MAX_ATTEMPTS {
            match self.plan()? {
                StackPlan::Reference(steps) => {
                    let owner = (&self.request.run, landing);
                    let steps = branches::carry_out(context, self.repo, owner, steps)?;
                    return Ok(branches::report(steps));
                }
                StackPlan::WithFiles { taken, from, to, left } => {
                    let with_files = (&taken, from, to);
                    match self.move_with_files(context, landing, with_files)? {
                        Moving::Done(paths) => {
                            return Ok(report_with_files(&taken, paths, left));
                        }
                        Moving::Left(step) => return Ok(branches::report(vec![*step])),
                        Moving::Again => {}
                    }
                }
            }
        }
        let why = "other programs keep changing the branch or its files";
        Err(cannot("take back the commits of a branch", why))
    }

    /// Reports what [`Self::carry_out`] would do now.
    pub(super) fn preview(&self, (tree, store): (&Tree, &TaskStore)) -> Result<UndoReport> {
        match self.plan()? {
            StackPlan::Reference(steps) => Ok(branches::report(steps)),
            StackPlan::WithFiles { taken, from, to, left } => {
                let git = self.repo.git()?;
                let odb = git.odb().or_cannot(|| "open the repository's objects")?;
                let _memory = keep_in_memory(&odb)?;
                let places = Places { repo: self.repo, git: &git, store, tree };
                match files(places, &taken, (from, to))? {
                    Ok((_, files)) => {
                        Ok(report_with_files(&taken, files.into_keys().collect(), left))
                    }
                    Err(step) => Ok(branches::report(vec![step])),
                }
            }
        }
    }

    fn plan(&self) -> Result<StackPlan> {
        let git = self.repo.git()?;
        let in_force = self.history.landings.iter().rev().filter_map(|landing| {
            let (id, tasks) = (landing.id.as_str(), landing.landed.as_slice());
            Some(InForce { id, tasks, branch: landing.branch.as_ref()? })
        });
        let in_force: Vec<InForce<'_>> = in_force.collect();
        let Some(last) = in_force.first() else { return Ok(StackPlan::Reference(vec![])) };
        let reference = &last.branch.reference;
        check_scope(self.request, &in_force, reference)?;
        let chain = Chain::of(&git, None, reference, &in_force)?;
        let end = chain.end();
        let Chain { taken, now, back, mut left } = chain;
        if taken.landings.is_empty() {
            return Ok(StackPlan::Reference(left));
        }
        let step = |taken| BranchStep::taking(taken, end);
        let (Some(_), Some(from)) = (&taken.at, now) else {
            left.insert(0, step(taken));
            return Ok(StackPlan::Reference(left));
        };
        Ok(match (checkout(self.repo, &short(reference))?, back) {
            (Checkout::Nowhere, _) => {
                left.insert(0, step(taken));
                StackPlan::Reference(left)
            }
            (Checkout::Here, Some(to)) => StackPlan::WithFiles { taken, from, to, left },
            (checkout, _) => StackPlan::Reference(vec![BranchStep::busy(reference, &checkout)]),
        })
    }

    fn move_with_files(
        &self,
        context: &LandingContext<'_>,
        landing: LandingId,
        (taken, from, to): (&TakenBranch, Oid, Oid),
    ) -> Result<Moving> {
        let (repo, run) = (self.repo, &self.request.run);
        let git = repo.git()?;
        let odb = git.odb().or_cannot(|| "open the repository's objects")?;
        let _memory = keep_in_memory(&odb)?;
        let places = Places { repo, git: &git, store: context.store, tree: context.tree };
        let (changed, files) = match files(places, taken, (from, to))? {
            Ok(found) => found,
            Err(step) => return Ok(Moving::Left(Box::new(step))),
        };
        let paths = files.keys().cloned().collect();
        let report = taken_back(taken.tasks.iter());
        let (tips, notices) = (BTreeMap::new(), Vec::new());
        let stacked = Stacked { report, tip: Some(to), tips, changed, notices };
        let checked_out = CheckedOut::of(stacked, files);
        let (id, index) = (context.journals.free_id(run)?, checked_out.index());
        let (reference, from_text) = (taken.reference.clone(), Some(from.to_string()));
        let moves = BranchMove { reference, from: from_text, to: to.to_string() };
        let folders = self.history.folders();
        let record = UndoRecord { branches: vec![taken.clone()], folders, ..Default::default() };
        let journal = |plan: Plan, report| {
            let owner = (run.clone(), landing);
            let journal = Journal::new(id.clone(), owner, plan.folders, plan.changes, report);
            journal.moving(moves, index).taking_back(record)
        };
        let is_still_there = || {
            let is_here = checkout(repo, &short(&taken.reference))? == Checkout::Here;
            Ok(is_here && tip(&git, &taken.reference)? == Some(from))
        };
        let ended = checked_out.land(context, places, journal, &id, is_still_there)?;
        Ok(if ended.is_some() { Moving::Done(paths) } else { Moving::Again })
    }
}

/// Checks that the request is about all the work on the branch.
pub(super) fn check_scope(
    request: &UndoRequest,
    in_force: &[InForce<'_>],
    reference: &str,
) -> Result<()> {
    let is_wanted = |name: &TaskName| request.tasks.iter().any(|task| task.task == *name);
    let mut landed = in_force.iter().flat_map(|landing| landing.tasks);
    match request.scope {
        UndoScope::Tasks if !landed.all(is_wanted) => {
            Err(one_of_a_stack(&request.run, &short(reference)))
        }
        UndoScope::Tasks | UndoScope::Run => Ok(()),
    }
}

/// The result of an attempt to move a branch with its files.
enum Moving {
    /// It was moved, and these files have changed.
    Done(Vec<RepoPath>),
    /// It is left.
    Left(Box<BranchStep>),
    /// Another program was faster, and nothing has changed.
    Again,
}

fn report_with_files(
    taken: &TakenBranch,
    paths: Vec<RepoPath>,
    left: Vec<BranchStep>,
) -> UndoReport {
    let (from, to) = (taken.at.clone(), taken.back.clone());
    let end = BranchEnd::Moved { from: from.unwrap_or_default(), to: to.unwrap_or_default() };
    let mut steps = vec![BranchStep::taking(taken.clone(), end)];
    steps.extend(left);
    UndoReport { paths, ..branches::report(steps) }
}

/// The changes between two commits, and the files as they are and will be in the working tree.
type Changed = (BTreeMap<RepoPath, MergedPath>, BTreeMap<RepoPath, MergedPath>);

/// Returns what changes in the working tree when the branch moves, or the step that leaves it because
/// something there is not committed.
fn files(
    places: Places<'_>,
    taken: &TakenBranch,
    commits: (Oid, Oid),
) -> Result<std::result::Result<Changed, BranchStep>> {
    let range = format!("{}..{}", commits.1, commits.0);
    let left = |why: String| {
        let hint = Some(format!("git revert --no-edit {range}"));
        Ok(Err(BranchStep::left(&taken.reference, why, hint)))
    };
    let Some(changed) = changed_paths(places.git, commits, &taken.tasks)? else {
        return left("its commits change a submodule".to_owned());
    };
    let (mut files, mut uncommitted) = (BTreeMap::new(), Vec::new());
    for (path, merged) in &changed {
        match places.file(path, merged)? {
            Ok(file) => drop(files.insert(path.clone(), file)),
            Err(_conflict) => uncommitted.push(path.to_string()),
        }
    }
    if uncommitted.is_empty() {
        return Ok(Ok((changed, files)));
    }
    let more = uncommitted.len().saturating_sub(NAMED);
    uncommitted.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let paths = uncommitted.join(", ");
    left(format!("it is checked out, and these have changes that are not committed: {paths}{more}"))
}

/// Returns the changes from one commit to another; `None` if they change a submodule.
fn changed_paths(
    git: &Repository,
    (from, to): (Oid, Oid),
    by: &[TaskName],
) -> Result<Option<BTreeMap<RepoPath, MergedPath>>> {
    let what = || format!("compare {from} with {to}");
    let tree = |id: Oid| git.find_commit(id).and_then(|commit| commit.tree());
    let (old, new) = (tree(from).or_cannot(what)?, tree(to).or_cannot(what)?);
    let mut options = DiffOptions::new();
    // Without this option, a file that became a symlink would be reported as two changes.
    options.include_typechange(true);
    let diff = git.diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options));
    let diff = diff.or_cannot(what)?;
    let side = |file: DiffFile<'_>| match (u32::from(file.mode()), file.id()) {
        (0, _) => Some(None),
        (mode, oid) => Some(Some(Entry { mode: Mode::from_git(mode)?, oid })),
    };
    let mut changed = BTreeMap::new();
    for delta in diff.deltas() {
        let path = delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes());
        let path = path.and_then(RepoPath::new).ok_or("it has a path that is none");
        let path = path.or_cannot(what)?;
        let (Some(before), Some(after)) = (side(delta.old_file()), side(delta.new_file())) else {
            return Ok(None);
        };
        changed.insert(path, MergedPath { before, after, by: by.to_vec() });
    }
    Ok(Some(changed))
}
