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
const SEALING: Duration = Duration::from_secs(30);

/// Feed it [`Input`]s, perform the [`Effect`]s it asks for. [`Effect::Finish`] comes exactly once;
/// a workspace that cannot be captured, or not whole, is kept, unless there is nothing left of it.
#[derive(Debug)]
pub struct Machine {
    record: TaskRecord,
    contract: YieldContract,
    policy: WorkerPolicy,
    crashes: CrashLog,
    wall: WallClock,
    phase: Phase,
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
const FAREWELL: Duration = Duration::from_secs(5);

/// Whether the wall clock of a task runs. It does from the start of its first worker on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WallClock {
    NotStarted,
    Running,
}

#[derive(Debug)]
enum Phase {
    Preparing,
    /// Told to stop before there was a workspace.
    Leaving(Outcome),
    /// The ledger is told that a worker is about to start.
    Announcing(Workspace, Option<Reminder>),
    /// What a worker needs beside the workspace is being got.
    Equipping(Workspace, Option<Reminder>),
    /// The reminder is what the worker was told last, until it ends again.
    Working(Workspace, Option<Reminder>),
    /// The worker crashed; what it had started is being ended before it is started again.
    Clearing(Workspace, Option<Reminder>),
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
type Next = (Phase, Vec<Effect>);

impl Machine {
    /// Begins the attempt that the ledger says was started last.
    #[must_use]
    pub fn begin(
        record: TaskRecord,
        contract: YieldContract,
        policy: WorkerPolicy,
    ) -> (Self, Vec<Effect>) {
        let (crashes, wall, phase) = (CrashLog::default(), WallClock::NotStarted, Phase::Preparing);
        (Self { record, contract, policy, crashes, wall, phase }, vec![Effect::Prepare])
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
        matches!(self.phase, Phase::Working(..))
    }

