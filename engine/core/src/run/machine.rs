//! The state machine of one run. It starts tasks when the schedule admits them, records how each
//! ended, and lands their work at the end.
//!
//! The durable state is the [`RunRecord`], which only ledger entries change. The machine asks for
//! an entry with [`Effect::Record`] and continues when the entry is durable, at
//! [`Input::Recorded`]. All other state is lost with the engine.

use protocol::{
    EventKind, Failure, FailureClass, FailureDetail, LandingReport, LedgerEntry, OnFailure,
    Outcome, OwnNeeds, TaskId, TaskName, TaskReport, TaskSpec, Work,
};

use super::RunRecord;
use crate::exit_code::{Interruption, exit_code};
use crate::ports::{CancelLevel, Notice};
use crate::schedule::{QueuedTask, RefusedTask, TaskEnd};

mod account_failures;
mod cancelling;
mod eager;
mod ending;
mod inputs_and_effects;
mod waits;

pub use inputs_and_effects::{Effect, Input};
pub use waits::WaitsFor;

use eager::EagerLanding;
use ending::Ending;
use waits::Waits;

/// The state machine of one run. The caller passes in each [`Input`] and performs the returned
/// [`Effect`]s in order. [`Effect::End`] is the last effect and occurs exactly once.
#[derive(Debug)]
pub struct RunMachine {
    record: RunRecord,
    /// The current state of each task, by position.
    live: Vec<LiveState>,
    /// The number of tasks that are not [`LiveState::Over`].
    unfinished: usize,
    interruption: Option<Interruption>,
    /// The most urgent level at which all tasks were cancelled.
    cancelled: Option<CancelLevel>,
    waits: Waits,
    ending: Ending,
    /// The landing before the end, if work lands eagerly.
    eager: EagerLanding,
    /// How many tasks the last verification has held back.
    held: usize,
    /// The results of landings before the end that did not land, as they were announced.
    announced: Vec<EventKind>,
}

/// The current state of a task. It may be ahead of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LiveState {
    Waiting,
    /// The task has a permit, and its start is being recorded.
    Admitted,
    Running,
    /// The end of the task is being recorded.
    Finishing,
    Over,
}

impl RunMachine {
    /// Returns the machine of a run that has just been opened, or that is resumed from the ledger.
    #[must_use]
    pub fn new(record: RunRecord) -> Self {
        let live = |over| if over { LiveState::Over } else { LiveState::Waiting };
        let live: Vec<_> =
            record.tasks().iter().map(|task| live(task.report().is_some())).collect();
        let unfinished = live.iter().filter(|live| **live != LiveState::Over).count();
        Self {
            record,
            live,
            unfinished,
            interruption: None,
            cancelled: None,
            waits: Waits::default(),
            ending: Ending::default(),
            eager: EagerLanding::default(),
            held: 0,
            announced: Vec::new(),
        }
    }

