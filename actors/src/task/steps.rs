//! The steps of a task: each asks someone, and the answer comes back as a message.

use engine::ports::{IsolationError, Workspace as Place, WorkspaceRequest};
use engine::task::{Effect, Input, Reminder};
use protocol::{Captured, EventKind, Failure, LedgerEntry, Phase, Work};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::{ATTEMPT, SEALING, TaskMessage, TaskState, agent, command};
use crate::ask::{Teller, ask, ask_within};
use crate::executors::{ExecutorLease, ExecutorsMessage, ToolExecutorMessage};
use crate::isolation::{Lease, RepositoryMessage, WorkspaceMessage};
use crate::ledger::LedgerMessage;
use crate::session::{Session, SessionArguments, SessionMessage, SessionWork};

impl TaskState {
    /// Does what the ledger now knows of.
    pub(super) fn perform_recorded(
        &mut self,
        myself: &ActorRef<TaskMessage>,
        effect: Effect,
    ) -> Result<(), ActorProcessingErr> {
        match effect {
            Effect::RunSession(place, _complaint) => {
                let executors = self.arguments.executors.clone();
                ask(&mut self.jobs, myself, &executors, ExecutorsMessage::Lease, |lease| {
                    TaskMessage::Leased(place, lease)
                });
            }
            Effect::Discard(_) => self.discard(myself),
            Effect::Keep(_) => {
                let _dying = myself.cast(TaskMessage::Kept);
            }
            Effect::Prepare
            | Effect::AbandonPreparing
            | Effect::StopSession
            | Effect::AnnounceYield
            | Effect::AnnounceReminder(_)
            | Effect::Seal(_)
            | Effect::Capture(_)
            | Effect::Finish(..) => {} // never recorded here
        }
        Ok(())
    }

    pub(super) fn prepare(&mut self, myself: &ActorRef<TaskMessage>) {
        let request = WorkspaceRequest {
            task: self.name(),
            attempt: ATTEMPT,
            predecessors: self.arguments.predecessors.clone(),
        };
        let (repository, run) =
            (self.arguments.repository.clone(), self.arguments.run.name.clone());
        let question = |reply| RepositoryMessage::Prepare(run, request, reply);
        ask(&mut self.jobs, myself, &repository, question, TaskMessage::Prepared);
    }

