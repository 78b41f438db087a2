//! One attempt at landing: everything is computed and written beside its place before anything of
//! the tree changes, and whatever goes wrong is taken back.

use std::collections::{BTreeMap, BTreeSet};

use engine::ports::{IsolationError, LandingTask};
use protocol::{CaptureRef, Landed, LandingId, LandingReport, RepoPath, RunName, TaskName};

use crate::error::{OrCannot, Result, cannot};
use crate::landing::close::Close;
use crate::landing::journal::{Journal, State};
use crate::landing::plan::Plan;
use crate::landing::roll::{Roll, Rolled};
use crate::landing::source::WorkingTree;
use crate::landing::step::{Step, Way};
use crate::merge::{Fold, Touched, fold_tasks, told};
use crate::store::TaskStore;
use crate::tree::Tree;

/// How an attempt ended.
pub(super) enum Attempt {
    /// With this.
    Over(LandingReport),
    /// Somebody saved these paths at the same moment, or has them open for writing. The tree is as
    /// if nothing had been tried.
    Disturbed(Vec<RepoPath>),
    /// A path that these tasks want cannot be written; others can. The tree is as if nothing had
    /// been tried.
    Refused(Vec<TaskName>, String),
}

/// What is not tried any more.
#[derive(Default)]
pub(super) struct Spared {
    /// Paths that somebody keeps writing.
    pub(super) contested: BTreeSet<RepoPath>,
    /// Captures that cannot be written, and why.
    pub(super) refused: BTreeMap<CaptureRef, String>,
}

/// Why nothing was written.
struct Trouble {
    error: IsolationError,
    /// The tasks it is about; none if it is about everybody.
    by: Vec<TaskName>,
}

impl From<IsolationError> for Trouble {
    fn from(error: IsolationError) -> Self {
        Self { error, by: Vec::new() }
    }
}

impl Trouble {
    /// Says whose trouble it is. A disk that is full is everybody's.
    fn at(step: &Step, error: IsolationError) -> Self {
        let own = matches!(error, IsolationError::Failed { .. });
        Self { error, by: if own { step.by.clone() } else { Vec::new() } }
    }
}

/// Tries to land the tasks but for what is spared.
pub(super) fn attempt(
    close: &Close<'_>,
    (run, landing): (&RunName, LandingId),
    tasks: &[LandingTask],
    spared: &Spared,
) -> Result<Attempt> {
    let Merged { report, touched } = merge(close.tree, close.store, tasks, spared);
    if touched.is_empty() {
        return Ok(Attempt::Over(report));
    }
    if close.faults.is_off("F157") {
        return Ok(Attempt::Over(unwritten(report, "landing in the tree is switched off")));
    }
    let id = close.journals.free_id(run)?;
    let plan = Plan::of(close.tree, &id, &touched)?;
    let written = Roll::live(close, run).targets_being_written(&plan.steps)?;
    if !written.is_empty() {
        return Ok(Attempt::Disturbed(written));
    }
    let journal = Journal::new(id, (run.clone(), landing), plan.folders, plan.steps, report);
    let ended = match prepare(close, &journal) {
        Ok(()) => exchange(close, &journal),
        Err(trouble) => {
            close.drop_intent(&journal)?;
            Err(trouble)
        }
    };
    match ended {
        Ok(disturbed) if disturbed.is_empty() => Ok(Attempt::Over(journal.report)),
        Ok(disturbed) => Ok(Attempt::Disturbed(disturbed)),
        Err(Trouble { error: IsolationError::Withdrawn, .. }) => Err(IsolationError::Withdrawn),
        Err(trouble) if trouble.by.is_empty() => {
            Ok(Attempt::Over(unwritten(journal.report, &told(&trouble.error))))
        }
        Err(trouble) => Ok(Attempt::Refused(trouble.by, told(&trouble.error))),
    }
}