    /// Returns the durable state of the run.
    #[must_use]
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// Processes an input and returns the effects. An input that does not matter any more has no
    /// effects.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Begin(notices) => self.begin(notices, &mut effects),
            Input::Admitted(task) => self.admitted(task, &mut effects),
            Input::Refused(refused) => self.refused(refused, &mut effects),
            Input::PermitReturned(task) => self.waits.resumed(task, &mut effects),
            Input::Waits(task, reason) => self.waits(task, reason, &mut effects),
            Input::WaitEnded(task, reason) => self.wait_ended(task, reason, &mut effects),
            Input::Cancel(level, why) => {
                self.interrupted(why);
                effects.push(Effect::CancelLanding(level));
                self.cancel_unfinished(level, &mut effects);
            }
            Input::WorkEnded(task) => self.work_ended(task, &mut effects),
            Input::TaskEnded(task, report) => {
                self.waits.ended(task);
                if self.live(task) == Some(LiveState::Running) {
                    self.finish(task, report, &mut effects);
                }
            }
            Input::Recorded(entry) => {
                self.record.apply(&entry);
                self.recorded(entry, &mut effects);
            }
            Input::NotRecorded(entry) => self.not_recorded(entry, &mut effects),
            Input::LandingCrashed(message) => self.landing_crashed(&message, &mut effects),
            Input::WorkspacesReleased { late, ms } => {
                self.workspaces_released(late, ms, &mut effects)
            }
            Input::Closed => effects.push(Effect::End),
        }
        effects
    }

    fn begin(&mut self, notices: Vec<Notice>, effects: &mut Vec<Effect>) {
        let (spec, tasks) = (&self.record.spec, self.record.tasks());
        effects.push(Effect::Announce(EventKind::RunStarted {
            label: spec.label.clone(),
            repo: spec.repo.to_string_lossy().into_owned(),
            group: spec.group.clone(),
            tasks: tasks.len(),
            jobs: spec.jobs.get(),
            isolation: spec.isolation,
            merge: spec.merge,
            onto: spec.users_branch().map(str::to_owned),
            land: spec.land,
            verify: spec.verify.commands.clone(),
            pass_env: spec.pass_env.clone(),
            needs: spec.needs.clone(),
            own_needs: OwnNeeds::of(tasks.iter().map(|task| &task.spec.needs)),
            retry_of: spec.retry.as_ref().map(|retry| retry.run.clone()),
            caller: spec.caller.clone(),
        }));
        let degraded = |Notice { from, to, why }| EventKind::Degraded { from, to, why };
        effects.extend(notices.into_iter().map(degraded).map(Effect::Announce));
        self.enqueue(effects);
        self.end_if_done(effects);
    }

    /// Announces the tasks, and queues those that can still run.
    fn enqueue(&mut self, effects: &mut Vec<Effect>) {
        let (mut entries, mut refused) = (Vec::new(), Vec::new());
        for (at, task) in self.record.tasks().iter().enumerate() {
            if self.live[at] != LiveState::Waiting {
                continue;
            }
            effects.push(Effect::Announce(queued(&task.spec)));
            let on = task.spec.depends_on.iter().filter_map(|on| self.record.task_named(on));
            let open: Vec<_> = on.filter(|on| !on.is_done()).collect();
            let over = open.iter().find(|on| on.report().is_some());
            if let Some(failed) = over {
                refused.push(RefusedTask { task: task.spec.id, because_of: failed.spec.id });
                continue;
            }
            entries.push(QueuedTask {
                task: task.spec.id,
                run: self.record.spec.id,
                priority: task.spec.priority,
                depends_on: open.into_iter().map(|on| on.spec.id).collect(),
                permit: (&task.spec.work).into(),
            });
        }
        effects.push(Effect::Enqueue(entries));
        for refused in refused {
            self.refused(refused, effects);
        }
    }

    fn admitted(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        // The task may have been cancelled before the permit arrived.
        if self.live(task) == Some(LiveState::Waiting) {
            self.set(task, LiveState::Admitted);
            let attempt = self.record.task(task).map_or(0, |task| task.attempt) + 1;
            let run = self.record.spec.id;
            effects.push(Effect::Record(LedgerEntry::TaskStarted { run, task, attempt }));
        }
    }

    fn refused(&mut self, refused: RefusedTask, effects: &mut Vec<Effect>) {
        if self.has_not_started(refused.task) {
            let on = self.name(refused.because_of);
            let message = format!("it was not started: `{on}` did not succeed");
            let failure = Failure::new(FailureClass::Dependency, message)
                .with(FailureDetail::Tasks { tasks: vec![on] });
            self.finish(refused.task, unstarted(Outcome::Failed { failure }), effects);
        }
    }

    /// Lets another task work while the work of this one is captured, unless its end may decide which
    /// task is next, or that there is none, or nothing is captured.
    fn work_ended(&self, task: TaskId, effects: &mut Vec<Effect>) {
        let is_running = self.live(task) == Some(LiveState::Running);
        let can_capture = self.record.spec.isolation.capabilities().can_capture;
        let decides = self.record.spec.on_failure == OnFailure::CancelTheRest;
        if is_running && can_capture && !decides {
            effects.push(Effect::ReleasePermit(task));
        }
    }

    /// Records the end of a task, and what follows from it for others.
    fn finish(&mut self, task: TaskId, report: Box<TaskReport>, effects: &mut Vec<Effect>) {
        let outcome = report.outcome.clone();
        self.record_end(task, report, effects);
        if self.cancels_others(&outcome) {
            self.cancel_unfinished(CancelLevel::Gently, effects);
        }
        self.fail_unstarted(task, &outcome, effects);
    }

    fn record_end(&mut self, task: TaskId, mut report: Box<TaskReport>, effects: &mut Vec<Effect>) {
        self.set(task, LiveState::Finishing);
        if self.interruption == Some(Interruption::Resources)
            && report.outcome == Outcome::Cancelled
        {
            report.outcome = without_ledger();
        }
        effects.push(Effect::Record(LedgerEntry::TaskFinished { task, report }));
    }

    fn recorded(&mut self, entry: LedgerEntry, effects: &mut Vec<Effect>) {
        match entry {
            LedgerEntry::TaskStarted { task, attempt, .. } => {
                if self.live(task) == Some(LiveState::Admitted) {
                    self.set(task, LiveState::Running);
                    let started =
                        EventKind::TaskStarted { task: self.name(task), id: task, attempt };
                    effects.push(Effect::Announce(started));
                    let predecessors = self.record.predecessor_captures(task);
                    effects.push(Effect::StartTask { task, attempt, predecessors });
                }
            }
            LedgerEntry::TaskFinished { task, report } => self.finished(task, report, effects),
            LedgerEntry::TaskCaptured { task, captured, .. } => {
                self.captured(task, captured, effects);
            }
            LedgerEntry::WorkVerified { totals, .. } => self.held = totals.held,
            LedgerEntry::LandingStarted { .. } => self.landing_started(effects),
            LedgerEntry::LandingFinished { report, .. } if self.is_landing_early() => {
                self.finish_early_landing(report, effects);
            }
            LedgerEntry::LandingFinished { report, .. } => self.finish_landing(report, effects),
            LedgerEntry::RunFinished { .. } => self.over(effects),
            LedgerEntry::SessionStarted { .. }
            | LedgerEntry::TaskUsed { .. }
            | LedgerEntry::TaskDiscarded { .. }
            | LedgerEntry::TaskCollected { .. }
            | LedgerEntry::ResolverFailed { .. }
            | LedgerEntry::RunWithdrawn { .. }
            | LedgerEntry::RunInterrupted { .. } => {}
        }
    }

    fn not_recorded(&mut self, entry: LedgerEntry, effects: &mut Vec<Effect>) {
        self.interrupted(Interruption::Resources);
        match entry {
            // The task did not start, and will be cancelled as the engine closes.
            LedgerEntry::TaskStarted { .. } => {}
            LedgerEntry::LandingStarted { .. } if self.is_landing_early() => {
                self.give_up_early_landings(effects);
            }
            LedgerEntry::LandingStarted { .. } => {
                self.finish_landing(LandingReport::default(), effects)
            }
            LedgerEntry::RunFinished { run, totals, .. } => {
                let exit_code = exit_code(&totals, self.interruption);
                let ended = LedgerEntry::RunFinished { run, totals, exit_code };
                self.record.apply(&ended);
                self.recorded(ended, effects);
            }
            // The ledger is gone and the engine is closing. The record now has unwritten entries. The end of
            // a task is reported as the next start records it, which does not know how it had ended.
            mut begun => {
                if let LedgerEntry::TaskFinished { report, .. } = &mut begun
                    && report.outcome != Outcome::Cancelled
                {
                    report.outcome = without_ledger();
                }
                self.record.apply(&begun);
                self.recorded(begun, effects);
            }
        }
    }

    fn finished(&mut self, task: TaskId, report: Box<TaskReport>, effects: &mut Vec<Effect>) {
        let left = match report.outcome {
            Outcome::Done { .. } => TaskEnd::Succeeded,
            Outcome::Failed { .. } | Outcome::Cancelled => TaskEnd::NotSucceeded,
        };
        if self.live(task).is_some_and(|live| live != LiveState::Over) {
            self.set(task, LiveState::Over);
            self.unfinished -= 1;
        }
        let name = self.name(task);
        effects.push(Effect::Announce(EventKind::TaskFinished { task: name, report }));
        effects.push(Effect::Dequeue(task, left));
        self.land_ended(effects);
        self.end_if_done(effects);
    }

    /// Starts the end of the run when all tasks have ended.
    fn end_if_done(&mut self, effects: &mut Vec<Effect>) {
        let is_over = self.unfinished == 0 && !self.is_landing_early();
        if is_over && self.ending == Ending::TasksUnfinished {
            self.start_ending(effects);
        }
    }

    fn has_not_started(&self, task: TaskId) -> bool {
        matches!(self.live(task), Some(LiveState::Waiting | LiveState::Admitted))
    }

    fn live(&self, task: TaskId) -> Option<LiveState> {
        self.record.position(task).map(|at| self.live[at])
    }

    fn set(&mut self, task: TaskId, live: LiveState) {
        if let Some(at) = self.record.position(task) {
            self.live[at] = live;
        }
    }

    fn name(&self, task: TaskId) -> TaskName {
        let task = self.record.task(task);
        task.map_or_else(|| TaskName::nearest("unknown"), |task| task.spec.name.clone())
    }
}

/// Returns the event for a queued task.
fn queued(spec: &TaskSpec) -> EventKind {
    let (item, items) = spec.item_or_chunk();
    EventKind::TaskQueued {
        task: spec.name.clone(),
        title: spec.title.clone(),
        item: item.map(str::to_owned),
        items: items.to_vec(),
        model: match &spec.work {
            Work::Agent(agent) => Some(agent.model.to_string()),
            Work::Command(_) | Work::Conversation(_) => None,
        },
    }
}

/// Returns the outcome of a task that did not end before the ledger could not be written.
fn without_ledger() -> Outcome {
    let message = "the run was stopped: the ledger cannot be written";
    Outcome::Failed { failure: Failure::new(FailureClass::Resources, message) }
}

/// Returns the report of a task that ended before it started.
fn unstarted(outcome: Outcome) -> Box<TaskReport> {
    Box::new(TaskReport::unstarted(outcome))
}

#[cfg(test)]
mod tests;
