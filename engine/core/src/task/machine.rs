//! One task on its way from admission to report.
//!
//! Whatever the end, the order is the same: the worker is stopped, the workspace is sealed (no
//! writer is left), captured, discarded, and then the report is told.
//!
//! What survives the engine is the [`TaskRecord`], which entries change and nothing else does. An
//! entry is asked for with [`Effect::Record`]; what it announces is done at [`Input::Recorded`].

use std::time::Duration;

use protocol::{AgentEnd, Captured, ChangeDemand, Failure, FailureClass, LedgerEntry, Outcome};

use super::{ContractDecision, Reminder, TaskRecord, YieldContract};
use crate::ports::{CancelLevel, Workspace};
use crate::restarts::{CrashLog, Decision, RestartBudget};

mod inputs_and_effects;

pub use inputs_and_effects::{Effect, Input, Timer};

/// What was killed has this long to be gone. Processes need milliseconds; what takes longer waits in
/// the kernel for a disk, and nothing but the disk can end it.
const SEAL_DEADLINE: Duration = Duration::from_secs(30);

/// Feed it [`Input`]s, perform the [`Effect`]s it asks for. [`Effect::Finish`] comes exactly once;
/// a workspace that cannot be captured, or not whole, is kept, unless there is nothing left of it.
#[derive(Debug)]
pub struct TaskMachine {
    record: TaskRecord,
    contract: YieldContract,
    policy: WorkerPolicy,
    crashes: CrashLog,
    wall: WallClock,
    state: State,
}

/// How much a worker is allowed that does not do as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerPolicy {
    /// How often it is started again when it crashes.
    pub restarts: RestartBudget,
    /// How long what it started may take to end when it is told to stop.
    pub grace: Duration,
}

/// A worker that was told to stop has the grace period for what it started, and this for itself.
const STOP_MARGIN: Duration = Duration::from_secs(5);

/// Whether the wall clock of a task runs. It does from the start of its first worker on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WallClock {
    NotStarted,
    Running,
}

#[derive(Debug)]
enum State {
    Preparing,
    /// Told to stop before there was a workspace.
    StoppingEarly(Outcome),
    /// The ledger is told that a worker is about to start.
    RecordingSession(Workspace, Option<Reminder>),
    /// What a worker needs beside the workspace is being got.
    LeasingExecutor(Workspace, Option<Reminder>),
    /// The reminder is what the worker was told last, until it ends again.
    Working(Workspace, Option<Reminder>),
    /// The worker crashed; what it had started is being ended before it is started again.
    CleaningUp(Workspace, Option<Reminder>),
    /// The worker was told to stop and may still be writing, or was not to start after all.
    Stopping(Workspace, Outcome, CancelLevel),
    /// The worker is over; what it started may still be writing.
    Sealing(Workspace, Outcome),
    Capturing(Workspace, Outcome),
    /// The ledger is told of the capture.
    RecordingCapture(Workspace, Outcome, Captured),
    /// The workspace is being removed.
    Discarding(Outcome, Option<Captured>),
    Finished,
}

/// What follows an input.
type Next = (State, Vec<Effect>);

impl TaskMachine {
    /// Begins the attempt that the ledger says was started last.
    #[must_use]
    pub fn begin(
        record: TaskRecord,
        contract: YieldContract,
        policy: WorkerPolicy,
    ) -> (Self, Vec<Effect>) {
        let (crashes, wall, state) = (CrashLog::default(), WallClock::NotStarted, State::Preparing);
        (Self { record, contract, policy, crashes, wall, state }, vec![Effect::Prepare])
    }

    /// Returns what the ledger has of the task.
    #[must_use]
    pub fn record(&self) -> &TaskRecord {
        &self.record
    }

    /// Returns what the ledger has of the task, which is over.
    #[must_use]
    pub fn into_record(self) -> TaskRecord {
        self.record
    }

