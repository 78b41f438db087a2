//! Lands the work of a run while holding the landing lock. Landings that earlier engines have left
//! open are finished first.

use std::collections::BTreeSet;
use std::path::Path;

use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{
    CancelToken, Completion, IsolationError, LandingNotice, LandingRequest, LandingTarget,
    RecoveredLanding,
};
use protocol::{Landed, LandingId, LandingReport, RepoPath, RunName, TaskLanding};

use crate::baseline::RunFiles;
use crate::branch::keep_in_memory;
use crate::error::{OrCannot, Result};
use crate::landing::attempt::{Attempt, Exclusions, LandingRules, attempt, merge};
use crate::landing::cut_off::finish_others;
use crate::landing::earlier_work::EarlierWork;
use crate::landing::finish::LandingContext;
use crate::landing::finish_open::finish_open;
use crate::landing::journal::{Journals, State, is_of};
use crate::landing::journal_content::Journal;
use crate::landing::landing_lock::LandingLock;
use crate::landing::locked_folders::git_folders;
use crate::landing::nested_branches;
use crate::landing::on_branch::tip;
use crate::landing::parts::nested_roots;
use crate::landing::undo::MadeBranch;
use crate::landing::user_moves::UserMoves;
use crate::landing::working_tree::WorkingTree;
use crate::merge::MergeRules;
use crate::paths::RepoPaths;
use crate::repository::{Repo, is_cut_off};
use crate::store::TaskStore;
use crate::tree::Tree;

/// The number of interrupted attempts after which a landing leaves out the paths at which it was
/// interrupted.
const MAX_ATTEMPTS: u32 = 3;

/// Lands the tasks of `request`, each completely or not at all, and reports the result of each. The
/// landing can be cancelled until the repository changes.
pub(crate) fn land(
    repo: &Repo,
    paths: &RepoPaths,
    faults: &Faults,
    landing: LandingId,
    request: LandingRequest,
    cancel: &CancelToken,
    notify: &dyn Fn(LandingNotice),
) -> Result<LandingReport> {
    // What the run has captured is read where it is. It is moved into git's format when the run has
    // ended: nobody waits for that.
    let store = TaskStore::open(&paths.store)?.with_journal()?;
    let roots: BTreeSet<RepoPath> = nested_roots(&store, &request.tasks).into_iter().collect();
    let journaled = store.into_journaled();
    let folders = || git_folders(repo, paths, roots.iter().cloned());
    let lock = LandingLock::acquire(&folders, faults, cancel, notify)?;
    let Some(lock) = lock.filter(|_| !cancel.is_cancelled()) else {
        return Err(IsolationError::Withdrawn);
    };
    failpoint!(faults, "landing.begin").or_cannot(|| "begin a landing")?;
    // A landing on a branch that is named moves HEAD itself, or does not depend on it.
    let is_named = matches!(request.target, LandingTarget::Stack { branch: Some(_), .. });
    if let Some(head) = repo.head_move()?.filter(|_| !is_named) {
        notify(LandingNotice::HeadMoved(head));
    }
    finish_others((repo, paths), (&lock, &roots), faults, cancel, notify);
    let store = TaskStore::open(&paths.store)?.with_journaled(journaled);
    let journals = Journals::in_folder(&paths.landings, faults);
    if let LandingTarget::Branches { prefix } = &request.target {
        let owner = Some((&journals, landing));
        let began = RunFiles::of(repo, paths, &request.run);
        let place = (faults, prefix.as_str(), &began);
        let made = nested_branches::make(repo, &store, place, &request, owner);
        let (report, notices) = made?;
        for notice in notices {
            notify(LandingNotice::Degraded(notice));
        }
        record_branches(repo, paths, faults, (&request.run, landing, prefix), &report)?;
        return Ok(report);
    }
    let tree = Tree::open_at(&repo.root)?;
    let context = LandingContext::new(&tree, &store, &journals, faults, cancel, notify);
    // The journals keep these reports, which the next recovery returns.
    finish_open(&context, repo, &BTreeSet::new())?.check_none_of(&request.run)?;
    if let LandingTarget::Stack { prefix, branch } = &request.target {
        let began = RunFiles::of(repo, paths, &request.run);
        let own = (prefix.as_str(), branch.as_ref(), &began);
        let mut report = nested_branches::stack(&context, repo, landing, &request, own)?;
        EarlierWork::of(paths, &request.run).name_in(&repo.git()?, &store, &mut report);
        return Ok(report);
    }
    let rules = landing_rules(repo, paths, &request)?;
    in_tree(&context, landing, &request, &rules)
}

