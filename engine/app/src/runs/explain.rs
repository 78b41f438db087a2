//! Explains why the tasks of a run wait, what they do or how they ended, as another process sees it.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::ports::LedgerError;
use engine::request::GateReport;
use engine::run::why::{
    AccountHold, EngineProcess, Observed, Subagents, TaskSituation, run_sentence, situation,
};
use engine::task::TaskRecord;
use protocol::{Landed, Outcome, RunId, TaskId, Timestamp, Work};
use store::{RunRow, TaskRow};

use super::repository_runs::{RepositoryRuns, WorkError};
use super::target::Located;

/// A run that is explained.
#[derive(Clone, Debug)]
pub struct RunExplanation {
    /// What the run does or came to: the rest of a sentence that begins with its name.
    pub sentence: String,
    /// Its tasks, or the one that was named.
    pub tasks: Vec<TaskExplanation>,
}

/// A task that is explained.
#[derive(Clone, Debug)]
pub struct TaskExplanation {
    /// The task.
    pub row: TaskRow,
    /// Why it waits, what it does or how it ended.
    pub situation: TaskSituation,
}

/// What shows or does more about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// The provider accounts.
    Gates,
    /// What it prints and says from now on.
    Follow,
    /// What it has printed and said.
    Logs,
    /// Its work.
    Diff,
    /// Its conflicts.
    Conflicts,
    /// Landing its work.
    Apply,
}

/// Explains a run and its tasks, or one of them. `time` formats a time for people.
///
/// # Errors
/// The ledger cannot be read, or has lost the run.
pub fn explain(
    runs: &RepositoryRuns,
    located: &Located,
    time: impl Fn(Timestamp) -> String,
) -> Result<RunExplanation, WorkError> {
    let record = runs.reader.record(&located.run.name)?;
    let record = record.ok_or_else(|| WorkError::LostRun(located.run.name.clone()))?;
    let seen = Seen::of(runs, &located.run)?;
    let rows = match &located.task {
        Some(row) => vec![(**row).clone()],
        None => runs.reader.tasks_without_yields(located.run.id)?,
    };
    let explained = rows.into_iter().filter_map(|row| {
        let task = record.task(row.id)?;
        let situation = situation(&record, task, &seen.observed(task, &row, &time));
        Some(TaskExplanation { row, situation })
    });
    let tasks = explained.collect();
    Ok(RunExplanation { sentence: run_sentence(&record, seen.engine), tasks })
}

impl TaskExplanation {
    /// Returns whether the task is done and all of its work is in the tree.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let TaskSituation::Ended(ending) = &self.situation else { return false };
        let is_in_tree = matches!(ending.landed, Some(Landed::Landed { .. } | Landed::Unchanged));
        matches!(ending.outcome, Outcome::Done { .. }) && (ending.files == 0 || is_in_tree)
    }

    /// Returns what shows or does more about the task.
    #[must_use]
    pub fn next_step(&self) -> Option<NextStep> {
        match &self.situation {
            TaskSituation::Account(_) => Some(NextStep::Gates),
            TaskSituation::WorksElsewhere { .. } | TaskSituation::Subagents { .. } => {
                Some(NextStep::Follow)
            }
            TaskSituation::Ended(ending) => match (&ending.outcome, &ending.landed) {
                (_, Some(Landed::Landed { .. })) => Some(NextStep::Diff),
                (_, Some(Landed::Conflicted { .. })) => Some(NextStep::Conflicts),
                (Outcome::Failed { .. }, _) => Some(NextStep::Logs),
                _ if ending.files > 0 && !ending.is_discarded => Some(NextStep::Apply),
                _ => None,
            },
            _ => None,
        }
    }
}

/// What this process sees beside the record of a run.
struct Seen {
    now: Timestamp,
    engine: EngineProcess,
    /// How many tasks of other runs of the engine work.
    elsewhere: usize,
    /// The subagents of the tasks of the run.
    subagents: BTreeMap<TaskId, Subagents>,
    gates: Vec<GateReport>,
}

impl Seen {
    fn of(runs: &RepositoryRuns, run: &RunRow) -> Result<Self, LedgerError> {
        let engine = (runs.engine_of)(&run.repo, &run.name);
        let open = open_runs(runs)?;
        let mut waiting: BTreeMap<(RunId, TaskId), Subagents> = BTreeMap::new();
        for below in &open {
            let caller = below.spec.caller.as_ref().and_then(|caller| caller.task);
            let Some(caller) = caller else { continue };
            let counted = waiting.entry(caller).or_default();
            counted.all += below.tasks.all;
            counted.ended += below.tasks.all - below.tasks.queued - below.tasks.running;
        }
        let is_of_engine = |other: &&RunRow| {
            other.id != run.id && (runs.engine_of)(&other.repo, &other.name) == engine
        };
        let elsewhere = open.iter().filter(is_of_engine).map(|other| {
            let waits = waiting.keys().filter(|(run, _)| *run == other.id).count();
            other.tasks.running.saturating_sub(waits)
        });
        let of_run = waiting.iter().filter(|((of, _), _)| *of == run.id);
        Ok(Self {
            now: runs.clock.now(),
            engine: EngineProcess(engine),
            elsewhere: if engine.is_some() { elsewhere.sum() } else { 0 },
            subagents: of_run.map(|((_, task), subagents)| (*task, *subagents)).collect(),
            // What cannot be read of accounts explains nothing.
            gates: runs.gates.reports().unwrap_or_default(),
        })
    }

    fn observed(
        &self,
        task: &TaskRecord,
        row: &TaskRow,
        time: impl Fn(Timestamp) -> String,
    ) -> Observed {
        let worked = row.started.map(|at| self.now.as_millisecond() - at.as_millisecond());
        Observed {
            ms: worked.and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0),
            subagents: self.subagents.get(&task.spec.id).copied(),
            hold: self.hold(task, time),
            waiting: self.subagents.len(),
            elsewhere: self.elsewhere,
            engine: self.engine,
        }
    }

    /// Returns what holds up the account of a task's model.
    fn hold(&self, task: &TaskRecord, time: impl Fn(Timestamp) -> String) -> Option<AccountHold> {
        let Work::Agent(agent) = &task.spec.work else { return None };
        let model = &agent.model;
        let is_its = |report: &&GateReport| {
            report.account.provider == model.provider && report.account.base_url == model.base_url
        };
        let report = self.gates.iter().filter(is_its).find(|report| report.hold.is_some())?;
        let hold = report.hold.as_ref()?;
        let until = |wait: Duration| {
            let ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
            time(Timestamp::from_millisecond(self.now.as_millisecond().saturating_add(ms)))
        };
        Some(AccountHold {
            account: report.account.to_string(),
            until: hold.wait.map(until),
            reason: hold.reason.clone(),
        })
    }
}

/// Returns the open runs of the repository, and those of the calls of their tasks, at any depth.
fn open_runs(runs: &RepositoryRuns) -> Result<Vec<RunRow>, LedgerError> {
    let mut open = runs.reader.open_runs(&runs.root)?;
    let mut ids: Vec<RunId> = open.iter().map(|run| run.id).collect();
    loop {
        let mut below = runs.reader.open_runs_below(&ids)?;
        below.retain(|run| open.iter().all(|known| known.id != run.id));
        if below.is_empty() {
            return Ok(open);
        }
        ids = below.iter().map(|run| run.id).collect();
        open.extend(below);
    }
}
