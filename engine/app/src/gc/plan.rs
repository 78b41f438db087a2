//! Plans what is removed of one repository's runs, and names the reason for everything that stays.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use engine::ports::LedgerError;
use engine::retention::{KeptWork, RetainedTask, RunActivity, WorkFate, removable};
use isolation::{Removal, StoreContents, StoredCapture};
use protocol::{CaptureRef, RunName, RunState, TaskId, TaskName, Timestamp};
use store::{Reader, RunRetention, TaskRetention};

use super::files::RunFiles;

/// From which age on work is removed.
#[derive(Clone, Debug)]
pub(super) struct Ages {
    /// Now.
    pub(super) now: Timestamp,
    /// The age.
    pub(super) older_than: Duration,
    /// The runs of which work of any age is removed, because there is not enough room for it.
    pub(super) any_age: BTreeSet<RunName>,
}

/// What is removed of one repository's runs.
#[derive(Clone, Debug, Default)]
pub(super) struct RepositoryPlan {
    /// The canonical root of the repository.
    pub(super) root: PathBuf,
    /// The runs of which something is on the disk, oldest first.
    pub(super) runs: Vec<RunPlan>,
    /// The runs with captures that the ledger does not know as runs of this repository.
    pub(super) unknown: BTreeSet<RunName>,
}

/// What is removed of one run.
#[derive(Clone, Debug)]
pub(super) struct RunPlan {
    /// The run.
    pub(super) name: RunName,
    /// When the last thing happened to it.
    pub(super) last: Timestamp,
    /// Its tasks of which something is on the disk.
    pub(super) tasks: Vec<TaskPlan>,
    /// Whether everything of the run goes.
    pub(super) is_whole: bool,
    /// Whether no landed work of the run stays.
    landings_go: bool,
    /// The size of its log in bytes, if there is one.
    pub(super) log: Option<u64>,
    /// The ids of the versions that its conflicts name.
    versions: BTreeSet<String>,
}

/// What is removed of one task.
#[derive(Clone, Debug)]
pub(super) struct TaskPlan {
    /// The id; `None` for captures that belong to no task of the ledger.
    pub(super) id: Option<TaskId>,
    /// The name.
    pub(super) name: TaskName,
    /// Whether its work goes, or why it stays.
    pub(super) decision: Result<(), Kept>,
    /// Its captures of which the decision is.
    pub(super) captures: Vec<CaptureRef>,
    /// The size of its files in bytes, if there are any.
    pub(super) output: Option<u64>,
    /// Whether the ledger knows of a removal already.
    pub(super) is_recorded: bool,
    /// What became of the task, or how the attempt ended; `None` if that is not known.
    pub(super) outcome: Option<String>,
}

/// Why work stays.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kept {
    /// The ledger's reason.
    Work(KeptWork),
    /// A capture that is none of those that have landed: of an earlier attempt.
    OtherCapture,
}

impl RepositoryPlan {
    /// Plans the removal for the repository at `root`.
    pub(super) fn of(
        reader: &Reader,
        root: PathBuf,
        (contents, files): (&StoreContents, &RunFiles),
        ages: &Ages,
    ) -> Result<Self, LedgerError> {
        let mut plan = Self { root, ..Self::default() };
        let names = reader.run_names(&plan.root)?;
        let is_there = |name: &RunName| {
            contents.captures.contains_key(name)
                || contents.other_runs.contains(name)
                || files.outputs.contains_key(name)
                || files.logs.contains_key(name)
        };
        for name in names.iter().filter(|name| is_there(name)) {
            if let Some(retention) = reader.retention(name)? {
                plan.runs.push(RunPlan::of(name, retention, (contents, files), ages));
            }
        }
        let known: BTreeSet<_> = names.into_iter().collect();
        let in_store = contents.captures.keys().chain(&contents.other_runs);
        plan.unknown = in_store.filter(|run| !known.contains(*run)).cloned().collect();
        Ok(plan)
    }

    /// Returns what is to be removed from the store.
    pub(super) fn removal(&self) -> Removal {
        let mut removal = Removal::default();
        for run in &self.runs {
            let goes = run.tasks.iter().filter(|task| task.decision.is_ok());
            removal.captures.extend(goes.flat_map(|task| task.captures.iter().cloned()));
            if run.landings_go {
                removal.landings.insert(run.name.clone());
            }
            if run.is_whole {
                removal.runs.insert(run.name.clone());
            } else {
                removal.versions.extend(run.versions.iter().cloned());
            }
        }
        removal
    }

    /// Returns the tasks whose removal the ledger does not have yet.
    pub(super) fn unrecorded(&self) -> Vec<TaskId> {
        let goes = self.runs.iter().flat_map(|run| &run.tasks);
        let goes = goes.filter(|task| task.decision.is_ok() && !task.is_recorded);
        goes.filter_map(|task| task.id).collect()
    }
}

