//! What the runs of an engine are given, and what they are told.

use std::sync::Arc;

use engine::exit_code::Interruption;
use engine::ports::{CancelLevel, Gate};
use protocol::RunId;
use ractor::ActorRef;

use super::opening::{GivenUp, OpenedRun};
use super::submission::{Answer, Submission, SubmitError};
use crate::deps::Deps;
use crate::events::EventBus;
use crate::executors::ExecutorsMessage;
use crate::isolation::IsolatorMessage;
use crate::ledger::LedgerMessage;
use crate::run::{RunRequest, ScheduleRequest};

#[derive(Clone)]
pub(crate) struct RunsArguments {
    pub(crate) isolator: ActorRef<IsolatorMessage>,
    pub(crate) executors: ActorRef<ExecutorsMessage>,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) ledger: ActorRef<LedgerMessage>,
    pub(crate) deps: Deps,
    pub(crate) events: EventBus,
}

pub(crate) enum RunsMessage {
    Submit(Box<Submission>, Answer),
    /// Sent by the opening itself; nobody else sends it.
    Opened(RunId, Box<Result<OpenedRun, SubmitError>>, Answer),
    /// Nothing of a run that was opened and not wanted any more is left.
    Withdrawn(GivenUp, Answer),
    /// Asked by a run.
    Schedule(ScheduleRequest),
    /// Something is asked of one run.
    Request(RunId, Box<RunRequest>),
    /// Cancels one run.
    Cancel(RunId, CancelLevel, Interruption),
    /// Cancels everything, and stops when nothing is left.
    Close,
}