    /// Keeps the lease and says where the workspace is.
    pub(super) fn keep(
        &mut self,
        prepared: Option<Result<Lease, IsolationError>>,
    ) -> Result<Place, Failure> {
        let lease = prepared
            .unwrap_or_else(|| Err(gone("prepare a workspace")))
            .map_err(|error| error.to_failure())?;
        let place = lease.place.clone();
        self.lease = Some(lease);
        self.tell(EventKind::WorkspaceReady {
            task: self.name(),
            path: place.root.display().to_string(),
            ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        Ok(place)
    }

    pub(super) async fn start_session(
        &mut self,
        myself: &ActorRef<TaskMessage>,
        place: &Place,
        executor: ExecutorLease,
    ) -> Result<(), ActorProcessingErr> {
        let work = match &self.arguments.spec.work {
            Work::Command(command) => {
                SessionWork::Command(command::request(command, &self.arguments, place, ATTEMPT))
            }
            Work::Agent(agent) => {
                SessionWork::Agent(Box::new(agent::session(agent, &self.arguments, place, ATTEMPT)))
            }
        };
        let arguments = SessionArguments {
            executor: executor.executor().clone(),
            work,
            news: Teller::to(myself, TaskMessage::News),
            faults: self.arguments.deps.faults.clone(),
            span: self.span.clone(),
        };
        self.executor = Some(executor);
        let (session, _join) =
            Actor::spawn_linked(None, Session, arguments, myself.get_cell()).await?;
        self.session = Some(session.clone());
        self.remind(myself, self.arguments.spec.limits.wall, TaskMessage::WallReached);
        let reminder = self.reminder.clone();
        let question = |reply| SessionMessage::Run(reminder, reply);
        ask(&mut self.jobs, myself, &session, question, TaskMessage::SessionEnded);
        Ok(())
    }

    /// Ends what a crashed session started, so that it can be started again.
    pub(super) fn clear(&mut self, myself: &ActorRef<TaskMessage>, place: Place) {
        self.session = None;
        let Some(executor) = &self.executor else {
            let _dying = myself.cast(TaskMessage::Cleared(place, Ok(())));
            return;
        };
        let (executor, seal) = (executor.executor().clone(), ToolExecutorMessage::Seal);
        ask_within(&mut self.jobs, myself, &executor, SEALING, seal, |cleared| {
            TaskMessage::Cleared(place, cleared)
        });
    }

    /// Has the session go on, because its end was not accepted.
    pub(super) fn go_on(&mut self, myself: &ActorRef<TaskMessage>, reminder: Reminder) {
        let Some(session) = self.session.clone() else { return }; // it has ended once, so it is there
        self.reminder = Some(reminder.clone());
        let question = |reply| SessionMessage::GoOn(reminder, reply);
        ask(&mut self.jobs, myself, &session, question, TaskMessage::SessionEnded);
    }

    pub(super) fn seal(&mut self, myself: &ActorRef<TaskMessage>) {
        if let Some(session) = self.session.take() {
            session.stop(None); // it has said its last word
        }
        let Some(executor) = &self.executor else {
            let _dying = myself.cast(TaskMessage::Sealed(Ok(()))); // nothing was ever started
            return;
        };
        let (executor, seal) = (executor.executor().clone(), ToolExecutorMessage::Seal);
        ask_within(&mut self.jobs, myself, &executor, SEALING, seal, TaskMessage::Sealed);
    }

    pub(super) fn capture(&mut self, myself: &ActorRef<TaskMessage>) {
        self.progress(Phase::Capturing, None);
        self.executor = None;
        let Some(lease) = &self.lease else { return };
        let owner = lease.owner().clone();
        ask(&mut self.jobs, myself, &owner, WorkspaceMessage::Capture, TaskMessage::Captured);
    }

    pub(super) fn note(
        &mut self,
        captured: Option<Result<Option<Captured>, IsolationError>>,
    ) -> Input {
        match captured.unwrap_or_else(|| Err(gone("capture its workspace"))) {
            Ok(captured) => {
                self.captured.clone_from(&captured);
                Input::Captured(Ok(captured))
            }
            Err(error @ IsolationError::Vanished { .. }) => Input::Vanished(error.to_failure()),
            Err(error) => Input::Captured(Err(error.to_failure())),
        }
    }

    /// Has the capture written to the ledger, and only then the workspace removed or kept.
    pub(super) fn record_capture(&mut self, myself: &ActorRef<TaskMessage>, then: Effect) {
        let Some(captured) = self.captured.take() else {
            self.discard(myself);
            return;
        };
        let task = self.name();
        self.tell(EventKind::TaskCaptured { task, captured: captured.clone() });
        let id = self.arguments.spec.id;
        let entry = LedgerEntry::TaskCaptured { task: id, attempt: ATTEMPT, captured };
        self.record(myself, entry, then);
    }

    pub(super) fn discard(&mut self, myself: &ActorRef<TaskMessage>) {
        let Some(lease) = &self.lease else { return };
        let owner = lease.owner().clone();
        ask(&mut self.jobs, myself, &owner, WorkspaceMessage::Discard, |_| TaskMessage::Discarded);
    }

    /// Writes an entry to the ledger; what it announces is done when it is durable.
    pub(super) fn record(
        &mut self,
        myself: &ActorRef<TaskMessage>,
        entry: LedgerEntry,
        then: Effect,
    ) {
        let ledger = self.arguments.ledger.clone();
        let question = |reply| LedgerMessage::Record(entry, reply);
        let then = Box::new(then);
        ask(&mut self.jobs, myself, &ledger, question, |done| TaskMessage::Recorded(then, done));
    }
}

/// The failure of a question whose answerer died.
fn gone(what: &str) -> IsolationError {
    let source = "whoever owned it crashed".into();
    IsolationError::Failed { what: what.to_owned(), source }
}
