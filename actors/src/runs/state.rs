//! The runs of an engine, both running and being opened, and the permits of their tasks.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use engine::exit_code::Interruption;
use engine::ports::{CancelLevel, Gate};
use engine::schedule::{Admission, Places, Schedule};
use protocol::{EventScope, RunId};
use ractor::{ActorId, ActorProcessingErr, ActorRef, RpcReplyPort};

use crate::child::start_child;
use crate::deps::Deps;
use crate::events::{EventBus, EventFilter};
use crate::executors::{Answerer, ChosenMode, ExecutorsMessage};
use crate::isolation::IsolatorMessage;
use crate::job::Job;
use crate::jobs::Jobs;
use crate::ledger::LedgerMessage;
use crate::messaging::Notifier;
use crate::run::{Run, RunArguments, RunMessage, RunRequest, ScheduleRequest};

use super::opening::{Answer, Submission, SubmitError, Submitted};
use super::opening::{GivenUp, OpenedRun, RunOpening, Services, open, withdraw};

pub(crate) struct RunsState {
    schedule: Schedule,
    runs: BTreeMap<RunId, (ActorRef<RunMessage>, EventScope)>,
    jobs: Jobs,
    /// The runs that are being opened.
    opening: BTreeMap<RunId, RunOpening>,
    /// The number of submissions without an answer.
    unanswered: usize,
    /// Whether the engine is closing.
    closing: bool,
    arguments: RunsArguments,
}

