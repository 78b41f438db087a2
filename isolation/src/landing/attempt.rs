//! One attempt at a landing. Everything is computed and staged before the tree changes, and
//! everything is rolled back if something goes wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use engine::failpoint;
use engine::ports::{IsolationError, LandingRequest};
use protocol::{CaptureRef, Landed, LandingId, LandingReport, RepoPath, Settled, TaskName};

use crate::error::{OrCannot, Result, cannot, error_text};
use crate::file_entry::{Change, Entry};
use crate::landing::apply::{Applied, Applier};
use crate::landing::finish::LandingContext;
use crate::landing::journal::State;
use crate::landing::journal_content::Journal;
use crate::landing::parts::nested_roots;
use crate::landing::plan::FileChange;
use crate::landing::plan::Plan;
use crate::landing::user_moves::UserMoves;
use crate::landing::working_tree::WorkingTree;
use crate::landing::write_file::Synced;
use crate::merge::{
    MergeRules, MergedPath, Merger, TaskChange, begin_with, clash, mark_setup_conflicts,
    merge_tasks,
};
use crate::settle::mark_by_index;
use crate::store::{Contents, TaskStore};

/// The result of an attempt.
pub(super) enum Attempt {
    /// The landing is over, with this report.
    Finished(LandingReport),
    /// Another program saved these paths at the same moment, or has them open for writing. The tree
    /// is as before the attempt.
    Interrupted(Vec<RepoPath>),
    /// A path of these tasks cannot be written, for this reason; other tasks can land. The tree is
    /// as before the attempt.
    Refused(Vec<TaskName>, String),
}

/// Paths and captures that the next attempts leave out.
#[derive(Default)]
pub(super) struct Exclusions {
    /// Paths that another program keeps writing.
    pub(super) contested: BTreeSet<RepoPath>,
    /// Captures that cannot be written, each with the reason.
    pub(super) refused: BTreeMap<CaptureRef, String>,
}

/// The error that ended an attempt.
pub(super) struct AttemptError {
    error: IsolationError,
    /// The tasks whose change failed; empty if the error concerns all tasks.
    by: Vec<TaskName>,
    /// The path of the change that failed, if the error concerns one.
    path: Option<RepoPath>,
}

impl From<IsolationError> for AttemptError {
    fn from(error: IsolationError) -> Self {
        Self { error, by: Vec::new(), path: None }
    }
}

impl AttemptError {
    /// Returns the error, whomever it concerns.
    pub(super) fn into_error(self) -> IsolationError {
        self.error
    }

    /// Returns the path that cannot be changed, if the error concerns one path.
    pub(super) fn path(&self) -> Option<&RepoPath> {
        self.path.as_ref()
    }

    /// Returns the error of one change. `IsolationError::Failed` concerns the tasks of the change.
    /// Other errors, such as an exhausted resource, concern all tasks.
    pub(super) fn at(change: &FileChange, error: IsolationError) -> Self {
        let own = matches!(error, IsolationError::Failed { .. });
        if own {
            Self { error, by: change.by.clone(), path: Some(change.path.clone()) }
        } else {
            Self::from(error)
        }
    }
}

/// Tries to land the tasks, except for the exclusions.
pub(super) fn attempt(
    context: &LandingContext<'_>,
    landing: LandingId,
    (request, rules): (&LandingRequest, &LandingRules<'_>),
    exclusions: &Exclusions,
) -> Result<Attempt> {
    let (run, read_since) = (&request.run, SystemTime::now());
    let target = WorkingTree::of(context.tree, context.store);
    let target = target.tracked_by(rules.moves.repo()).reading_ahead();
    let places = (&target, context.store);
    let Merged { report, merged_paths, task_changes, nested } =
        merge(places, request, rules, exclusions);
    if merged_paths.is_empty() {
        return Ok(Attempt::Finished(report));
    }
    let id = context.journals.free_id(run)?;
    let plan = Plan::of(context.tree, &id, &merged_paths, Some(read_since))?;
    let written = Applier::first_pass(context, run).targets_being_written(&plan.changes)?;
    if !written.is_empty() {
        return Ok(Attempt::Interrupted(written));
    }
    let journal = Journal::new(id, (run.clone(), landing), plan.folders, plan.changes, report);
    let journal = journal.in_nested(nested).sharing(task_changes);
    let ended = match prepare(context, &journal) {
        Ok(()) => exchange(context, &journal),
        Err(failure) => {
            context.drop_intent(&journal)?;
            Err(failure)
        }
    };
    match ended {
        Ok(interrupted) if interrupted.is_empty() => Ok(Attempt::Finished(journal.report)),
        Ok(interrupted) => Ok(Attempt::Interrupted(interrupted)),
        Err(AttemptError { error: IsolationError::Withdrawn, .. }) => {
            Err(IsolationError::Withdrawn)
        }
        Err(failure) if failure.by.is_empty() => {
            Ok(Attempt::Finished(unwritten(journal.report, &error_text(&failure.error))))
        }
        Err(failure) => Ok(Attempt::Refused(failure.by, error_text(&failure.error))),
    }
}

/// What decides how the tasks are merged, besides their work and the tree.
pub(super) struct LandingRules<'a> {
    /// How each file is merged.
    pub(super) files: MergeRules,
    /// What the user renamed meanwhile, and what earlier landings of the run have left.
    pub(super) moves: UserMoves<'a>,
}

/// The result of merging the tasks.
pub(super) struct Merged {
    /// The report of each task.
    pub(super) report: LandingReport,
    /// The paths that change.
    merged_paths: BTreeMap<RepoPath, MergedPath>,
    /// What each task has changed, if some have changed the same paths.
    task_changes: Vec<TaskChange>,
    /// The folders of the nested repositories in which the tasks worked.
    nested: BTreeSet<RepoPath>,
}

