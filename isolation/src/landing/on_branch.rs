//! Lands work on one branch, which moves once for all of it. The move is recorded in a journal
//! first, so that a recovery can tell whether it was made.

use std::collections::BTreeMap;

use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{Completion, IsolationError, LandingNotice, LandingRequest};
use git2::{ErrorCode, Oid, Repository};
use protocol::{Landed, LandingId, LandingReport, Settled, StackBranch};
use serde::{Deserialize, Serialize};

use crate::baseline::RunFiles;
use crate::branch::{Checkout, StackTarget, keep_in_memory, make_stack, write_pack};
use crate::error::{OrCannot, Result, cannot};
use crate::landing::checked_out::{CheckedOut, Places, finish_checked_out};
use crate::landing::finish::LandingContext;
use crate::landing::index_lock::IndexLock;
use crate::landing::journal::State;
use crate::landing::journal_content::Journal;
use crate::landing::plan::Plan;
use crate::landing::undo::has_returned;
use crate::nested::{GitLinks, Part};
use crate::repository::{RefUpdate, RefUpdated, Repo};
use crate::store::TaskStore;
use crate::tree::Tree;

/// How often the commits are made anew because the branch has moved meanwhile.
const MAX_MOVES: u32 = 3;

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

/// The form of the entries of an index in a journal.
pub(super) mod stored_index {
    use git2::Oid;
    use protocol::{RepoPath, Side};
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::file_entry::{Entry, Mode};

    pub(in crate::landing) fn serialize<S: Serializer>(
        index: &[(RepoPath, Option<Entry>)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let stored = index.iter().map(|(path, entry)| (path, entry.map(Entry::to_side)));
        stored.collect::<Vec<_>>().serialize(serializer)
    }

    pub(in crate::landing) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(RepoPath, Option<Entry>)>, D::Error> {
        let entry = |side: Side| {
            let mode =
                Mode::from_git(side.mode).ok_or(D::Error::custom("it is not a file mode"))?;
            let oid = Oid::from_str(&side.oid).map_err(D::Error::custom)?;
            Ok(Entry { mode, oid })
        };
        let stored = Vec::<(RepoPath, Option<Side>)>::deserialize(deserializer)?;
        let read = stored.into_iter().map(|(path, side)| Ok((path, side.map(entry).transpose()?)));
        read.collect()
    }
}

/// The branch of a stack, as a request names it.
#[derive(Clone, Copy)]
pub(super) struct NamedBranch<'a> {
    /// The prefix of the name of the run's own branch.
    pub(super) prefix: &'a str,
    /// The branch, if it is not the run's own.
    pub(super) branch: Option<&'a StackBranch>,
    /// The new commits of submodules.
    pub(super) links: &'a GitLinks,
    /// The files with which the run began.
    pub(super) began: &'a RunFiles<'a>,
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
        if context.cancel.is_cancelled() {
            return Err(IsolationError::Withdrawn);
        }
        let git = repo.git()?;
        let odb = git.odb().or_cannot(|| "open the repository's objects")?;
        let _memory = keep_in_memory(&odb)?;
        let find = || StackTarget::find(repo, &git, (named.prefix, &request.run), named.branch);
        let target = find()?;
        target.check()?;
        let id = context.journals.free_id(&request.run)?;
        let moves = |tip: Oid| BranchMove {
            reference: target.reference(),
            from: target.tip.map(|tip| tip.to_string()),
            to: tip.to_string(),
        };
        let owner = (request.run.clone(), landing);
        let (landed, notices) = if target.checkout == Checkout::Here {
            let places = Places { repo, git: &git, store: context.store, tree: context.tree };
            let mut made = CheckedOut::make(places, &target, (request, named.began))?;
            let Some(tip) = made.stacked.tip else { return Ok(made.stacked.report) };
            let (index, notices) = (made.index(), std::mem::take(&mut made.stacked.notices));
            write(context.faults, &git, repo, tip)?;
            let journal = |plan: Plan, report| {
                let (id, branch) = (id.clone(), moves(tip));
                Journal::new(id, owner, plan.folders, plan.changes, report).moving(branch, index)
            };
            let is_still_there = || Ok(find()? == target);
            (made.land(context, places, journal, &id, is_still_there)?, notices)
        } else {
            let none = BTreeMap::new();
            let work = (context.store, Part::Root(named.links), Some(named.began));
            let stacked = make_stack(repo, &git, work, &target, request, &none)?;
            let Some(tip) = stacked.tip else { return Ok(stacked.report) };
            write(context.faults, &git, repo, tip)?;
            let branch = moves(tip);
            let journal = Journal::new(id, owner, Vec::new(), Vec::new(), stacked.report);
            let journal = journal.moving(branch.clone(), Vec::new());
            (move_alone(context, repo, journal, &branch)?, stacked.notices)
        };
        if let Some(report) = landed {
            for notice in notices {
                (context.notify)(LandingNotice::Degraded(notice));
            }
            return Ok(report);
        }
    }
    let why = "other programs keep changing the branch or its files";
    Err(cannot("add commits to the branch", why))
}

