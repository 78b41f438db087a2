//! Takes branches back: removes those that landings have made, and moves those to which commits
//! were added. A branch that was moved since is left.

use std::collections::BTreeSet;

use engine::ports::{BranchEnd, UndoReport, UndoneBranch};
use git2::Repository;
use protocol::{LandingId, RepoPath, RunName, TaskName};

use super::history::History;
use super::record::{MadeBranch, TakenBranch, UndoRecord};
use super::report::taken_back;
use crate::branch::{Checkout, checkout};
use crate::error::{Result, cannot, error_text};
use crate::landing::finish::LandingContext;
use crate::landing::journal::State;
use crate::landing::journal_content::Journal;
use crate::landing::on_branch::{BranchMove, failpoint, move_branch, oid, tip};
use crate::nested::nested_of;
use crate::repository::{RefUpdate, RefUpdated, Repo};

/// One branch, and what becomes of it.
pub(super) struct BranchStep {
    /// What is recorded; `None` if the branch is left.
    pub(super) taken: Option<TakenBranch>,
    pub(super) branch: UndoneBranch,
    /// The tasks whose work in a nested repository is left.
    pub(super) left_of: Vec<TaskName>,
}

impl BranchStep {
    /// Returns the step of a branch that is left as it is.
    pub(super) fn left(reference: &str, why: impl Into<String>, hint: Option<String>) -> Self {
        let end = BranchEnd::Left { why: why.into(), hint };
        let branch = UndoneBranch { name: short(reference), nested: None, end };
        Self { taken: None, branch, left_of: Vec::new() }
    }

    /// Returns the step of a branch that is left because it is checked out.
    pub(super) fn busy(reference: &str, checkout: &Checkout) -> Self {
        match checkout {
            Checkout::Elsewhere(_) => {
                Self::left(reference, "it is checked out in another working tree", None)
            }
            Checkout::Here | Checkout::Nowhere => {
                Self::left(reference, "it is checked out", Some("git switch -".to_owned()))
            }
        }
    }

    /// Returns the step of a branch that is taken back, with this end.
    pub(super) fn taking(taken: TakenBranch, end: BranchEnd) -> Self {
        let branch =
            UndoneBranch { name: short(&taken.reference), nested: taken.root.clone(), end };
        Self { taken: Some(taken), branch, left_of: Vec::new() }
    }

    /// Returns the same step in the nested repository in `root`.
    pub(super) fn in_nested(mut self, root: &RepoPath) -> Self {
        if let BranchEnd::Left { hint: Some(hint), .. } = &mut self.branch.end
            && let Some(words) = hint.strip_prefix("git ")
        {
            *hint = format!("git -C {root} {words}");
        }
        self.branch.nested = Some(root.clone());
        self
    }
}

/// Returns the name of a branch without `refs/heads/`.
pub(super) fn short(reference: &str) -> String {
    reference.strip_prefix("refs/heads/").unwrap_or(reference).to_owned()
}

/// Returns what becomes of the branches that landings have made for tasks; for those of `wanted`.
pub(super) fn steps(
    repo: &Repo,
    history: &History,
    wanted: &dyn Fn(&TaskName) -> bool,
) -> Result<Vec<BranchStep>> {
    let git = repo.git()?;
    // The latest of several landings that brought parts of a work to its branch has its commit.
    let mut latest: Vec<(&MadeBranch, Vec<String>)> = Vec::new();
    for landing in history.landings.iter().rev() {
        for made in landing.made.iter().filter(|made| wanted(&made.task)) {
            match latest.iter_mut().find(|(known, _)| known.reference == made.reference) {
                Some((_, landings)) => landings.push(landing.id.clone()),
                None => latest.push((made, vec![landing.id.clone()])),
            }
        }
    }
    latest.into_iter().map(|(made, landings)| step(repo, &git, landings, made)).collect()
}

fn step(
    repo: &Repo,
    git: &Repository,
    landings: Vec<String>,
    made: &MadeBranch,
) -> Result<BranchStep> {
    let MadeBranch { task, reference, commit } = made;
    let name = short(reference);
    let step = |at: Option<String>, end| {
        let (landings, tasks) = (landings.clone(), vec![task.clone()]);
        let reference = reference.clone();
        let taken = TakenBranch { landings, tasks, root: None, reference, at, back: None };
        BranchStep::taking(taken, end)
    };
    let Some(now) = tip(git, reference)? else { return Ok(step(None, BranchEnd::Gone)) };
    if now != oid(commit)? {
        let hint = format!("git branch -D {name}");
        return Ok(BranchStep::left(reference, "it has other commits now", Some(hint)));
    }
    Ok(match checkout(repo, &name)? {
        Checkout::Nowhere => {
            step(Some(commit.clone()), BranchEnd::Removed { commit: commit.clone() })
        }
        busy @ (Checkout::Here | Checkout::Elsewhere(_)) => BranchStep::busy(reference, &busy),
    })
}

/// Returns the report of these steps.
pub(super) fn report(steps: Vec<BranchStep>) -> UndoReport {
    let tasks = steps.iter().filter_map(|step| step.taken.as_ref()).flat_map(|taken| &taken.tasks);
    let report = taken_back(tasks);
    let branches = steps.into_iter().map(|step| step.branch).collect();
    UndoReport { report, branches, ..UndoReport::default() }
}

