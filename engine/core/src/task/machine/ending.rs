//! The end of a task: its workspace is sealed, and captured or kept.

use protocol::{Captured, ChangeDemand, Failure, FailureClass, Outcome};

use super::{Effect, Input, Next, SEAL_DEADLINE, State, TaskMachine, Unsealed};
use crate::ports::{AttemptOutcome, Workspace};

pub(super) fn crashed(message: impl Into<String>) -> Outcome {
    Outcome::Failed { failure: Failure::new(FailureClass::Crashed, message) }
}

pub(super) fn seal(workspace: Workspace, end: Outcome) -> Next {
    (State::Sealing(workspace, end), vec![Effect::Seal { deadline: SEAL_DEADLINE }])
}

pub(super) fn sealed(state: State, input: &Input) -> Next {
    match (state, input) {
        (State::Sealing(workspace, end), Input::Sealed) => {
            let effects = if stops_others(&end) {
                vec![Effect::Capture]
            } else {
                vec![Effect::Capture, Effect::ReportWorkEnd]
            };
            (State::Capturing(workspace, end), effects)
        }
        // Processes still write into the workspace. A capture would be inconsistent, and their
        // later writes would be lost.
        (State::Sealing(kept, end), Input::NotSealed(unsealed)) => {
            let message = format!("{}, so nothing was captured", writers(*unsealed));
            keep(&kept, end, Failure::new(FailureClass::Workspace, message))
        }
        (state, _stale) => (state, Vec::new()),
    }
}

/// Returns whether no other task begins because of how this one ends, so that none may take its place
/// before its end is known.
fn stops_others(end: &Outcome) -> bool {
    matches!(end, Outcome::Failed { failure } if failure.is_of_account())
}

/// Returns what may still write into a workspace, for the user.
fn writers(unsealed: Unsealed) -> String {
    match unsealed {
        Unsealed::Late => format!(
            "what it started was killed and did not stop within {} s",
            SEAL_DEADLINE.as_secs()
        ),
        Unsealed::Left(1) => "one of the processes that it started could not be killed".to_owned(),
        Unsealed::Left(left) => {
            format!("{left} of the processes that it started could not be killed")
        }
        Unsealed::Unknown => "what watches over its processes was killed, and some of them may \
                              still run"
            .to_owned(),
    }
}

pub(super) fn finish(end: Outcome, captured: Option<Captured>) -> Next {
    (State::Finished, vec![Effect::Finish(end, captured)])
}

/// Ends a task and keeps its workspace, which the next start of an engine captures.
pub(super) fn keep(workspace: &Workspace, end: Outcome, failure: Failure) -> Next {
    let place = format!("its workspace is kept at {}", workspace.root.display());
    let message = format!("{}; {place}", failure.message);
    finish(uncaptured(end, Failure { message, ..failure }), None)
}

/// Returns the outcome of a task whose work could not be captured. It is a failure in any case.
pub(super) fn uncaptured(end: Outcome, failure: Failure) -> Outcome {
    let failure = match end {
        Outcome::Failed { failure: first } => {
            Failure { message: format!("{}; then {}", first.message, failure.message), ..first }
        }
        Outcome::Done { .. } | Outcome::Cancelled => failure,
    };
    Outcome::Failed { failure }
}

impl TaskMachine {
    /// Returns how the attempt ends whose work is being captured: if it has changed something, and if
    /// it has not.
    #[must_use]
    pub fn outcomes(&self) -> Option<[AttemptOutcome; 2]> {
        let State::Capturing(_, end) = &self.state else { return None };
        let changed = AttemptOutcome::from(end);
        let unchanged = match changed {
            AttemptOutcome::Done if self.needs_change() => {
                AttemptOutcome::Failed(FailureClass::Contract)
            }
            changed => changed,
        };
        Some([changed, unchanged])
    }

    /// Turns a success without changes into a failure if a change is required.
    pub(super) fn require_change(&self, end: Outcome, captured: &Captured) -> Outcome {
        match end {
            Outcome::Done { .. } if self.needs_change() && captured.changes.files == 0 => {
                let message = "it changed nothing, and a change was asked for";
                Outcome::Failed { failure: Failure::new(FailureClass::Contract, message) }
            }
            end => end,
        }
    }

    fn needs_change(&self) -> bool {
        self.record.spec.change == ChangeDemand::Required
    }
}
