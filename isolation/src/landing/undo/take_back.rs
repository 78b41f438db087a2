//! Takes landings back while holding the landing lock.

use std::collections::BTreeSet;
use std::path::Path;

use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{
    CancelToken, IsolationError, LandingNotice, UndoReport, UndoRequest, UndoScope,
};
use protocol::{CaptureRef, LandingId, RepoPath, TaskName};

use super::branches;
use super::files::FileUndo;
use super::history::History;
use super::nested;
use super::refusals::no_record;
use super::stack::StackUndo;
use crate::branch::keep_in_memory;
use crate::error::{OrCannot, Result};
use crate::landing::attempt::LandingRules;
use crate::landing::cut_off::finish_others;
use crate::landing::finish::LandingContext;
use crate::landing::finish_open::finish_open;
use crate::landing::journal::Journals;
use crate::landing::landing_lock::LandingLock;
use crate::landing::locked_folders::{git_folders, roots_of};
use crate::landing::presence::{WorkInTree, work_in_tree};
use crate::landing::user_moves::UserMoves;
use crate::merge::MergeRules;
use crate::paths::RepoPaths;
use crate::repository::Repo;
use crate::store::TaskStore;
use crate::tree::Tree;

/// Takes back what the landings of a run have written. It can be cancelled until something changes.
pub(crate) fn undo(
    repo: &Repo,
    paths: &RepoPaths,
    faults: &Faults,
    (landing, request): (LandingId, &UndoRequest),
    (cancel, notify): (&CancelToken, &dyn Fn(LandingNotice)),
) -> Result<UndoReport> {
    let store = existing_store(paths, request)?.with_faults(faults);
    store.settle()?;
    let journals = Journals::in_folder(&paths.landings, faults);
    let captures = request.tasks.iter().filter_map(|task| task.capture.as_ref());
    let captured: BTreeSet<RepoPath> =
        captures.filter_map(|capture| store.nested_roots(capture).ok()).flatten().collect();
    let roots = || Ok(&roots_of(&journals, &request.run)? | &captured);
    let folders = || git_folders(repo, paths, roots()?.into_iter());
    let lock = LandingLock::acquire(&folders, faults, cancel, notify)?;
    let Some(lock) = lock.filter(|_| !cancel.is_cancelled()) else {
        return Err(IsolationError::Withdrawn);
    };
    failpoint!(faults, "landing.begin").or_cannot(|| "begin to take a landing back")?;
    finish_others((repo, paths), (&lock, &roots()?), faults, cancel, notify);
    let tree = Tree::open_at(&repo.root)?;
    let context = LandingContext::new(&tree, &store, &journals, faults, cancel, notify);
    // The journals keep these reports, which the next recovery returns.
    finish_open(&context, repo, &BTreeSet::new())?.check_none_of(&request.run)?;
    let history = read_history(&journals, request)?;
    let is_whole = |task: &TaskName| !history.has_own_work(task);
    let steps = nested::steps(repo, &history, request, &is_whole)?;
    let owner = (&request.run, landing);
    let steps = branches::carry_out(&context, repo, owner, steps)?;
    let own = match kind(&history) {
        Kind::Nested => Ok(UndoReport::default()),
        Kind::Branches => {
            let steps = branches::steps(repo, &history, &is_wanted(request))?;
            branches::carry_out(&context, repo, owner, steps).map(branches::report)
        }
        Kind::Stack => StackUndo { repo, request, history: &history }.carry_out(&context, landing),
        Kind::Files => {
            let rules = rules(repo, paths, request)?;
            let is_there = |capture: &CaptureRef| is_there(&repo.root, paths, &store, capture);
            let (history, rules, is_there) = (&history, &rules, &is_there);
            FileUndo { request, history, rules, is_there }.carry_out(&context, landing)
        }
    };
    Ok(nested::joined(own?, steps))
}

/// Reports what [`undo`] would do now, and changes nothing.
pub(crate) fn dry_run_undo(
    repo: &Repo,
    paths: &RepoPaths,
    faults: &Faults,
    request: &UndoRequest,
) -> Result<UndoReport> {
    let store = existing_store(paths, request)?;
    // The versions that are compared are only held in memory.
    let odb = store.odb()?;
    let _memory = keep_in_memory(&odb)?;
    let tree = Tree::open_at(&repo.root)?;
    let history = read_history(&Journals::in_folder(&paths.landings, faults), request)?;
    let is_whole = |task: &TaskName| !history.has_own_work(task);
    let steps = nested::steps(repo, &history, request, &is_whole)?;
    let own = match kind(&history) {
        Kind::Nested => Ok(UndoReport::default()),
        Kind::Branches => {
            Ok(branches::report(branches::steps(repo, &history, &is_wanted(request))?))
        }
        Kind::Stack => StackUndo { repo, request, history: &history }.preview((&tree, &store)),
        Kind::Files => {
            let rules = rules(repo, paths, request)?;
            let is_there = |capture: &CaptureRef| is_there(&repo.root, paths, &store, capture);
            let (history, rules, is_there) = (&history, &rules, &is_there);
            FileUndo { request, history, rules, is_there }.preview((&tree, &store))
        }
    };
    Ok(nested::joined(own?, steps))
}

/// Where the work of a run has landed.
enum Kind {
    /// In the working tree.
    Files,
    /// On a branch for each task.
    Branches,
    /// On one branch.
    Stack,
    /// Only in nested repositories, on branches.
    Nested,
}

fn kind(history: &History) -> Kind {
    if history.landings.iter().any(|landing| !landing.made.is_empty()) {
        Kind::Branches
    } else if history.landings.iter().any(|landing| landing.branch.is_some()) {
        Kind::Stack
    } else if history.landings.iter().all(|landing| landing.is_nested) {
        Kind::Nested
    } else {
        Kind::Files
    }
}

fn existing_store(paths: &RepoPaths, request: &UndoRequest) -> Result<TaskStore> {
    TaskStore::open_existing(&paths.store)?.ok_or_else(|| no_record(&request.run))
}

fn read_history(journals: &Journals<'_>, request: &UndoRequest) -> Result<History> {
    let history = History::read(journals, &request.run)?;
    if history.landings.is_empty() { Err(no_record(&request.run)) } else { Ok(history) }
}

/// Returns whether the work of a task is to be taken back.
fn is_wanted(request: &UndoRequest) -> impl Fn(&TaskName) -> bool {
    move |name| match request.scope {
        UndoScope::Run => true,
        UndoScope::Tasks => request.tasks.iter().any(|task| task.task == *name),
    }
}

fn rules<'a>(
    repo: &'a Repo,
    paths: &'a RepoPaths,
    request: &'a UndoRequest,
) -> Result<LandingRules<'a>> {
    let files = MergeRules::of(repo, &[])?.without_joining();
    let moves = UserMoves::of_all(repo, paths, &request.run);
    Ok(LandingRules { files, moves })
}

/// Returns whether all the work of a capture is in the tree.
fn is_there(
    root: &Path,
    paths: &RepoPaths,
    store: &TaskStore,
    capture: &CaptureRef,
) -> Result<bool> {
    let found = work_in_tree(root, paths, store, std::slice::from_ref(capture))?;
    Ok(found.iter().all(|found| *found == WorkInTree::Whole))
}