    /// Advances by one input. Inputs that no longer matter yield no effects.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        if let Input::Recorded(entry) = &input {
            self.record.apply(entry);
        }
        let phase = std::mem::replace(&mut self.phase, Phase::Finished);
        let (phase, effects) = match input {
            Input::Cancel(level) => self.stop(phase, Outcome::Cancelled, level),
            Input::TimerFired(Timer::Wall) => {
                let failure = self.wall_reached();
                self.stop(phase, Outcome::Failed { failure }, CancelLevel::Gently)
            }
            Input::TimerFired(Timer::Farewell) => match phase {
                Phase::Stopping(..) => (phase, vec![Effect::KillWorker]),
                phase => (phase, Vec::new()),
            },
            Input::Prepared(prepared) => self.prepared(phase, prepared),
            Input::Recorded(entry) => self.recorded(phase, &entry, Durability::Durable),
            Input::NotRecorded(entry) => self.recorded(phase, &entry, Durability::LedgerGone),
            Input::Sealed | Input::NotSealed => sealed(phase, &input),
            Input::Captured(captured) => self.captured(phase, captured),
            Input::Vanished(failure) => match phase {
                Phase::Capturing(gone, end) => {
                    (Phase::Discarding(uncaptured(end, failure), None), vec![Effect::Discard(gone)])
                }
                phase => (phase, Vec::new()),
            },
            Input::Discarded => match phase {
                Phase::Discarding(end, captured) => finish(end, captured),
                phase => (phase, Vec::new()),
            },
            worker @ (Input::Equipped
            | Input::NotEquipped
            | Input::WorkerEnded(_)
            | Input::WorkerCrashed { .. }
            | Input::WorkerStopped
            | Input::Cleared
            | Input::NotCleared) => self.worker(phase, worker),
        };
        self.phase = phase;
        effects
    }

    /// Someone or something ends the task early.
    fn stop(&self, phase: Phase, end: Outcome, level: CancelLevel) -> Next {
        let announce = Effect::AnnounceStopping;
        match phase {
            Phase::Preparing => (Phase::Leaving(end), vec![announce]),
            // There is no worker yet, or none any more: what is under way comes to its end, and no
            // worker follows.
            Phase::Announcing(workspace, _)
            | Phase::Equipping(workspace, _)
            | Phase::Clearing(workspace, _) => {
                (Phase::Stopping(workspace, end, level), vec![announce])
            }
            Phase::Working(workspace, _) => {
                let farewell = Effect::StartTimer(Timer::Farewell, self.policy.grace + FAREWELL);
                let effects = vec![announce, Effect::StopWorker(level), farewell];
                (Phase::Stopping(workspace, end, level), effects)
            }
            Phase::Stopping(workspace, first, before) if before < level => {
                (Phase::Stopping(workspace, first, level), vec![Effect::StopWorker(level)])
            }
            phase => (phase, Vec::new()),
        }
    }

    fn prepared(&self, phase: Phase, prepared: Result<Workspace, Failure>) -> Next {
        match (phase, prepared) {
            (Phase::Preparing, Ok(workspace)) => self.announce(workspace, None),
            (Phase::Preparing, Err(failure)) => finish(Outcome::Failed { failure }, None),
            (Phase::Leaving(end), Ok(workspace)) => {
                (Phase::Discarding(end, None), vec![Effect::Discard(workspace)])
            }
            (Phase::Leaving(end), Err(_abandoned)) => finish(end, None),
            (phase, _stale) => (phase, Vec::new()),
        }
    }

    /// Has it recorded that a worker is about to start.
    fn announce(&self, workspace: Workspace, reminder: Option<Reminder>) -> Next {
        let entry = LedgerEntry::SessionStarted {
            task: self.record.spec.id,
            attempt: self.attempt(),
            workspace: workspace.root.display().to_string(),
        };
        (Phase::Announcing(workspace, reminder), vec![Effect::Record(entry)])
    }

    fn recorded(&self, phase: Phase, entry: &LedgerEntry, durability: Durability) -> Next {
        let session = matches!(entry, LedgerEntry::SessionStarted { .. });
        let capture = matches!(entry, LedgerEntry::TaskCaptured { .. });
        match (phase, durability) {
            (Phase::Announcing(workspace, reminder), Durability::Durable) if session => {
                (Phase::Equipping(workspace, reminder), vec![Effect::Equip])
            }
            // The engine is closing: what is not recorded is not done.
            (Phase::Announcing(workspace, _), Durability::LedgerGone) if session => {
                seal(workspace, crashed("the ledger is gone"))
            }
            (Phase::Stopping(workspace, end, _), _) if session => seal(workspace, end),
            // The work is in the task store already, whatever the ledger has.
            (Phase::RecordingCapture(workspace, end, captured), _) if capture => {
                let announced = Effect::AnnounceCapture(captured.clone());
                let (phase, mut effects) = match captured.holds_uncaptured_files() {
                    // The workspace stays: it has files that are not captured.
                    true => finish(end, Some(captured)),
                    false => {
                        (Phase::Discarding(end, Some(captured)), vec![Effect::Discard(workspace)])
                    }
                };
                effects.insert(0, announced);
                (phase, effects)
            }
            (phase, _) => (phase, Vec::new()),
        }
    }

    /// Something happened to the worker, or to what it needs.
    fn worker(&mut self, phase: Phase, input: Input) -> Next {
        match (phase, input) {
            (Phase::Equipping(workspace, reminder), Input::Equipped) => {
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
                (Phase::Working(workspace, reminder), effects)
            }
            (Phase::Equipping(workspace, _), Input::NotEquipped) => {
                seal(workspace, crashed("no executor answered"))
            }
            (Phase::Working(workspace, _), Input::WorkerEnded(end)) => self.judge(workspace, end),
            (Phase::Working(workspace, reminder), Input::WorkerCrashed { message, at }) => {
                match self.crashes.record(self.policy.restarts, at) {
                    Decision::Restart => {
                        let clear = Effect::ClearWorker { error: message, deadline: SEALING };
                        (Phase::Clearing(workspace, reminder), vec![clear])
                    }
                    Decision::GiveUp => seal(workspace, crashed(message)),
                }
            }
            (Phase::Working(workspace, _), Input::WorkerStopped) => {
                seal(workspace, crashed("its session was stopped"))
            }
            (Phase::Clearing(workspace, reminder), Input::Cleared) => {
                self.announce(workspace, reminder)
            }
            (Phase::Clearing(workspace, _), Input::NotCleared) => {
                seal(workspace, crashed("it crashed, and what it had started did not stop"))
            }
            (Phase::Stopping(workspace, end, _), _worker_is_gone) => seal(workspace, end),
            (phase, _stale) => (phase, Vec::new()),
        }
    }

    fn judge(&mut self, workspace: Workspace, end: AgentEnd) -> Next {
        match self.contract.judge(end) {
            ContractDecision::Accept(value) => {
                let (phase, mut effects) = seal(workspace, Outcome::Done { value });
                effects.insert(0, Effect::AnnounceYield);
                (phase, effects)
            }
            ContractDecision::Remind(reminder) => {
                let announced = Effect::AnnounceReminder(reminder.clone());
                let effects = vec![announced, Effect::Remind(reminder.clone())];
                (Phase::Working(workspace, Some(reminder)), effects)
            }
            ContractDecision::Fail(failure) => seal(workspace, Outcome::Failed { failure }),
        }
    }

    fn captured(&self, phase: Phase, captured: Result<Option<Captured>, Failure>) -> Next {
        let Phase::Capturing(workspace, end) = phase else { return (phase, Vec::new()) };
        match captured {
            Ok(Some(captured)) => {
                let end = self.demand_change(end, &captured);
                let (task, attempt) = (self.record.spec.id, self.attempt());
                let entry = LedgerEntry::TaskCaptured { task, attempt, captured: captured.clone() };
                let phase = Phase::RecordingCapture(workspace, end, captured);
                (phase, vec![Effect::Record(entry)])
            }
            Ok(None) => (Phase::Discarding(end, None), vec![Effect::Discard(workspace)]),
            Err(failure) => keep(&workspace, end, failure),
        }
    }

    /// A success that changed nothing is none where a change was asked for.
    fn demand_change(&self, end: Outcome, captured: &Captured) -> Outcome {
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
    (Phase::Sealing(workspace, end), vec![Effect::Seal { deadline: SEALING }])
}

fn sealed(phase: Phase, input: &Input) -> Next {
    match (phase, input) {
        (Phase::Sealing(workspace, end), Input::Sealed) => {
            (Phase::Capturing(workspace, end), vec![Effect::Capture])
        }
        // Who still writes would be captured half-way, and what it writes later removed.
        (Phase::Sealing(kept, end), Input::NotSealed) => {
            let message = format!(
                "what it started was killed and did not stop within {} s, so nothing was captured",
                SEALING.as_secs()
            );
            keep(&kept, end, Failure::new(FailureClass::Workspace, message))
        }
        (phase, _stale) => (phase, Vec::new()),
    }
}

fn finish(end: Outcome, captured: Option<Captured>) -> Next {
    (Phase::Finished, vec![Effect::Finish(end, captured)])
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
