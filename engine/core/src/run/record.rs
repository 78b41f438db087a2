//! The durable state of one run, as recorded in the ledger.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{
    CaptureRef, Captured, ExitCode, Landed, LandingReport, LedgerEntry, MergeMode, Outcome,
    RunName, RunSpec, TaskId, TaskName, TaskSpec, Totals,
};
use serde_json::Value;

use crate::dependencies::in_order;
use crate::task::{TaskRecord, task_of};

/// The durable state of a run: the result of applying its ledger entries in order.
///
/// It contains everything that a restart of the run needs. Only [`RunRecord::apply`] changes it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// The name of the run in the ledger.
    pub name: RunName,
    /// The specification of the run. Its list of tasks is empty, because each task has its own
    /// record.
    pub spec: RunSpec,
    /// The status of the run.
    pub status: RunStatus,
    /// The status of its landing.
    pub landing: LandingRecord,
    tasks: Vec<TaskRecord>,
    positions: BTreeMap<TaskId, usize>,
    named: BTreeMap<String, usize>,
    /// For each position, the rank of the task in an order that has dependencies first.
    ranks: Vec<usize>,
}

/// The status of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunStatus {
    /// The run is not over. Its engine is working or has died.
    Running,
    /// The run is over.
    Finished {
        /// The totals of the run.
        totals: Totals,
        /// The exit code of the program.
        exit_code: ExitCode,
    },
    /// The engine died, and the work that it left was captured afterwards.
    Interrupted,
    /// The run could not be started.
    Withdrawn,
}

/// The status of the landing of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandingRecord {
    /// The landing has not begun.
    NotBegun,
    /// The landing has begun. The engine may have died during it.
    Begun,
    /// The landing is over, with this report.
    Finished(LandingReport),
}

impl RunRecord {
    /// Returns the record of a new run.
    #[must_use]
    pub fn opened(name: RunName, mut spec: RunSpec) -> Self {
        let tasks = std::mem::take(&mut spec.tasks);
        let places = tasks.iter().enumerate();
        Self {
            name,
            spec,
            status: RunStatus::Running,
            landing: LandingRecord::NotBegun,
            positions: places.clone().map(|(at, task)| (task.id, at)).collect(),
            named: places.map(|(at, task)| (task.name.folded(), at)).collect(),
            ranks: ranks(&tasks),
            tasks: tasks.into_iter().map(TaskRecord::queued).collect(),
        }
    }

    /// Applies one entry. An entry of another run changes nothing.
    pub fn apply(&mut self, entry: &LedgerEntry) {
        match entry {
            LedgerEntry::TaskStarted { task, .. }
            | LedgerEntry::SessionStarted { task, .. }
            | LedgerEntry::TaskCaptured { task, .. }
            | LedgerEntry::TaskUsed { task, .. }
            | LedgerEntry::TaskFinished { task, .. }
            | LedgerEntry::TaskDiscarded { task }
            | LedgerEntry::ResolverFailed { task, .. }
            | LedgerEntry::TaskCollected { task } => {
                if let Some(&at) = self.positions.get(task) {
                    self.tasks[at].apply(entry);
                }
            }
            LedgerEntry::WorkVerified { run, .. }
            | LedgerEntry::LandingStarted { run, .. }
            | LedgerEntry::LandingFinished { run, .. }
            | LedgerEntry::RunFinished { run, .. }
            | LedgerEntry::RunWithdrawn { run }
            | LedgerEntry::RunInterrupted { run }
                if *run != self.spec.id => {}
            LedgerEntry::WorkVerified { .. } => {}
            LedgerEntry::LandingStarted { .. } => self.landing = LandingRecord::Begun,
            LedgerEntry::LandingFinished { report, .. } => {
                for landing in &report.tasks {
                    if let Some(at) = self.at(&landing.task) {
                        self.tasks[at].landed = Some(landing.landed.clone());
                    }
                }
                self.landing = LandingRecord::Finished(report.clone());
            }
            LedgerEntry::RunFinished { totals, exit_code, .. } => {
                let (totals, exit_code) = (totals.clone(), *exit_code);
                self.status = RunStatus::Finished { totals, exit_code };
            }
            LedgerEntry::RunWithdrawn { .. } => self.status = RunStatus::Withdrawn,
            LedgerEntry::RunInterrupted { .. } => self.interrupt(),
        }
    }

