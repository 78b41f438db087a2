//! The state machine of one task, from its permit to its report.
//!
//! A task ends in a fixed order: the machine stops the worker, seals the workspace (so that nothing
//! writes into it any more), captures and discards the workspace, and then sends the report.
//!
//! The durable state is the [`TaskRecord`], which only ledger entries change. The machine asks for
//! an entry with [`Effect::Record`] and continues when the entry is durable, at
//! [`Input::Recorded`].

use std::time::Duration;

use protocol::{
    AgentEnd, Captured, Failure, FailureClass, FailureDetail, LedgerEntry, Outcome, ReachedLimit,
};

use super::{ContractDecision, Reminder, TaskRecord, YieldContract};
use crate::ports::{CancelLevel, Workspace};
use crate::restarts::{CrashLog, Decision, RestartBudget};
use crate::texts::limit_text;

mod ending;
mod inputs_and_effects;

use ending::{crashed, finish, keep, seal, sealed, uncaptured};
pub use inputs_and_effects::{Effect, Input, Timer, Unsealed};

/// How long killed processes may take to disappear. They need milliseconds, unless they wait in the
/// kernel for a disk.
const SEAL_DEADLINE: Duration = Duration::from_secs(30);

/// The state machine of one task. The caller passes in each [`Input`] and performs the returned
/// [`Effect`]s. [`Effect::Finish`] occurs exactly once. A workspace that cannot be captured
/// completely is kept, unless it no longer exists.
#[derive(Debug)]
pub struct TaskMachine {
    record: TaskRecord,
    contract: YieldContract,
    policy: WorkerPolicy,
    crashes: CrashLog,
    wall: WallClock,
    state: State,
}

/// The restarts of a worker, the time it has to stop, and what comes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerPolicy {
    /// Whether the workspace is set up before the worker starts.
    pub setup: SetupPolicy,
    /// How often a crashed worker is restarted.
    pub restarts: RestartBudget,
    /// How long the processes of a stopped worker may take to end.
    pub grace: Duration,
}

/// Whether a workspace is set up before its worker starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupPolicy {
    /// Set-up commands run once, before the first worker.
    Commands,
    /// There is nothing to set up, or it has been done.
    None,
}

/// How long a stopped worker may take in addition to the grace period of its processes.
const STOP_MARGIN: Duration = Duration::from_secs(5);

/// Whether the wall-clock limit of the task is running. It starts with the set-up, or else with the
/// first worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WallClock {
    NotStarted,
    Running,
}

#[derive(Debug)]
enum State {
    Preparing,
    /// The task was cancelled before it had a workspace.
    StoppingEarly(Outcome),
    /// The start of a worker is being recorded.
    RecordingSession(Workspace, Option<Reminder>),
    /// A tool executor for the worker is being leased.
    LeasingExecutor(Workspace, Option<Reminder>),
    /// The set-up commands are running.
    SettingUp(Workspace),
    /// The worker is running. The reminder is the last one that was sent to it.
    Working(Workspace, Option<Reminder>),
    /// The worker crashed, and the processes it left are being ended before it is restarted.
    CleaningUp(Workspace, Option<Reminder>),
    /// The worker was asked to stop and may still be writing, or it will not be started any more.
    Stopping(Workspace, Outcome, CancelLevel),
    /// The worker has ended, but its processes may still be writing.
    Sealing(Workspace, Outcome),
    Capturing(Workspace, Outcome),
    /// The capture is being recorded.
    RecordingCapture(Workspace, Outcome, Captured),
    /// The workspace is being removed.
    Discarding(Outcome, Option<Captured>),
    Finished,
}

/// The next state and the effects of an input.
type Next = (State, Vec<Effect>);

impl TaskMachine {
    /// Starts the attempt that was recorded last.
    #[must_use]
    pub fn begin(
        record: TaskRecord,
        contract: YieldContract,
        policy: WorkerPolicy,
    ) -> (Self, Vec<Effect>) {
        let (crashes, wall, state) = (CrashLog::default(), WallClock::NotStarted, State::Preparing);
        (Self { record, contract, policy, crashes, wall, state }, vec![Effect::Prepare])
    }

    /// Returns the durable state of the task.
    #[must_use]
    pub fn record(&self) -> &TaskRecord {
        &self.record
    }

    /// Returns the durable state of the finished task.
    #[must_use]
    pub fn into_record(self) -> TaskRecord {
        self.record
    }

