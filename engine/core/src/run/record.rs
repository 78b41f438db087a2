//! What the ledger has of one run: the part of it that survives the engine.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{
    CaptureRef, Captured, ExitCode, Landed, LandingReport, LedgerEntry, MergeMode, Outcome,
    RunName, RunSpec, TaskId, TaskName, TaskSpec, Totals,
};

use crate::dependencies::in_order;
use crate::task::{TaskRecord, task_of};

/// The durable part of a run: the fold of its ledger entries.
///
/// What a restart of the run needs is in here, and it is changed by [`RunRecord::apply`] only.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// Its name in the ledger.
    pub name: RunName,
    /// What is asked of it as a whole. The list of tasks is empty: they have records of their own.
    pub spec: RunSpec,
    /// Where it stands.
    pub status: RunStatus,
    /// How far its landing is.
    pub landing: LandingRecord,
    tasks: Vec<TaskRecord>,
    positions: BTreeMap<TaskId, usize>,
    named: BTreeMap<String, usize>,
    /// For each position, its rank in an order that has predecessors first.
    ranks: Vec<usize>,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq)]
pub enum RunStatus {
    /// It goes on, or its engine died.
    Running,
    /// It is over.
    Finished {
        /// What it came to.
        totals: Totals,
        /// How the program ended.
        exit_code: ExitCode,
    },
    /// Its engine died, and what it left was captured later.
    Interrupted,
    /// It could not be started after all.
    Withdrawn,
}

/// How far the landing of a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandingRecord {
    /// Nothing has landed.
    NotBegun,
    /// It has begun; the engine may have died at it.
    Begun,
    /// It is over, with this report.
    Finished(LandingReport),
}

impl RunRecord {
    /// Returns the record of a run that was opened under a name.
    #[must_use]
    pub fn opened(name: RunName, mut spec: RunSpec) -> Self {
        let tasks = std::mem::take(&mut spec.tasks);
        let mut record = Self {
            name,
            spec,
            status: RunStatus::Running,
            landing: LandingRecord::NotBegun,
            tasks: Vec::with_capacity(tasks.len()),
            positions: BTreeMap::new(),
            named: BTreeMap::new(),
            ranks: Vec::with_capacity(tasks.len()),
        };
        record.add(None, tasks);
        record
    }