/// Writes the objects of the commits.
fn write(faults: &Faults, git: &Repository, repo: &Repo, tip: Oid) -> Result<()> {
    failpoint(faults)?;
    write_pack(git, repo, tip)?;
    failpoint(faults)
}

/// Moves a branch that is not checked out. Returns `None` if another program has moved it.
fn move_alone(
    context: &LandingContext<'_>,
    repo: &Repo,
    journal: Journal,
    branch: &BranchMove,
) -> Result<Option<LandingReport>> {
    context.journals.write(&journal, State::Committed)?;
    failpoint(context.faults)?;
    match move_branch(&repo.git()?, branch, journal.run.as_str()) {
        Ok(RefUpdated::Yes) => {
            context.finish(&journal, State::Committed);
            Ok(Some(journal.report))
        }
        moved => {
            context.journals.forget(&journal.id)?;
            moved.map(|_contested| None)
        }
    }
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
    if target.checkout == Checkout::Here {
        let tree = &Tree::open_at(&repo.root)?;
        let places = Places { repo, git: &git, store, tree };
        return Ok(CheckedOut::make(places, &target, (request, named.began))?.stacked.report);
    }
    let work = (store, Part::Root(named.links), Some(named.began));
    Ok(make_stack(repo, &git, work, &target, request, &BTreeMap::new())?.report)
}

/// Finishes a landing whose engine died after it had recorded that a branch was to move. Returns
/// `None` if everything is as before.
pub(super) fn finish_move(
    context: &LandingContext<'_>,
    repo: &Repo,
    mut journal: Journal,
    branch: &BranchMove,
) -> Result<Option<(LandingReport, Completion)>> {
    if !journal.index.is_empty() {
        return finish_checked_out(context, repo, journal, branch);
    }
    // A landing whose commits change no file has locked the index all the same.
    IndexLock::release(repo, &journal.id)?;
    let git = repo.git()?;
    let is_there = git.find_commit(oid(&branch.to)?).is_ok();
    let completion = if has_moved(&git, &journal, branch)? {
        Completion::Earlier
    } else {
        let moved = is_there && move_branch(&git, branch, journal.run.as_str())? == RefUpdated::Yes;
        if !moved {
            let why = if is_there { "was moved meanwhile" } else { "did not get its commits" };
            give_up(&mut journal.report, &format!("{} {why}", branch.reference));
            context.journals.write(&journal, State::Committed)?;
        }
        Completion::Now
    };
    let report = journal.report.clone();
    context.end_move(journal)?;
    Ok(Some((report, completion)))
}

/// Reports that nothing has landed.
fn give_up(report: &mut LandingReport, message: &str) {
    for landing in &mut report.tasks {
        if matches!(landing.landed, Landed::Landed { .. }) || !landing.settled.is_empty() {
            landing.landed = Landed::Unwritten { message: message.to_owned() };
            landing.settled = Settled::default();
        }
    }
}

/// Returns whether the branch was moved as the journal says.
pub(super) fn has_moved(git: &Repository, journal: &Journal, branch: &BranchMove) -> Result<bool> {
    match journal.undo {
        Some(_) => has_returned(git, branch),
        None => contains(git, branch),
    }
}

/// Returns whether the branch has the new commits.
fn contains(git: &Repository, branch: &BranchMove) -> Result<bool> {
    let to = oid(&branch.to)?;
    let Some(now) = tip(git, &branch.reference)? else { return Ok(false) };
    // Objects that were never written, or are gone, are in no branch.
    Ok(now == to || git.graph_descendant_of(now, to).unwrap_or(false))
}

/// Moves a branch, unless another program has moved it.
pub(super) fn move_branch(git: &Repository, branch: &BranchMove, run: &str) -> Result<RefUpdated> {
    let from = branch.from.as_deref().map(oid).transpose()?;
    let (reference, to) = (branch.reference.as_str(), Some(oid(&branch.to)?));
    let why = &format!("regatta: the work of run {run}");
    RefUpdate { reference, from, to, why }.carry_out(git)
}

pub(super) fn tip(git: &Repository, reference: &str) -> Result<Option<Oid>> {
    match git.refname_to_id(reference) {
        Ok(tip) => Ok(Some(tip)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error).or_cannot(|| format!("read {reference}")),
    }
}

pub(super) fn oid(text: &str) -> Result<Oid> {
    Oid::from_str(text).or_cannot(|| "read the journal of a landing")
}

pub(super) fn failpoint(faults: &Faults) -> Result<()> {
    failpoint!(faults, "landing.ref").or_cannot(|| "make a branch")
}
