//! One task on its way from admission to report.
//!
//! Whatever the end, the order is the same: the session is stopped, the workspace is sealed (no
//! writer is left), captured, discarded, and then the report is told.

use protocol::{Captured, ChangeDemand, Failure, FailureClass, Outcome};

use super::{Reminder, SessionEnd, Verdict, YieldContract};
use crate::ports::Workspace;

/// Feed it [`Input`]s, perform the [`Effect`]s it asks for. [`Effect::Finish`] comes exactly once;
/// a workspace that cannot be captured, or not whole, is kept, unless there is nothing left of it.
#[derive(Debug)]
pub struct Lifecycle {
    contract: YieldContract,
    change: ChangeDemand,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Preparing,
    /// Told to stop before there was a workspace.
    Leaving(Outcome),
    Working(Workspace),
    /// The session was told to stop and may still be writing.
    StoppingSession(Workspace, Outcome),
    /// The session is over; what it started may still be writing.
    Sealing(Workspace, Outcome),
    Capturing(Workspace, Outcome),
    /// The workspace is being removed, or kept.
    Discarding(Outcome, Option<Captured>),
    Finished,
}

/// Something the outside world tells a task.
#[derive(Debug)]
pub enum Input {
    /// Answers [`Effect::Prepare`].
    Prepared(Result<Workspace, Failure>),
    /// The session ended by itself.
    SessionEnded(SessionEnd),
    /// The session crashed and will not be restarted.
    SessionCrashed(String),
    /// The session is gone, for whatever reason.
    SessionStopped,
    /// Answers [`Effect::Seal`].
    Sealed,
    /// Answers [`Effect::Seal`]: what writes could not be stopped.
    NotSealed(Failure),
    /// Answers [`Effect::Capture`]. Nothing where there is nothing to capture into.
    Captured(Result<Option<Captured>, Failure>),
    /// Answers [`Effect::Capture`] where the workspace is not there any more.
    Vanished(Failure),
    /// Answers [`Effect::Discard`].
    Discarded,
    /// Answers [`Effect::Keep`].
    Kept,
    /// Someone wants the task to stop.
    Cancel,
    /// Its wall clock ran out.
    WallReached(Failure),
}

/// Something a task asks of the outside world.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Prepare a workspace.
    Prepare,
    /// Give up preparing if it can be given up; the answer still comes.
    AbandonPreparing,
    /// Run the session in the workspace. A reminder says what was wrong with its last end.
    RunSession(Workspace, Option<Reminder>),
    /// Stop the session, gently at first.
    StopSession,
    /// Tell whoever listens that the contract accepted a yield.
    AnnounceYield,
    /// Tell whoever listens that the contract asked again.
    AnnounceReminder(Reminder),
    /// See to it that nothing writes into the workspace any more.
    Seal(Workspace),
    /// Capture the changes in the workspace.
    Capture(Workspace),
    /// Remove the workspace.
    Discard(Workspace),
    /// Leave the workspace where it is: it has files that are not captured.
    Keep(Workspace),
    /// Report the end; nothing follows.
    Finish(Outcome, Option<Captured>),
}

impl Lifecycle {
    /// Begins the life of an admitted task.
    #[must_use]
    pub fn begin(contract: YieldContract, change: ChangeDemand) -> (Self, Vec<Effect>) {
        (Self { contract, change, phase: Phase::Preparing }, vec![Effect::Prepare])
    }

    /// Advances by one input. Inputs that no longer matter yield no effects.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        let (phase, effects) = match (std::mem::replace(&mut self.phase, Phase::Finished), input) {
            (Phase::Preparing, Input::Prepared(Ok(workspace))) => {
                (Phase::Working(workspace.clone()), vec![Effect::RunSession(workspace, None)])
            }
            (Phase::Preparing, Input::Prepared(Err(failure))) => {
                finish(Outcome::Failed { failure }, None)
            }
            (Phase::Preparing, Input::Cancel) => leave(Outcome::Cancelled),
            (Phase::Preparing, Input::WallReached(failure)) => leave(Outcome::Failed { failure }),
            (Phase::Leaving(end), Input::Prepared(Ok(workspace))) => {
                (Phase::Discarding(end, None), vec![Effect::Discard(workspace)])
            }
            (Phase::Leaving(end), Input::Prepared(Err(_abandoned))) => finish(end, None),

