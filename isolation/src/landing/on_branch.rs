//! Lands work on one branch, which moves once for all of it. The move is recorded in a journal
//! first, so that a recovery can tell whether it was made.

use engine::fault::Faults;
use engine::ports::{Completion, IsolationError, LandingNotice, LandingRequest};
use git2::{ErrorCode, Oid, Repository};
use protocol::{Landed, LandingId, LandingReport, StackBranch};
use serde::{Deserialize, Serialize};
use std::thread;
use std::time::Duration;

use crate::branch::{StackTarget, Stacked, keep_in_memory, make_stack, write_pack};
use crate::error::{OrCannot, Result, cannot};
use crate::landing::finish::LandingContext;
use crate::landing::journal::{Journal, State};
use crate::repository::Repo;
use crate::store::TaskStore;

/// How often the commits are made anew because the branch has moved meanwhile.
const MAX_MOVES: u32 = 3;

/// How often the writing of a reference is tried while another process has locked it.
const TRIES: u32 = 100;

/// The move of a branch, in a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BranchMove {
    /// The full name of the branch.
    pub(super) reference: String,
    /// The commit that it moves from; `None` if it does not exist before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<String>,
    /// The commit that it moves to.
    pub(super) to: String,
}

/// The result of moving a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moved {
    /// The branch is where it was to go.
    Yes,
    /// Somebody else has moved it.
    Contested,
}

/// The branch of a stack, as a request names it.
#[derive(Clone, Copy)]
pub(super) struct NamedBranch<'a> {
    /// The prefix of the name of the run's own branch.
    pub(super) prefix: &'a str,
    /// The branch, if it is not the run's own.
    pub(super) branch: Option<&'a StackBranch>,
}

/// Lands the tasks of `request` on one branch.
pub(super) fn land_on_branch(
    context: &LandingContext<'_>,
    repo: &Repo,
    landing: LandingId,
    request: &LandingRequest,
    named: NamedBranch<'_>,
) -> Result<LandingReport> {
    for _ in 0..MAX_MOVES {
        let git = repo.git()?;
        let odb = git.odb().or_cannot(|| "open the repository's objects")?;
        let _memory = keep_in_memory(&odb)?;
        let own = (named.prefix, &request.run);
        let target = StackTarget::find(repo, &git, own, named.branch)?;
        target.check()?;
        let stacked = make_stack(repo, &git, context.store, &target, request)?;
        let Stacked { report, tip, notices } = stacked;
        let Some(tip) = tip else { return Ok(report) };
        failpoint(context.faults)?;
        write_pack(&git, repo, tip)?;
        failpoint(context.faults)?;
        if context.cancel.is_cancelled() {
            return Err(IsolationError::Withdrawn);
        }
        let branch = BranchMove {
            reference: target.reference(),
            from: target.tip.map(|tip| tip.to_string()),
            to: tip.to_string(),
        };
        let id = context.journals.free_id(&request.run)?;
        let run = (request.run.clone(), landing);
        let journal = Journal::new(id, run, Vec::new(), Vec::new(), report).moving(branch.clone());
        context.journals.write(&journal, State::Committed)?;
        failpoint(context.faults)?;
        match move_branch(&repo.git()?, &branch, &request.run.to_string()) {
            Ok(Moved::Yes) => {
                context.finish(&journal, State::Committed);
                for notice in notices {
                    (context.notify)(LandingNotice::Degraded(notice));
                }
                return Ok(journal.report);
            }
            Ok(Moved::Contested) => context.journals.forget(&journal.id)?,
            Err(error) => {
                context.journals.forget(&journal.id)?;
                return Err(error);
            }
        }
    }
    Err(cannot("add commits to the branch", "somebody else keeps moving it"))
}

/// Reports what [`land_on_branch`] would do, and changes nothing.
pub(super) fn dry_run_on_branch(
    repo: &Repo,
    store: &TaskStore,
    request: &LandingRequest,
    named: NamedBranch<'_>,
) -> Result<LandingReport> {
    let git = repo.git()?;
    let odb = git.odb().or_cannot(|| "open the repository's objects")?;
    let _memory = keep_in_memory(&odb)?;
    let target = StackTarget::find(repo, &git, (named.prefix, &request.run), named.branch)?;
    target.check()?;
    Ok(make_stack(repo, &git, store, &target, request)?.report)
}

/// Finishes a landing whose engine died after it had recorded that a branch was to move.
pub(super) fn finish_move(
    context: &LandingContext<'_>,
    repo: &Repo,
    mut journal: Journal,
    branch: &BranchMove,
) -> Result<(LandingReport, Completion)> {
    let git = repo.git()?;
    let completion = if contains(&git, branch)? {
        Completion::Earlier
    } else if move_branch(&git, branch, &journal.run.to_string())? == Moved::Yes {
        Completion::Now
    } else {
        let message = format!("{} was moved by somebody else meanwhile", branch.reference);
        for landing in &mut journal.report.tasks {
            if let landed @ Landed::Landed { .. } = &mut landing.landed {
                *landed = Landed::Unwritten { message: message.clone() };
            }
        }
        context.journals.write(&journal, State::Committed)?;
        Completion::Now
    };
    let report = journal.report.clone();
    context.end_move(journal)?;
    Ok((report, completion))
}

/// Returns whether the branch has the new commits.
fn contains(git: &Repository, branch: &BranchMove) -> Result<bool> {
    let to = oid(&branch.to)?;
    let Some(now) = tip(git, &branch.reference)? else { return Ok(false) };
    // Objects that were never written, or are gone, are in no branch.
    Ok(now == to || git.graph_descendant_of(now, to).unwrap_or(false))
}

/// Moves a branch, unless somebody else has moved it.
fn move_branch(git: &Repository, branch: &BranchMove, run: &str) -> Result<Moved> {
    let what = || format!("move {}", branch.reference);
    let (from, to) = (branch.from.as_deref().map(oid).transpose()?, oid(&branch.to)?);
    let why = format!("regatta: the work of run {run}");
    let mut tried = 1;
    loop {
        let moved = match from {
            Some(from) => git.reference_matching(&branch.reference, to, true, from, &why),
            None => git.reference(&branch.reference, to, false, &why),
        };
        match moved {
            Ok(_) => return Ok(Moved::Yes),
            Err(error) if error.code() == ErrorCode::Locked && tried < TRIES => {
                tried += 1;
                thread::sleep(Duration::from_millis(20));
            }
            Err(error)
                if matches!(
                    error.code(),
                    ErrorCode::Modified | ErrorCode::Exists | ErrorCode::NotFound
                ) =>
            {
                return Ok(Moved::Contested);
            }
            Err(error) => return Err(error).or_cannot(what),
        }
    }
}

fn tip(git: &Repository, reference: &str) -> Result<Option<Oid>> {
    match git.refname_to_id(reference) {
        Ok(tip) => Ok(Some(tip)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error).or_cannot(|| format!("read {reference}")),
    }
}

fn oid(text: &str) -> Result<Oid> {
    Oid::from_str(text).or_cannot(|| "read the journal of a landing")
}

fn failpoint(faults: &Faults) -> Result<()> {
    faults.failpoint("landing.branch").or_cannot(|| "make a branch")
}