    /// Returns the number of the attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.record.attempt
    }

    /// Returns whether a worker is running that was not asked to stop.
    #[must_use]
    pub fn is_working(&self) -> bool {
        matches!(self.state, State::Working(..))
    }

    /// Returns whether set-up commands are running that were not asked to stop.
    #[must_use]
    pub fn is_setting_up(&self) -> bool {
        matches!(self.state, State::SettingUp(_))
    }

    /// Processes an input and returns the effects. An input that does not matter any more has no
    /// effects.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        if let Input::Recorded(entry) = &input {
            self.record.apply(entry);
        }
        let state = std::mem::replace(&mut self.state, State::Finished);
        let (state, effects) = match input {
            Input::Cancel(level) => self.stop(state, Outcome::Cancelled, level),
            Input::TimerFired(Timer::Wall, _) if !self.is_limited(&state) => (state, Vec::new()),
            Input::TimerFired(Timer::Wall, used) => {
                let failure = self.wall_reached(&state, used);
                self.stop(state, Outcome::Failed { failure }, CancelLevel::Gently)
            }
            Input::TimerFired(Timer::StopGrace, _) => match state {
                State::Stopping(..) => (state, vec![Effect::KillWorker]),
                state => (state, Vec::new()),
            },
            Input::Prepared(prepared) => self.prepared(state, prepared),
            Input::Recorded(entry) => self.recorded(state, &entry, Durability::Durable),
            Input::NotRecorded(entry) => self.recorded(state, &entry, Durability::LedgerGone),
            Input::Sealed | Input::NotSealed(_) => sealed(state, &input),
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
            | Input::SetupEnded(_)
            | Input::WorkerEnded(_)
            | Input::WorkerCrashed { .. }
            | Input::WorkerStopped
            | Input::CleanedUp
            | Input::NotCleanedUp) => self.worker(state, worker),
        };
        self.state = state;
        effects
    }

    /// Ends the task early.
    fn stop(&self, state: State, end: Outcome, level: CancelLevel) -> Next {
        let announce = Effect::AnnounceStopping;
        match state {
            State::Preparing => (State::StoppingEarly(end), vec![announce]),
            // No worker is running. The current step completes, and no worker starts after it.
            State::RecordingSession(workspace, _)
            | State::LeasingExecutor(workspace, _)
            | State::CleaningUp(workspace, _) => {
                (State::Stopping(workspace, end, level), vec![announce])
            }
            State::SettingUp(workspace) | State::Working(workspace, _) => {
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

    /// Records that a worker is about to start.
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
            // The engine is closing. A worker whose start is not recorded is not started.
            (State::RecordingSession(workspace, _), Durability::LedgerGone) if session => {
                seal(workspace, crashed("the ledger is gone"))
            }
            (State::Stopping(workspace, end, _), _) if session => seal(workspace, end),
            // The work is in the task store, even if the ledger could not be written.
            (State::RecordingCapture(workspace, end, captured), _) if capture => {
                let announced = Effect::AnnounceCapture(captured.clone());
                let (state, mut effects) = match captured.holds_uncaptured_files() {
                    // The workspace is kept, because it has files that the capture does not
                    // contain.
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

    /// Handles an input about the worker or its executor.
    fn worker(&mut self, state: State, input: Input) -> Next {
        match (state, input) {
            (State::LeasingExecutor(workspace, reminder), Input::ExecutorLeased) => {
                let (state, mut effects) = self.begin_work(workspace, reminder);
                if self.wall == WallClock::NotStarted && self.is_limited(&state) {
                    self.wall = WallClock::Running;
                    let wall = self.record.spec.limits.wall;
                    effects.push(Effect::StartTimer(Timer::Wall, wall));
                }
                (state, effects)
            }
            (State::SettingUp(workspace), Input::SetupEnded(Ok(()))) => {
                self.policy.setup = SetupPolicy::None;
                self.begin_work(workspace, None)
            }
            (State::SettingUp(workspace), Input::SetupEnded(Err(failure))) => {
                seal(workspace, Outcome::Failed { failure })
            }
            (State::LeasingExecutor(workspace, _), Input::ExecutorUnavailable) => {
                seal(workspace, crashed("no tool executor is available"))
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
                seal(workspace, crashed("it crashed, and its processes could not be stopped"))
            }
            (State::Stopping(workspace, end, _), _worker_is_gone) => seal(workspace, end),
            (state, _stale) => (state, Vec::new()),
        }
    }

    /// Starts the set-up if it is still to be done, else the worker.
    fn begin_work(&self, workspace: Workspace, reminder: Option<Reminder>) -> Next {
        match self.policy.setup {
            SetupPolicy::Commands => {
                (State::SettingUp(workspace.clone()), vec![Effect::SetUp(workspace)])
            }
            SetupPolicy::None => {
                let start = Effect::StartWorker {
                    workspace: workspace.clone(),
                    attempt: self.attempt(),
                    reminder: reminder.clone(),
                };
                (State::Working(workspace, reminder), vec![start])
            }
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

    /// Returns whether the wall-clock limit counts: a user takes as long as they like, their set-up does not.
    fn is_limited(&self, state: &State) -> bool {
        matches!(state, State::SettingUp(_)) || !self.record.spec.work.is_of_user()
    }

    fn wall_reached(&self, state: &State, used: Duration) -> Failure {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (used, most) = (millis(used), millis(self.record.spec.limits.wall));
        let reached = ReachedLimit::Wall { used, most };
        let what = match state {
            State::SettingUp(_) => "its set-up was stopped",
            _ => "it was stopped",
        };
        Failure::new(FailureClass::Timeout, format!("{}: {what}", limit_text(&reached)))
            .with(FailureDetail::Limit(reached))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Durability {
    Durable,
    LedgerGone,
}

#[cfg(test)]
mod tests;