/// Records the branches that a landing has made, so that they can be taken back.
fn record_branches(
    repo: &Repo,
    paths: &RepoPaths,
    faults: &Faults,
    (run, landing, prefix): (&RunName, LandingId, &str),
    report: &LandingReport,
) -> Result<()> {
    let (git, mut made) = (repo.git()?, Vec::new());
    for TaskLanding { task, landed, settled } in &report.tasks {
        let branch = match landed {
            Landed::Landed { branch: Some(branch), .. } => branch.clone(),
            // The rest of the work has landed, beside conflicts that are left.
            Landed::Conflicted { .. } if !settled.landed.is_empty() => {
                format!("{prefix}/{run}/{task}")
            }
            _ => continue,
        };
        let reference = format!("refs/heads/{branch}");
        if let Some(commit) = tip(&git, &reference)? {
            let commit = commit.to_string();
            made.push(MadeBranch { task: task.clone(), reference, commit });
        }
    }
    if made.is_empty() {
        return Ok(());
    }
    let journals = Journals::in_folder(&paths.landings, faults);
    let (id, owner) = (journals.free_id(run)?, (run.clone(), landing));
    let journal = Journal::new(id, owner, Vec::new(), Vec::new(), report.clone());
    journals.write(&journal.making(made), State::Unreported)
}

/// Reports what [`land`] would do with each task of `request` now.
pub(crate) fn dry_run(
    repo: &Repo,
    paths: &RepoPaths,
    faults: &Faults,
    request: &LandingRequest,
) -> Result<LandingReport> {
    let store = TaskStore::open(&paths.store)?;
    // The versions that are compared are only held in memory.
    let odb = store.odb()?;
    let _memory = keep_in_memory(&odb)?;
    if let LandingTarget::Branches { prefix } = &request.target {
        let began = RunFiles::of(repo, paths, &request.run);
        let place = (faults, prefix.as_str(), &began);
        let made = nested_branches::make(repo, &store, place, request, None);
        return made.map(|(report, _told_when_it_lands)| report);
    }
    if let LandingTarget::Stack { prefix, branch } = &request.target {
        let began = RunFiles::of(repo, paths, &request.run);
        let own = (prefix.as_str(), branch.as_ref(), &began);
        let mut report = nested_branches::dry_run_stack(repo, &store, request, own)?;
        EarlierWork::of(paths, &request.run).name_in(&repo.git()?, &store, &mut report);
        return Ok(report);
    }
    let tree = Tree::open_at(&repo.root)?;
    let rules = landing_rules(repo, paths, request)?;
    let target = WorkingTree::of(&tree, &store).tracked_by(repo);
    Ok(merge((&target, &store), request, &rules, &Exclusions::default()).report)
}

/// Finishes the open landings of dead engines and returns their reports. Every recovery returns a
/// report again until `acknowledge` marks it as recorded. Does nothing while another engine is
/// landing. Leaves out the runs in `alive`, whose engines finish their landings themselves. Calls
/// `notify` for each rescue.
pub(crate) fn recover(
    repo: &Repo,
    paths: &RepoPaths,
    faults: &Faults,
    alive: &BTreeSet<RunName>,
    notify: &dyn Fn(LandingNotice),
) -> Result<Vec<RecoveredLanding>> {
    let journals = Journals::in_folder(&paths.landings, faults);
    let is_cut_off = is_cut_off(&repo.common_dir);
    if journals.open()?.is_empty() && journals.unfinished()?.is_empty() && !is_cut_off {
        return Ok(Vec::new());
    }
    let folders = || git_folders(repo, paths, std::iter::empty());
    let Some(_lock) = LandingLock::try_acquire(&folders)? else { return Ok(Vec::new()) };
    let store = TaskStore::open(&paths.store)?;
    let tree = Tree::open_at(&repo.root)?;
    let cancel = &CancelToken::default();
    let context = LandingContext::new(&tree, &store, &journals, faults, cancel, notify);
    Ok(finish_open(&context, repo, alive)?.landings)
}