            (Phase::Working(workspace), Input::SessionEnded(end)) => self.settle(workspace, end),
            (Phase::Working(workspace), Input::SessionCrashed(message)) => {
                let failure = Failure::new(FailureClass::Crashed, message);
                seal(workspace, Outcome::Failed { failure })
            }
            (Phase::Working(workspace), Input::SessionStopped) => {
                let failure = Failure::new(FailureClass::Crashed, "its session was stopped");
                seal(workspace, Outcome::Failed { failure })
            }
            (Phase::Working(workspace), Input::Cancel) => stop(workspace, Outcome::Cancelled),
            (Phase::Working(workspace), Input::WallReached(failure)) => {
                stop(workspace, Outcome::Failed { failure })
            }

            (
                Phase::StoppingSession(workspace, end),
                Input::SessionEnded(_) | Input::SessionCrashed(_) | Input::SessionStopped,
            ) => seal(workspace, end),

            (Phase::Sealing(workspace, end), Input::Sealed) => {
                (Phase::Capturing(workspace.clone(), end), vec![Effect::Capture(workspace)])
            }
            // Who still writes would be captured half-way, and what it writes later removed.
            (Phase::Sealing(kept, end), Input::NotSealed(failure)) => keep(&kept, end, failure),
            (Phase::Capturing(workspace, end), Input::Captured(Ok(captured))) => {
                let end = self.demand_change(end, captured.as_ref());
                let holds = captured.as_ref().is_some_and(Captured::holds_uncaptured_files);
                let leave = if holds { Effect::Keep } else { Effect::Discard };
                (Phase::Discarding(end, captured), vec![leave(workspace)])
            }
            (Phase::Capturing(kept, end), Input::Captured(Err(failure))) => {
                keep(&kept, end, failure)
            }
            (Phase::Capturing(gone, end), Input::Vanished(failure)) => {
                (Phase::Discarding(uncaptured(end, failure), None), vec![Effect::Discard(gone)])
            }
            (Phase::Discarding(end, captured), Input::Discarded | Input::Kept) => {
                finish(end, captured)
            }

            (phase, _stale) => (phase, Vec::new()),
        };
        self.phase = phase;
        effects
    }

    fn settle(&mut self, workspace: Workspace, end: SessionEnd) -> (Phase, Vec<Effect>) {
        match self.contract.settle(end) {
            Verdict::Accept(value) => {
                let (phase, mut effects) = seal(workspace, Outcome::Done { value });
                effects.insert(0, Effect::AnnounceYield);
                (phase, effects)
            }
            Verdict::Remind(reminder) => {
                let again = Effect::RunSession(workspace.clone(), Some(reminder.clone()));
                (Phase::Working(workspace), vec![Effect::AnnounceReminder(reminder), again])
            }
            Verdict::Break(failure) => seal(workspace, Outcome::Failed { failure }),
        }
    }

    /// A success that changed nothing is none where a change was asked for.
    fn demand_change(&self, end: Outcome, captured: Option<&Captured>) -> Outcome {
        let empty = captured.is_some_and(|captured| captured.changes.files == 0);
        match end {
            Outcome::Done { .. } if self.change == ChangeDemand::Required && empty => {
                let message = "it changed nothing, and a change was asked for";
                Outcome::Failed { failure: Failure::new(FailureClass::Contract, message) }
            }
            end => end,
        }
    }
}

fn leave(end: Outcome) -> (Phase, Vec<Effect>) {
    (Phase::Leaving(end), vec![Effect::AbandonPreparing])
}

fn stop(workspace: Workspace, end: Outcome) -> (Phase, Vec<Effect>) {
    (Phase::StoppingSession(workspace, end), vec![Effect::StopSession])
}

fn seal(workspace: Workspace, end: Outcome) -> (Phase, Vec<Effect>) {
    (Phase::Sealing(workspace.clone(), end), vec![Effect::Seal(workspace)])
}

fn finish(end: Outcome, captured: Option<Captured>) -> (Phase, Vec<Effect>) {
    (Phase::Finished, vec![Effect::Finish(end, captured)])
}

/// Ends a task whose workspace stays as it is, for the next start.
fn keep(workspace: &Workspace, end: Outcome, failure: Failure) -> (Phase, Vec<Effect>) {
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