/// Merges the tasks, one after the other, into the current working tree.
pub(super) fn merge(
    (target, store): (&WorkingTree<'_>, &TaskStore),
    LandingRequest { tasks, landed, .. }: &LandingRequest,
    rules: &LandingRules<'_>,
    exclusions: &Exclusions,
) -> Merged {
    let mut merger = Merger::over(target, store)
        .under(&rules.files)
        .beside(&rules.moves)
        .without(&exclusions.contested);
    let changes_of = |capture: &CaptureRef| match exclusions.refused.get(capture) {
        Some(why) => Err(cannot("land it", why.as_str())),
        None => target.changes_of(capture),
    };
    target.open_nested(nested_roots(store, tasks));
    begin_with(&mut merger, landed, &|capture| landed_changes(target, store, capture));
    let mut landings = merge_tasks(&mut merger, (tasks, landed), &changes_of);
    for (task, landing) in tasks.iter().zip(&mut landings) {
        if let Landed::Conflicted { conflicts } = &mut landing.landed {
            let clash = |path: &RepoPath, versions: [Option<Entry>; 3]| {
                clash(store, Some(&rules.files), path, versions)
            };
            rules.moves.earlier().name(rules.files.git(), &clash, conflicts);
            // Without the capture, the conflicts are as they are.
            let setup = store.contents(&task.capture).unwrap_or_default().setup;
            mark_setup_conflicts(conflicts, &setup);
            mark_by_index(rules.files.git(), conflicts, &target.nested());
        }
    }
    let report = LandingReport { tasks: landings };
    let task_changes = merger.shared_changes();
    let merged_paths = merger.finish();
    Merged { report, merged_paths, task_changes, nested: target.nested() }
}

/// Returns what landed work has changed, except in nested repositories in which nothing lands now.
fn landed_changes(
    target: &WorkingTree<'_>,
    store: &TaskStore,
    capture: &CaptureRef,
) -> Result<Vec<Change>> {
    let Contents { mut changes, nested, .. } = store.contents(capture)?;
    let open = target.nested();
    let closed: Vec<RepoPath> = nested.into_iter().map(|nested| nested.path).collect();
    let closed: Vec<RepoPath> = closed.into_iter().filter(|root| !open.contains(root)).collect();
    changes.retain(|change| !closed.iter().any(|root| change.path.is_below(root)));
    Ok(changes)
}

/// Stages the new versions and commits the journal. The landing can be cancelled until the journal
/// is committed.
pub(super) fn prepare(
    context: &LandingContext<'_>,
    journal: &Journal,
) -> std::result::Result<(), AttemptError> {
    let faults = context.faults;
    failpoint!(faults, "landing.intent").or_cannot(|| "begin a landing")?;
    context.journals.write(journal, State::Intent)?;
    let applier = Applier::first_pass(context, &journal.run);
    applier.stage_all(&journal.changes)?;
    let temps: Vec<&RepoPath> = journal.changes.iter().map(|change| &change.temp).collect();
    if applier.mover.sync_all(&temps)? == Synced::Files {
        context.sync_folders(temps.into_iter())?;
    }
    // The content that the journal names must be durable before the journal is durable.
    context.hold(journal)?;
    failpoint!(faults, "landing.journal").or_cannot(|| "write the journal of a landing")?;
    check_not_cancelled(context)?;
    Ok(context.journals.write(journal, State::Committed)?)
}

fn check_not_cancelled(context: &LandingContext<'_>) -> Result<()> {
    if context.cancel.is_cancelled() { Err(IsolationError::Withdrawn) } else { Ok(()) }
}

/// Applies the changes. Returns the paths at which another program interfered. If there are such
/// paths, or an error occurs, all changes are rolled back.
pub(super) fn exchange(
    context: &LandingContext<'_>,
    journal: &Journal,
) -> std::result::Result<Vec<RepoPath>, AttemptError> {
    let applier = Applier::first_pass(context, &journal.run);
    let ended = match apply_all(&applier, &journal.changes) {
        // A program that had a file open before the exchange may have written to it since, or may
        // be about to.
        Ok(None) => applier.give_back_edited(journal.changes.iter()).map_err(AttemptError::from),
        Ok(Some(change)) => Ok(vec![change]),
        Err(failure) => Err(failure),
    };
    match ended {
        Ok(interrupted) if interrupted.is_empty() => {
            context.finish(journal, State::Committed);
            Ok(Vec::new())
        }
        ended => {
            context.journals.advance(&journal.id, State::Committed, State::Undoing)?;
            context.roll_back(journal)?;
            Ok(ended?.into_iter().map(|change| change.path.clone()).collect())
        }
    }
}

pub(super) fn apply_all<'s>(
    applier: &Applier<'_>,
    changes: &'s [FileChange],
) -> std::result::Result<Option<&'s FileChange>, AttemptError> {
    for change in changes {
        if applier.apply(change).map_err(|error| AttemptError::at(change, error))?
            == Applied::Contested
        {
            return Ok(Some(change));
        }
    }
    Ok(None)
}

/// Returns the report of a landing that wrote nothing.
fn unwritten(report: LandingReport, message: &str) -> LandingReport {
    let tasks = report.tasks.into_iter().map(|mut landing| {
        if matches!(landing.landed, Landed::Landed { .. }) || !landing.settled.is_empty() {
            landing.landed = Landed::Unwritten { message: message.to_owned() };
            landing.settled = Settled::default();
        }
        landing
    });
    LandingReport { tasks: tasks.collect() }
}