/// Finishes the landings that dead engines have left partly applied to the tree, also those of the
/// repositories around it. The caller holds `lock` for it. The journals keep the reports, which
/// the next recovery returns.
pub(crate) fn finish_cut_short(
    (repo, paths): (&Repo, &RepoPaths),
    lock: &LandingLock,
    faults: &Faults,
    cancel: &CancelToken,
    notify: &dyn Fn(LandingNotice),
) -> Result<()> {
    finish_others((repo, paths), (lock, &BTreeSet::new()), faults, cancel, notify);
    let journals = Journals::in_folder(&paths.landings, faults);
    if journals.open()?.iter().all(|(_, state)| *state >= State::Unreported) {
        return Ok(());
    }
    let store = TaskStore::open(&paths.store)?;
    let tree = Tree::open_at(&repo.root)?;
    let context = LandingContext::new(&tree, &store, &journals, faults, cancel, notify);
    finish_open(&context, repo, &BTreeSet::new()).map(drop)
}

/// Returns whether any landing is not done, or was killed before its journal was written.
pub(crate) fn is_any_open(paths: &RepoPaths) -> Result<bool> {
    let faults = Faults::default();
    let journals = Journals::in_folder(&paths.landings, &faults);
    Ok(!journals.open()?.is_empty() || !journals.unfinished()?.is_empty())
}

/// Removes the locks that a process left when it died, in a repository that cannot be opened: the
/// unmerged paths that it has staged may be why.
pub(crate) fn release_left_locks(at: &Path) {
    let released = Repo::locate_common_dir(at).and_then(|common_dir| {
        if is_cut_off(&common_dir) {
            // Who takes the lock removes them.
            LandingLock::try_acquire(&|| Ok(vec![common_dir.clone()]))?;
        }
        Ok(())
    });
    if let Err(error) = released {
        tracing::debug!(%error, "locks of a dead process may be left");
    }
}

/// Marks the landings of `run` as recorded in the ledger.
pub(crate) fn acknowledge(paths: &RepoPaths, faults: &Faults, run: &RunName) -> Result<()> {
    let journals = Journals::in_folder(&paths.landings, faults);
    for (id, state) in journals.open()? {
        if state == State::Unreported && is_of(&id, run) {
            journals.put_away(&id)?;
        }
    }
    Ok(())
}

/// Returns the reports of the finished landings of `run`, in their order.
pub(crate) fn done(paths: &RepoPaths, run: &RunName) -> Result<Vec<RecoveredLanding>> {
    let faults = Faults::default();
    let journals = Journals::in_folder(&paths.landings, &faults);
    let mut done = Vec::new();
    for id in journals.done(run)? {
        let journal = journals.read(&id, State::Done)?;
        // Branches in nested repositories have journals of their own, without a report.
        let journal = journal.filter(|journal| journal.nested_branches.is_empty());
        done.extend(journal.map(|journal| RecoveredLanding {
            run: journal.run,
            landing: journal.landing,
            report: journal.report,
            completion: Completion::Earlier,
        }));
    }
    Ok(done)
}

fn landing_rules<'a>(
    repo: &'a Repo,
    paths: &'a RepoPaths,
    request: &'a LandingRequest,
) -> Result<LandingRules<'a>> {
    let files = MergeRules::of(repo, &request.union)?;
    let moves = UserMoves::of(repo, paths, &request.run);
    Ok(LandingRules { files, moves })
}

fn in_tree(
    context: &LandingContext<'_>,
    landing: LandingId,
    request: &LandingRequest,
    rules: &LandingRules<'_>,
) -> Result<LandingReport> {
    let mut exclusions = Exclusions::default();
    let mut interrupted = BTreeSet::new();
    let mut tried = 0;
    loop {
        match attempt(context, landing, (request, rules), &exclusions)? {
            Attempt::Finished(report) => return Ok(report),
            Attempt::Interrupted(paths) => {
                interrupted.extend(paths);
                tried += 1;
                if tried >= MAX_ATTEMPTS {
                    exclusions.contested.clone_from(&interrupted);
                }
            }
            Attempt::Refused(by, why) => {
                let concerned = request.tasks.iter().filter(|task| by.contains(&task.task));
                let captures = concerned.map(|task| (task.capture.clone(), why.clone()));
                exclusions.refused.extend(captures);
            }
        }
    }
}