    /// Adds one entry. An entry that concerns another run changes nothing.
    pub fn apply(&mut self, entry: &LedgerEntry) {
        match entry {
            LedgerEntry::TaskStarted { task, .. }
            | LedgerEntry::SessionStarted { task, .. }
            | LedgerEntry::TaskCaptured { task, .. }
            | LedgerEntry::TaskUsed { task, .. }
            | LedgerEntry::TaskFinished { task, .. }
            | LedgerEntry::TaskDiscarded { task } => {
                if let Some(&at) = self.positions.get(task) {
                    self.tasks[at].apply(entry);
                }
            }
            LedgerEntry::TasksAdded { run, .. }
            | LedgerEntry::LandingStarted { run, .. }
            | LedgerEntry::LandingFinished { run, .. }
            | LedgerEntry::RunFinished { run, .. }
            | LedgerEntry::RunWithdrawn { run }
            | LedgerEntry::RunInterrupted { run }
                if *run != self.spec.id => {}
            LedgerEntry::TasksAdded { parent, tasks, .. } => self.add(*parent, tasks.clone()),
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

    /// Returns whether an entry concerns this run.
    #[must_use]
    pub fn concerns(&self, entry: &LedgerEntry) -> bool {
        match entry {
            LedgerEntry::TasksAdded { run, .. }
            | LedgerEntry::TaskStarted { run, .. }
            | LedgerEntry::LandingStarted { run, .. }
            | LedgerEntry::LandingFinished { run, .. }
            | LedgerEntry::RunFinished { run, .. }
            | LedgerEntry::RunWithdrawn { run }
            | LedgerEntry::RunInterrupted { run } => *run == self.spec.id,
            LedgerEntry::SessionStarted { .. }
            | LedgerEntry::TaskCaptured { .. }
            | LedgerEntry::TaskUsed { .. }
            | LedgerEntry::TaskFinished { .. }
            | LedgerEntry::TaskDiscarded { .. } => {
                task_of(entry).is_some_and(|task| self.positions.contains_key(&task))
            }
        }
    }

    /// Returns its tasks, in the order of their declaration; added ones come after.
    #[must_use]
    pub fn tasks(&self) -> &[TaskRecord] {
        &self.tasks
    }

    /// Returns one of its tasks.
    #[must_use]
    pub fn task(&self, id: TaskId) -> Option<&TaskRecord> {
        self.position(id).map(|at| &self.tasks[at])
    }

    /// Returns the task of this name, compared without case.
    #[must_use]
    pub fn task_named(&self, name: &TaskName) -> Option<&TaskRecord> {
        self.at(name).map(|at| &self.tasks[at])
    }

    /// Returns its tasks, predecessors first.
    #[must_use]
    pub fn tasks_in_order(&self) -> Vec<&TaskRecord> {
        let mut positions: Vec<usize> = (0..self.tasks.len()).collect();
        positions.sort_unstable_by_key(|at| self.ranks[*at]);
        positions.into_iter().map(|at| &self.tasks[at]).collect()
    }

    /// Returns the captures that a task's workspace builds on: those of all tasks it depends on,
    /// directly or not, predecessors first.
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

    pub(super) fn position(&self, task: TaskId) -> Option<usize> {
        self.positions.get(&task).copied()
    }

    fn at(&self, name: &TaskName) -> Option<usize> {
        self.named.get(&name.folded()).copied()
    }

    fn add(&mut self, parent: Option<TaskId>, specs: Vec<TaskSpec>) {
        let first = self.tasks.len();
        let ranks = ranks(&specs);
        self.ranks.extend(ranks.into_iter().map(|rank| first + rank));
        for (at, spec) in (first..).zip(specs) {
            self.positions.insert(spec.id, at);
            self.named.insert(spec.name.folded(), at);
            self.tasks.push(TaskRecord::queued(spec, parent));
        }
    }

    /// A run whose last entry is in the ledger is over, even if its engine died right after it.
    fn interrupt(&mut self) {
        if self.status == RunStatus::Running {
            self.status = RunStatus::Interrupted;
            for task in &mut self.tasks {
                task.interrupt();
            }
        }
    }
}

/// Returns the rank of each task among those that came with it. What came earlier cannot depend on
/// it, so it has a lower rank.
fn ranks(specs: &[TaskSpec]) -> Vec<usize> {
    let together: BTreeSet<_> = specs.iter().map(|spec| spec.name.folded()).collect();
    let inner: Vec<Vec<TaskName>> = specs
        .iter()
        .map(|spec| {
            let on = spec.depends_on.iter().filter(|on| together.contains(&on.folded()));
            on.cloned().collect()
        })
        .collect();
    let view: Vec<_> =
        specs.iter().zip(&inner).map(|(spec, on)| (&spec.name, on.as_slice())).collect();
    // The plan was checked before it came here; an unchecked one runs as declared.
    let order = in_order(&view).unwrap_or_else(|_| (0..specs.len()).collect());
    let mut ranks = vec![0; specs.len()];
    for (rank, at) in order.into_iter().enumerate() {
        ranks[at] = rank;
    }
    ranks
}

#[cfg(test)]
mod tests;

/// Adds up what became of the tasks of a run that took `ms` milliseconds.
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
            Some(Landed::Unwritten { .. } | Landed::Waiting { .. }) | None => false,
        };
        // What is in its workspace only lands nowhere.
        let held = task.captured.as_ref().is_some_and(Captured::holds_uncaptured_files);
        totals.kept += usize::from(held || (changed && !landed));
        totals.usage = match (totals.usage, report.usage) {
            (Some(all), Some(one)) => Some(all + one),
            (all, one) => all.or(one),
        };
        match &report.outcome {
            Outcome::Done { .. } => {
                totals.done += 1;
                let in_place = !held && (landed || (lands && !changed));
                totals.landed += usize::from(in_place);
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