impl RunsState {
    pub(super) fn new(arguments: RunsArguments) -> Self {
        Self {
            schedule: Schedule::new(arguments.deps.policy.capacity),
            runs: BTreeMap::new(),
            jobs: Jobs::new(&arguments.deps.faults),
            opening: BTreeMap::new(),
            unanswered: 0,
            closing: false,
            arguments,
        }
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Cancels all runs; the actor stops when none is left.
    pub(super) fn close(&mut self, why: Interruption) {
        self.closing = true;
        for opening in self.opening.values_mut() {
            opening.give_up(GivenUp::Closing);
        }
        let runs: Vec<_> = self.runs.keys().copied().collect();
        for run in runs {
            self.cancel(run, CancelLevel::Gently, why);
        }
    }

    /// Removes a run whose actor is gone. Its readers see the end of its events.
    pub(super) fn ended(&mut self, actor: ActorId) {
        for (_, (_, scope)) in self.runs.extract_if(.., |_, (run, _)| run.get_id() == actor) {
            self.arguments.events.close(&scope);
        }
    }

    pub(super) fn open(
        &mut self,
        myself: &ActorRef<RunsMessage>,
        submission: Submission,
        reply: Answer,
    ) {
        let run = submission.spec.id;
        let services = Services {
            isolator: self.arguments.isolator.clone(),
            ledger: self.arguments.ledger.clone(),
            deps: self.arguments.deps.clone(),
        };
        self.unanswered += 1;
        let (answerer, mode) = (submission.answerer, submission.mode.clone());
        let opening = RunOpening { answerer, mode, ..RunOpening::default() };
        let cancel = opening.cancel.clone();
        self.opening.insert(run, opening);
        let job = async move { open(submission, cancel, &services).await };
        // The only foreign code in this job, the compiler of schemas, runs before the ledger
        // records the run. A panic in it therefore leaves no run behind.
        self.jobs.run(Job::RunsOpen, myself, job, move |opened| {
            let opened = opened.map_err(SubmitError::Crashed).flatten();
            RunsMessage::Opened(run, Box::new(opened), reply)
        });
    }

    /// Starts an opened run, or withdraws it if it was cancelled meanwhile.
    pub(super) async fn opened(
        &mut self,
        myself: &ActorRef<RunsMessage>,
        run: RunId,
        opened: Result<OpenedRun, SubmitError>,
        reply: Answer,
    ) -> Result<(), ActorProcessingErr> {
        let opening = self.opening.remove(&run).unwrap_or_default();
        match (opened, opening.given_up) {
            (Ok(run), None) => {
                let submitted = self.start(myself, run, (opening.answerer, opening.mode)).await?;
                self.answer(reply, Ok(submitted));
            }
            (Ok(run), Some(why)) => {
                let ledger = self.arguments.ledger.clone();
                let job = async move { withdraw(run, &ledger).await };
                // If the ledger is gone, the next start finds the run and closes it.
                let then = move |_| RunsMessage::Withdrawn(why, reply);
                self.jobs.run(Job::RunsWithdraw, myself, job, then);
            }
            (Err(_not_opened), Some(why)) => self.answer(reply, Err(why.into())),
            (Err(error), None) => self.answer(reply, Err(error)),
        }
        Ok(())
    }

    pub(super) fn answer(&mut self, reply: Answer, submitted: Result<Submitted, SubmitError>) {
        self.unanswered -= 1;
        let _gone = reply.send(submitted);
    }

    async fn start(
        &mut self,
        myself: &ActorRef<RunsMessage>,
        run: OpenedRun,
        (answerer, mode): (Answerer, ChosenMode),
    ) -> Result<Submitted, ActorProcessingErr> {
        let scope = EventScope::Run(run.name.clone());
        let events = self.arguments.events.subscribe(EventFilter::Scope(scope.clone()));
        let submitted = Submitted { id: run.spec.id, name: run.name.clone(), events };
        // The subagents of a call have no limit of their own beside the capacity.
        let limit = run.spec.caller.as_ref().map_or(run.spec.jobs, |_| NonZeroUsize::MAX);
        self.schedule.open(run.spec.id, limit);
        let arguments = RunArguments {
            name: run.name,
            spec: run.spec,
            contracts: run.contracts,
            notices: run.notices,
            prompt: run.prompt,
            repository: run.repository,
            executors: self.arguments.executors.clone(),
            gate: Arc::clone(&self.arguments.gate),
            ledger: self.arguments.ledger.clone(),
            deps: self.arguments.deps.clone(),
            events: self.arguments.events.clone(),
            schedule: Notifier::to(myself, RunsMessage::Schedule),
            answerer,
            mode,
        };
        let actor = start_child(Run, arguments, myself.get_cell()).await?;
        actor.cast(RunMessage::Begin)?;
        self.runs.insert(submitted.id, (actor, scope));
        Ok(submitted)
    }

    pub(super) fn take(&mut self, request: ScheduleRequest) {
        match request {
            ScheduleRequest::Enqueue(entries) => {
                for entry in entries {
                    let run = entry.run;
                    if let Some(refused) = self.schedule.enqueue(entry) {
                        self.send(run, RunMessage::Refused(refused));
                    }
                }
            }
            ScheduleRequest::Leave(run, task, left) => {
                for refused in self.schedule.finish(task, left) {
                    self.send(run, RunMessage::Refused(refused));
                }
            }
            ScheduleRequest::Lend(task) => self.schedule.lend(task),
            ScheduleRequest::WorkEnded(task) => self.schedule.work_ended(task),
            ScheduleRequest::TakeBack(task) => self.schedule.reclaim(task),
            ScheduleRequest::Over(run) => self.schedule.close(run),
        }
    }

    pub(super) fn set_capacity(&mut self, capacity: NonZeroUsize) {
        self.schedule.set_capacity(capacity);
    }

    pub(super) fn places(&self) -> Places {
        self.schedule.places()
    }

    /// Cancels a run. A run that is being opened is withdrawn after the current step: neither
    /// taking the snapshot nor writing to the ledger can be interrupted.
    pub(super) fn cancel(&mut self, run: RunId, how: CancelLevel, why: Interruption) {
        if let Some(opening) = self.opening.get_mut(&run) {
            opening.give_up(GivenUp::Cancelled(why));
        }
        self.send(run, RunMessage::Cancel(how, why));
    }

    pub(super) fn send(&self, run: RunId, message: RunMessage) {
        if let Some((run, _)) = self.runs.get(&run) {
            let _over = run.cast(message); // a run that has ended needs no message
        }
    }

    /// Admits tasks while there are permits, and stops a closing actor without runs.
    pub(super) fn settle(&mut self, myself: &ActorRef<RunsMessage>) {
        while let Some(admission) = self.schedule.admit() {
            match admission {
                Admission::Begin(run, task) => self.send(run, RunMessage::Admitted(task)),
                Admission::Resume(run, task) => self.send(run, RunMessage::Resumed(task)),
            }
        }
        if self.closing && self.runs.is_empty() && self.unanswered == 0 {
            myself.stop(None);
        }
    }
}

#[derive(Clone)]
pub(crate) struct RunsArguments {
    pub(crate) isolator: ActorRef<IsolatorMessage>,
    pub(crate) executors: ActorRef<ExecutorsMessage>,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) ledger: ActorRef<LedgerMessage>,
    pub(crate) deps: Arc<Deps>,
    pub(crate) events: EventBus,
}

pub(crate) enum RunsMessage {
    Submit(Box<Submission>, Answer),
    /// Result of opening a run.
    Opened(RunId, Box<Result<OpenedRun, SubmitError>>, Answer),
    /// A run was withdrawn.
    Withdrawn(GivenUp, Answer),
    /// A request of a run to the schedule.
    Schedule(ScheduleRequest),
    /// A request to one run.
    Request(RunId, Box<RunRequest>),
    /// Cancels one run.
    Cancel(RunId, CancelLevel, Interruption),
    /// Changes how many tasks work at the same time.
    SetCapacity(NonZeroUsize),
    /// Returns how many tasks may work at the same time, and how many do.
    Places(RpcReplyPort<Places>),
    /// Cancels all runs, and stops when none is left.
    Close(Interruption),
}