    /// Returns whether an entry belongs to this run.
    #[must_use]
    pub fn concerns(&self, entry: &LedgerEntry) -> bool {
        match entry {
            LedgerEntry::TaskStarted { run, .. }
            | LedgerEntry::WorkVerified { run, .. }
            | LedgerEntry::LandingStarted { run, .. }
            | LedgerEntry::LandingFinished { run, .. }
            | LedgerEntry::RunFinished { run, .. }
            | LedgerEntry::RunWithdrawn { run }
            | LedgerEntry::RunInterrupted { run } => *run == self.spec.id,
            LedgerEntry::SessionStarted { .. }
            | LedgerEntry::TaskCaptured { .. }
            | LedgerEntry::TaskUsed { .. }
            | LedgerEntry::TaskFinished { .. }
            | LedgerEntry::TaskDiscarded { .. }
            | LedgerEntry::ResolverFailed { .. }
            | LedgerEntry::TaskCollected { .. } => {
                task_of(entry).is_some_and(|task| self.positions.contains_key(&task))
            }
        }
    }

    /// Returns the tasks in the order of their declaration.
    #[must_use]
    pub fn tasks(&self) -> &[TaskRecord] {
        &self.tasks
    }

    /// Returns a task by its id.
    #[must_use]
    pub fn task(&self, id: TaskId) -> Option<&TaskRecord> {
        self.position(id).map(|at| &self.tasks[at])
    }

    /// Returns a task by its name, compared without case.
    #[must_use]
    pub fn task_named(&self, name: &TaskName) -> Option<&TaskRecord> {
        self.at(name).map(|at| &self.tasks[at])
    }

    /// Returns the tasks with dependencies first.
    #[must_use]
    pub fn tasks_in_order(&self) -> Vec<&TaskRecord> {
        let mut positions: Vec<usize> = (0..self.tasks.len()).collect();
        positions.sort_unstable_by_key(|at| self.ranks[*at]);
        positions.into_iter().map(|at| &self.tasks[at]).collect()
    }