/// What merging came to.
pub(super) struct Merged {
    /// What becomes of each task.
    pub(super) report: LandingReport,
    /// Every path that changes.
    touched: BTreeMap<RepoPath, Touched>,
}

/// Merges the tasks, one after the other, into the working tree as it is now.
pub(super) fn merge(
    tree: &Tree,
    store: &TaskStore,
    tasks: &[LandingTask],
    spared: &Spared,
) -> Merged {
    let source = WorkingTree { tree, store };
    let mut fold = Fold::over(&source, store).without(&spared.contested);
    let tasks = fold_tasks(&mut fold, tasks, &|capture| match spared.refused.get(capture) {
        Some(why) => Err(cannot("land it", why.as_str())),
        None => store.changes(capture),
    });
    Merged { report: LandingReport { tasks }, touched: fold.finish() }
}

/// Writes everything that is needed, and commits to it: that is the last moment at which the
/// landing can be withdrawn.
fn prepare(close: &Close<'_>, journal: &Journal) -> std::result::Result<(), Trouble> {
    let faults = close.faults;
    faults.strike("landing.intent").or_cannot(|| "begin a landing")?;
    close.journals.write(journal, State::Intent)?;
    let live = Roll::live(close, &journal.run);
    for step in &journal.steps {
        faults.strike("landing.temps").or_cannot(|| format!("write {}", step.path))?;
        must_be_wanted(close)?;
        if let (Way::Exchange, Some(new)) = (step.way, step.new) {
            live.stage(step, new).map_err(|error| Trouble::at(step, error))?;
        }
    }
    let temps: Vec<&RepoPath> = journal.steps.iter().map(|step| &step.temp).collect();
    live.moves.sync_all(&temps)?;
    close.sync_folders(temps.into_iter())?;
    // What the journal names must be durable before the journal is.
    close.hold(journal)?;
    faults.strike("landing.journal").or_cannot(|| "write the journal of a landing")?;
    must_be_wanted(close)?;
    Ok(close.journals.write(journal, State::Committed)?)
}

fn must_be_wanted(close: &Close<'_>) -> Result<()> {
    if close.cancel.is_cancelled() { Err(IsolationError::Withdrawn) } else { Ok(()) }
}

/// Changes the tree. Returns the paths at which somebody came between, if someone did; then, and
/// when something fails, everything is taken back.
fn exchange(close: &Close<'_>, journal: &Journal) -> std::result::Result<Vec<RepoPath>, Trouble> {
    let live = Roll::live(close, &journal.run);
    let ended = match take_all(&live, &journal.steps) {
        // An editor that had a file open before the exchange may have written to it after, or may
        // be about to.
        Ok(None) => live.give_back_edited(journal.steps.iter()).map_err(Trouble::from),
        Ok(Some(step)) => Ok(vec![step]),
        Err(trouble) => Err(trouble),
    };
    match ended {
        Ok(disturbed) if disturbed.is_empty() => {
            close.finish(journal, State::Committed);
            Ok(Vec::new())
        }
        ended => {
            close.journals.advance(&journal.id, State::Committed, State::Undoing)?;
            close.take_back(journal)?;
            Ok(ended?.into_iter().map(|step| step.path.clone()).collect())
        }
    }
}

fn take_all<'s>(
    live: &Roll<'_>,
    steps: &'s [Step],
) -> std::result::Result<Option<&'s Step>, Trouble> {
    for step in steps {
        if live.take(step).map_err(|error| Trouble::at(step, error))? == Rolled::Contested {
            return Ok(Some(step));
        }
    }
    Ok(None)
}

/// Returns the report of a landing of which nothing could be written.
fn unwritten(report: LandingReport, message: &str) -> LandingReport {
    let tasks = report.tasks.into_iter().map(|mut landing| {
        if matches!(landing.landed, Landed::Landed { .. }) {
            landing.landed = Landed::Unwritten { message: message.to_owned() };
        }
        landing
    });
    LandingReport { tasks: tasks.collect() }
}