    /// Returns the number of this attempt. They count from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.record.attempt
    }

    /// Returns whether a worker is at work, and nobody has told it to stop.
    #[must_use]
    pub fn is_working(&self) -> bool {
        matches!(self.state, State::Working(..))
    }

    /// Advances by one input. Inputs that no longer matter yield no effects.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        if let Input::Recorded(entry) = &input {
            self.record.apply(entry);
        }
        let state = std::mem::replace(&mut self.state, State::Finished);
        let (state, effects) = match input {
            Input::Cancel(level) => self.stop(state, Outcome::Cancelled, level),
            Input::TimerFired(Timer::Wall) => {
                let failure = self.wall_reached();
                self.stop(state, Outcome::Failed { failure }, CancelLevel::Gently)
            }
            Input::TimerFired(Timer::StopGrace) => match state {
                State::Stopping(..) => (state, vec![Effect::KillWorker]),
                state => (state, Vec::new()),
            },
            Input::Prepared(prepared) => self.prepared(state, prepared),
            Input::Recorded(entry) => self.recorded(state, &entry, Durability::Durable),
            Input::NotRecorded(entry) => self.recorded(state, &entry, Durability::LedgerGone),
            Input::Sealed | Input::NotSealed => sealed(state, &input),
            Input::Captured(captured) => self.captured(state, captured),
            Input::Vanished(failure) => match state {
                State::Capturing(gone, end) => {
                    (State::Discarding(uncaptured(end, failure), None), vec![Effect::Discard(gone)])
                }
                state => (state, Vec::new()),
            },
            Input::Discarded => match state {
                State::Discarding(end, captured) => finish(end, captured),
                state => (state, Vec::new()),
            },
            worker @ (Input::ExecutorLeased
            | Input::ExecutorUnavailable
            | Input::WorkerEnded(_)
            | Input::WorkerCrashed { .. }
            | Input::WorkerStopped
            | Input::CleanedUp
            | Input::NotCleanedUp) => self.worker(state, worker),
        };
        self.state = state;
        effects
    }

    /// Someone or something ends the task early.
    fn stop(&self, state: State, end: Outcome, level: CancelLevel) -> Next {
        let announce = Effect::AnnounceStopping;
        match state {
            State::Preparing => (State::StoppingEarly(end), vec![announce]),
            // There is no worker yet, or none any more: what is under way comes to its end, and no
            // worker follows.
            State::RecordingSession(workspace, _)
            | State::LeasingExecutor(workspace, _)
            | State::CleaningUp(workspace, _) => {
                (State::Stopping(workspace, end, level), vec![announce])
            }
            State::Working(workspace, _) => {
                let stop_grace =
                    Effect::StartTimer(Timer::StopGrace, self.policy.grace + STOP_MARGIN);
                let effects = vec![announce, Effect::StopWorker(level), stop_grace];
                (State::Stopping(workspace, end, level), effects)
            }
            State::Stopping(workspace, first, before) if before < level => {
                (State::Stopping(workspace, first, level), vec![Effect::StopWorker(level)])
            }
            state => (state, Vec::new()),
        }
    }

    fn prepared(&self, state: State, prepared: Result<Workspace, Failure>) -> Next {
        match (state, prepared) {
            (State::Preparing, Ok(workspace)) => self.record_session(workspace, None),
            (State::Preparing, Err(failure)) => finish(Outcome::Failed { failure }, None),
            (State::StoppingEarly(end), Ok(workspace)) => {
                (State::Discarding(end, None), vec![Effect::Discard(workspace)])
            }
            (State::StoppingEarly(end), Err(_abandoned)) => finish(end, None),
            (state, _stale) => (state, Vec::new()),
        }
    }

    /// Has it recorded that a worker is about to start.
    fn record_session(&self, workspace: Workspace, reminder: Option<Reminder>) -> Next {
        let entry = LedgerEntry::SessionStarted {
            task: self.record.spec.id,
            attempt: self.attempt(),
            workspace: workspace.root.display().to_string(),
        };
        (State::RecordingSession(workspace, reminder), vec![Effect::Record(entry)])
    }

    fn recorded(&self, state: State, entry: &LedgerEntry, durability: Durability) -> Next {
        let session = matches!(entry, LedgerEntry::SessionStarted { .. });
        let capture = matches!(entry, LedgerEntry::TaskCaptured { .. });
        match (state, durability) {
            (State::RecordingSession(workspace, reminder), Durability::Durable) if session => {
                (State::LeasingExecutor(workspace, reminder), vec![Effect::LeaseExecutor])
            }
            // The engine is closing: what is not recorded is not done.
            (State::RecordingSession(workspace, _), Durability::LedgerGone) if session => {
                seal(workspace, crashed("the ledger is gone"))
            }
            (State::Stopping(workspace, end, _), _) if session => seal(workspace, end),
            // The work is in the task store already, whatever the ledger has.
            (State::RecordingCapture(workspace, end, captured), _) if capture => {
                let announced = Effect::AnnounceCapture(captured.clone());
                let (state, mut effects) = match captured.holds_uncaptured_files() {
                    // The workspace stays: it has files that are not captured.
                    true => finish(end, Some(captured)),
                    false => {
                        (State::Discarding(end, Some(captured)), vec![Effect::Discard(workspace)])
                    }
                };
                effects.insert(0, announced);
                (state, effects)
            }
            (state, _) => (state, Vec::new()),
        }
    }

    /// Something happened to the worker, or to what it needs.
    fn worker(&mut self, state: State, input: Input) -> Next {
        match (state, input) {
            (State::LeasingExecutor(workspace, reminder), Input::ExecutorLeased) => {
                let mut effects = vec![Effect::StartWorker {
                    workspace: workspace.clone(),
                    attempt: self.attempt(),
                    reminder: reminder.clone(),
                }];
                if self.wall == WallClock::NotStarted {
                    self.wall = WallClock::Running;
                    let wall = self.record.spec.limits.wall;
                    effects.push(Effect::StartTimer(Timer::Wall, wall));
                }
                (State::Working(workspace, reminder), effects)
            }
            (State::LeasingExecutor(workspace, _), Input::ExecutorUnavailable) => {
                seal(workspace, crashed("no executor answered"))
            }
            (State::Working(workspace, _), Input::WorkerEnded(end)) => self.judge(workspace, end),
            (State::Working(workspace, reminder), Input::WorkerCrashed { message, at }) => {
                match self.crashes.record(self.policy.restarts, at) {
                    Decision::Restart => {
                        let clear =
                            Effect::CleanUpWorker { error: message, deadline: SEAL_DEADLINE };
                        (State::CleaningUp(workspace, reminder), vec![clear])
                    }
                    Decision::GiveUp => seal(workspace, crashed(message)),
                }
            }
            (State::Working(workspace, _), Input::WorkerStopped) => {
                seal(workspace, crashed("its session was stopped"))
            }
            (State::CleaningUp(workspace, reminder), Input::CleanedUp) => {
                self.record_session(workspace, reminder)
            }
            (State::CleaningUp(workspace, _), Input::NotCleanedUp) => {
                seal(workspace, crashed("it crashed, and what it had started did not stop"))
            }
            (State::Stopping(workspace, end, _), _worker_is_gone) => seal(workspace, end),
            (state, _stale) => (state, Vec::new()),
        }
    }

    fn judge(&mut self, workspace: Workspace, end: AgentEnd) -> Next {
        match self.contract.judge(end) {
            ContractDecision::Accept(value) => {
                let (state, mut effects) = seal(workspace, Outcome::Done { value });
                effects.insert(0, Effect::AnnounceYield);
                (state, effects)
            }
            ContractDecision::Remind(reminder) => {
                let announced = Effect::AnnounceReminder(reminder.clone());
                let effects = vec![announced, Effect::Remind(reminder.clone())];
                (State::Working(workspace, Some(reminder)), effects)
            }
            ContractDecision::Fail(failure) => seal(workspace, Outcome::Failed { failure }),
        }
    }

    fn captured(&self, state: State, captured: Result<Option<Captured>, Failure>) -> Next {
        let State::Capturing(workspace, end) = state else { return (state, Vec::new()) };
        match captured {
            Ok(Some(captured)) => {
                let end = self.require_change(end, &captured);
                let (task, attempt) = (self.record.spec.id, self.attempt());
                let entry = LedgerEntry::TaskCaptured { task, attempt, captured: captured.clone() };
                let state = State::RecordingCapture(workspace, end, captured);
                (state, vec![Effect::Record(entry)])
            }
            Ok(None) => (State::Discarding(end, None), vec![Effect::Discard(workspace)]),
            Err(failure) => keep(&workspace, end, failure),
        }
    }

    /// A success that changed nothing is none where a change was asked for.
    fn require_change(&self, end: Outcome, captured: &Captured) -> Outcome {
        let demanded = self.record.spec.change == ChangeDemand::Required;
        match end {
            Outcome::Done { .. } if demanded && captured.changes.files == 0 => {
                let message = "it changed nothing, and a change was asked for";
                Outcome::Failed { failure: Failure::new(FailureClass::Contract, message) }
            }
            end => end,
        }
    }

    fn wall_reached(&self) -> Failure {
        let seconds = self.record.spec.limits.wall.as_secs_f64();
        let message = format!("it was stopped after {seconds} s, as long as it may run");
        Failure::new(FailureClass::Timeout, message)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Durability {
    Durable,
    LedgerGone,
}

fn crashed(message: impl Into<String>) -> Outcome {
    Outcome::Failed { failure: Failure::new(FailureClass::Crashed, message) }
}

fn seal(workspace: Workspace, end: Outcome) -> Next {
    (State::Sealing(workspace, end), vec![Effect::Seal { deadline: SEAL_DEADLINE }])
}

fn sealed(state: State, input: &Input) -> Next {
    match (state, input) {
        (State::Sealing(workspace, end), Input::Sealed) => {
            (State::Capturing(workspace, end), vec![Effect::Capture])
        }
        // Who still writes would be captured half-way, and what it writes later removed.
        (State::Sealing(kept, end), Input::NotSealed) => {
            let message = format!(
                "what it started was killed and did not stop within {} s, so nothing was captured",
                SEAL_DEADLINE.as_secs()
            );
            keep(&kept, end, Failure::new(FailureClass::Workspace, message))
        }
        (state, _stale) => (state, Vec::new()),
    }
}

fn finish(end: Outcome, captured: Option<Captured>) -> Next {
    (State::Finished, vec![Effect::Finish(end, captured)])
}

/// Ends a task whose workspace stays as it is, for the next start.
fn keep(workspace: &Workspace, end: Outcome, failure: Failure) -> Next {
    let place = format!("its workspace is kept at {}", workspace.root.display());
    let message = format!("{}; {place}", failure.message);
    finish(uncaptured(end, Failure { message, ..failure }), None)
}

/// What a task's end becomes when its work could not be captured: a success is none any more, and
/// every end says what became of the work.
fn uncaptured(end: Outcome, failure: Failure) -> Outcome {
    let failure = match end {
        Outcome::Failed { failure: first } => {
            Failure { message: format!("{}; then {}", first.message, failure.message), ..first }
        }
        Outcome::Done { .. } | Outcome::Cancelled => failure,
    };
    Outcome::Failed { failure }
}

#[cfg(test)]
mod tests;