    /// Returns the captures on which the workspace of a task is based: those of all tasks it
    /// depends on, directly or indirectly, dependencies first.
    #[must_use]
    pub fn predecessor_captures(&self, task: TaskId) -> Vec<(TaskName, CaptureRef)> {
        let Some(start) = self.position(task) else { return Vec::new() };
        let (mut needed, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(at) = open.pop() {
            for on in self.tasks[at].spec.depends_on.iter().filter_map(|name| self.at(name)) {
                if needed.insert((self.ranks[on], on)) {
                    open.push(on);
                }
            }
        }
        let capture = |(_, at): (usize, usize)| {
            let task = &self.tasks[at];
            let captured = task.report().and_then(|_ended| task.changes())?;
            Some((task.spec.name.clone(), captured.capture.clone()))
        };
        needed.into_iter().filter_map(capture).collect()
    }

    /// Returns the yields of the tasks on which a task depends directly, in the order of its
    /// specification. Tasks of the retried run are included.
    #[must_use]
    pub fn predecessor_yields(&self, task: TaskId) -> Vec<(TaskName, Value)> {
        let on = self.task(task).map_or(&[][..], |task| &task.spec.depends_on);
        on.iter().filter_map(|on| self.yield_of(on)).collect()
    }

    /// Returns the yield of a task of this run, or of the retried run, with the name of the task as
    /// it was declared.
    fn yield_of(&self, name: &TaskName) -> Option<(TaskName, Value)> {
        if let Some(task) = self.task_named(name) {
            let Outcome::Done { value } = &task.report()?.outcome else { return None };
            return Some((task.spec.name.clone(), value.clone()));
        }
        let done = self.spec.retry.iter().flat_map(|retry| &retry.done);
        let mut done = done.filter(|done| done.name.as_str().eq_ignore_ascii_case(name.as_str()));
        done.next().map(|done| (done.name.clone(), done.value.clone()))
    }

    pub(super) fn position(&self, task: TaskId) -> Option<usize> {
        self.positions.get(&task).copied()
    }

    fn at(&self, name: &TaskName) -> Option<usize> {
        self.named.get(&name.folded()).copied()
    }

    /// Marks an unfinished run as interrupted. A run whose end is in the ledger is finished, even
    /// if its engine died right after it.
    fn interrupt(&mut self) {
        if self.status == RunStatus::Running {
            self.status = RunStatus::Interrupted;
            for task in &mut self.tasks {
                task.interrupt();
            }
        }
    }
}

/// Returns the rank of each task in an order that has dependencies first. Tasks of a retried run are not
/// among `specs`.
fn ranks(specs: &[TaskSpec]) -> Vec<usize> {
    let names: BTreeSet<_> = specs.iter().map(|spec| spec.name.folded()).collect();
    let inner: Vec<Vec<TaskName>> = specs
        .iter()
        .map(|spec| {
            let on = spec.depends_on.iter().filter(|on| names.contains(&on.folded()));
            on.cloned().collect()
        })
        .collect();
    let view: Vec<_> =
        specs.iter().zip(&inner).map(|(spec, on)| (&spec.name, on.as_slice())).collect();
    // The order exists, because the plan was checked. The order of declaration is a fallback.
    let order = in_order(&view).unwrap_or_else(|_| (0..specs.len()).collect());
    let mut ranks = vec![0; specs.len()];
    for (rank, at) in order.into_iter().enumerate() {
        ranks[at] = rank;
    }
    ranks
}

#[cfg(test)]
mod tests;

/// Returns the totals of a run that took `ms` milliseconds.
#[must_use]
pub fn totals(run: &RunRecord, ms: u64) -> Totals {
    let mut totals = Totals { ms, ..Totals::default() };
    let lands = run.spec.merge != MergeMode::None && run.spec.isolation.capabilities().can_capture;
    let mut classes = BTreeSet::new();
    for task in run.tasks() {
        let Some(report) = task.report() else { continue };
        let changed = task.changes().is_some();
        let landed = match task.landed {
            Some(Landed::Landed { .. } | Landed::Unchanged) => true,
            Some(Landed::Conflicted { .. }) => {
                totals.conflicted += 1;
                false
            }
            Some(
                Landed::Unwritten { .. }
                | Landed::Waiting { .. }
                | Landed::Unverified(_)
                | Landed::TakenBack { .. },
            )
            | None => false,
        };
        // Files that exist only in a workspace do not land.
        let held = task.captured.as_deref().is_some_and(Captured::holds_uncaptured_files);
        totals.kept += usize::from(held || (changed && !landed));
        totals.usage = match (totals.usage, report.usage) {
            (Some(all), Some(one)) => Some(all + one),
            (all, one) => all.or(one),
        };
        match &report.outcome {
            Outcome::Done { .. } => {
                totals.done += 1;
                let in_place = !held && (landed || (lands && !changed));
                let has_landed = matches!(task.landed, Some(Landed::Landed { .. }));
                totals.landed += usize::from(in_place && has_landed);
                totals.unchanged += usize::from(in_place && !has_landed);
                totals.unlanded += usize::from(held || (lands && !in_place));
            }
            Outcome::Failed { failure } => {
                totals.failed += 1;
                classes.insert(failure.class);
            }
            Outcome::Cancelled => totals.cancelled += 1,
        }
    }
    totals.failures = classes.into_iter().collect();
    totals
}