impl RunPlan {
    fn of(
        name: &RunName,
        retention: RunRetention,
        (contents, files): (&StoreContents, &RunFiles),
        ages: &Ages,
    ) -> Self {
        let activity = match retention.state {
            RunState::Running | RunState::Landing => RunActivity::Unfinished,
            RunState::Finished | RunState::Interrupted if contents.folders.contains(name) => {
                RunActivity::HasFolder
            }
            RunState::Finished | RunState::Interrupted => RunActivity::Over,
        };
        // A clock that was set back makes nothing old.
        let age = ages.now.as_millisecond().saturating_sub(retention.last.as_millisecond());
        let age = Duration::from_millis(u64::try_from(age).unwrap_or(0));
        let older_than = if ages.any_age.contains(name) { Duration::ZERO } else { ages.older_than };
        let tasks: Vec<_> = retention.tasks.iter().map(|task| task.task.clone()).collect();
        let decisions = removable(activity, &tasks, (age, older_than));
        let is_over = decisions.iter().all(Result::is_ok) && activity == RunActivity::Over;
        let landed = |task: &RetainedTask| task.fate == WorkFate::Landed;
        let mut landed = tasks.iter().zip(&decisions).filter(|(task, _)| landed(task));
        let landings_go = landed.all(|(_, decision)| decision.is_ok())
            && activity == RunActivity::Over
            && decisions.iter().any(Result::is_ok);
        let captures = contents.captures.get(name).map_or(&[][..], Vec::as_slice);
        let outputs = files.outputs.get(name);
        let mut by_name: BTreeMap<String, Vec<&StoredCapture>> = BTreeMap::new();
        for stored in captures {
            by_name.entry(stored.task.folded()).or_default().push(stored);
        }
        let mut plans = Vec::new();
        let mut of_tasks = BTreeSet::new();
        for (task, decision) in retention.tasks.iter().zip(decisions) {
            let decision = decision.map_err(Kept::Work);
            let (own, others) = captures_of(task, &by_name);
            of_tasks.extend(own.iter().cloned());
            of_tasks.extend(others.iter().map(|stored| stored.capture.clone()));
            let output = outputs.and_then(|outputs| outputs.get(&task.task.name)).copied();
            if !own.is_empty() || output.is_some() {
                plans.push(TaskPlan {
                    id: Some(task.id),
                    name: task.task.name.clone(),
                    decision: decision.clone(),
                    captures: own,
                    output,
                    is_recorded: task.is_collected,
                    outcome: Some(task.outcome.clone()),
                });
            }
            plans.extend(others.into_iter().map(|stored| {
                let why = decision.as_ref().err().cloned().unwrap_or(Kept::OtherCapture);
                other_capture(&task.task.name, stored, why)
            }));
        }
        for stored in captures.iter().filter(|stored| !of_tasks.contains(&stored.capture)) {
            plans.push(other_capture(&stored.task, stored, Kept::OtherCapture));
        }
        Self {
            name: name.clone(),
            last: retention.last,
            landings_go,
            is_whole: is_over && plans.iter().all(|task| task.decision.is_ok()),
            tasks: plans,
            log: files.logs.get(name).copied(),
            versions: retention.versions,
        }
    }
}

fn other_capture(task: &TaskName, stored: &StoredCapture, why: Kept) -> TaskPlan {
    TaskPlan {
        id: None,
        name: task.clone(),
        decision: Err(why),
        captures: vec![stored.capture.clone()],
        output: None,
        is_recorded: false,
        outcome: stored.outcome.clone(),
    }
}

/// Returns the captures of a task: those of which the ledger speaks, and others. Captures of equal
/// content are one work. Of a discarded task all are meant. What resolvers wrote belongs to the work
/// that it settles: it is done with when that has landed or was discarded.
fn captures_of<'c>(
    task: &TaskRetention,
    by_name: &BTreeMap<String, Vec<&'c StoredCapture>>,
) -> (Vec<CaptureRef>, Vec<&'c StoredCapture>) {
    let name = task.task.name.folded();
    let is_discarded = task.task.fate == WorkFate::Discarded;
    let named = |name: &String| by_name.get(name).into_iter().flatten();
    let resolutions = format!("{name}.resolve");
    let is_done_with = matches!(task.task.fate, WorkFate::Landed | WorkFate::Discarded);
    let last = named(&name).find(|stored| Some(&stored.capture) == task.capture.as_ref());
    let (own, mut others): (Vec<_>, Vec<_>) = named(&name).copied().partition(|stored| {
        is_discarded || last.is_some_and(|last| last.content == stored.content)
    });
    let mut own: Vec<_> = own.into_iter().map(|stored| stored.capture.clone()).collect();
    for stored in named(&resolutions) {
        match is_done_with {
            true => own.push(stored.capture.clone()),
            false => others.push(stored),
        }
    }
    (own, others)
}