/// Takes the branches back as `steps` say, and returns what became of each. A branch that somebody
/// moves meanwhile is left.
pub(super) fn carry_out(
    context: &LandingContext<'_>,
    repo: &Repo,
    (run, landing): (&RunName, LandingId),
    mut steps: Vec<BranchStep>,
) -> Result<Vec<BranchStep>> {
    let taken: Vec<TakenBranch> = steps.iter().filter_map(|step| step.taken.clone()).collect();
    if taken.is_empty() {
        return Ok(steps);
    }
    let is_move = |taken: &TakenBranch| taken.at.is_some();
    let state = if taken.iter().any(is_move) { State::Committed } else { State::Unreported };
    let owner = (run.clone(), landing);
    let tasks = taken_back(taken.iter().flat_map(|taken| &taken.tasks));
    let journal = Journal::new(context.journals.free_id(run)?, owner, vec![], vec![], tasks);
    let record = UndoRecord { branches: taken, ..UndoRecord::default() };
    let journal = journal.taking_back(record);
    context.journals.write(&journal, state)?;
    if state == State::Committed {
        let (journal, left) = finish_branches(context, repo, journal)?;
        context.finish(&journal, State::Committed);
        for (lost, why) in left {
            let is_it = |step: &&mut BranchStep| {
                step.taken.as_ref().is_some_and(|taken| taken.is_of_branch(&lost))
            };
            if let Some(step) = steps.iter_mut().find(is_it) {
                *step = BranchStep::left(&lost.reference, why, None);
                if let Some(root) = &lost.root {
                    step.branch.nested = Some(root.clone());
                    step.left_of = lost.tasks;
                }
            }
        }
    }
    Ok(steps)
}

/// Takes back the branches of a journal, also after a crash. Returns the journal without those that
/// are left, and these with the reasons. The caller closes the journal.
pub(in crate::landing) fn finish_branches(
    context: &LandingContext<'_>,
    repo: &Repo,
    mut journal: Journal,
) -> Result<(Journal, Vec<(TakenBranch, String)>)> {
    let mut left = Vec::new();
    let Some(undo) = &mut journal.undo else { return Ok((journal, left)) };
    failpoint(context.faults)?;
    let roots = undo.branches.iter().filter_map(|taken| taken.root.clone());
    let roots: Vec<RepoPath> = roots.collect::<BTreeSet<_>>().into_iter().collect();
    for taken in &undo.branches {
        let given_back = git_of(repo, &roots, taken)
            .and_then(|git| give_back(&git, taken, journal.run.as_str()));
        let why = match given_back {
            Ok(RefUpdated::Yes) => {
                failpoint(context.faults)?;
                continue;
            }
            Ok(RefUpdated::Contested) => "it was moved meanwhile".to_owned(),
            Err(error) => error_text(&error),
        };
        left.push((taken.clone(), why));
    }
    if !left.is_empty() {
        let is_left = |taken: &TakenBranch| left.iter().any(|(lost, _)| lost.is_of_branch(taken));
        undo.branches.retain(|taken| !is_left(taken));
        let tasks = undo.branches.iter().flat_map(|taken| &taken.tasks);
        journal.report = taken_back(tasks);
        context.journals.write(&journal, State::Committed)?;
    }
    Ok((journal, left))
}

/// Opens the repository that has a branch. `roots` are the folders of the nested ones.
fn git_of(repo: &Repo, roots: &[RepoPath], taken: &TakenBranch) -> Result<Repository> {
    let Some(root) = &taken.root else { return repo.git() };
    let found = nested_of(repo, roots, root);
    found.map(|nested| nested.git).map_err(|why| cannot(format!("open {root}"), why))
}

/// Moves or removes one branch, unless another program has moved it.
fn give_back(git: &Repository, taken: &TakenBranch, run: &str) -> Result<RefUpdated> {
    let reference = &taken.reference;
    let Some(at) = &taken.at else { return Ok(RefUpdated::Yes) };
    let now = tip(git, reference)?.map(|now| now.to_string());
    if now == taken.back {
        return Ok(RefUpdated::Yes);
    }
    if now.as_ref() != Some(at) {
        return Ok(RefUpdated::Contested);
    }
    match &taken.back {
        Some(back) => {
            let (reference, from) = (reference.clone(), Some(at.clone()));
            move_branch(git, &BranchMove { reference, from, to: back.clone() }, run)
        }
        None => {
            let (from, why) = (Some(oid(at)?), "");
            RefUpdate { reference, from, to: None, why }.carry_out(git)
        }
    }
}

/// Returns whether a branch that was to lose commits has lost them. If somebody has added commits to
/// those, it has not.
pub(in crate::landing) fn has_returned(git: &Repository, branch: &BranchMove) -> Result<bool> {
    let Some(now) = tip(git, &branch.reference)? else { return Ok(false) };
    let Some(from) = branch.from.as_deref().map(oid).transpose()? else { return Ok(true) };
    let has_commits = now == from || git.graph_descendant_of(now, from).unwrap_or(false);
    Ok(now == oid(&branch.to)? || !has_commits)
}
