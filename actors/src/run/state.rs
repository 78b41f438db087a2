//! The state of a run's actor, which performs the effects of the run's state machine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use engine::fault::Faults;
use engine::ports::{CancelLevel, CancelToken, InputFiles, Notice};
use engine::run::{
    AddTasksError, CancelTrigger, Effect, Input, ReplayCheck, RequestId, RunMachine, RunRecord,
};
use engine::task::{TaskRecord, with_yields};
use protocol::{
    CaptureRef, EventKind, Failure, FailureClass, LedgerEntry, OnFailure, Outcome, RunId, RunSpec,
    TaskId, TaskName, TaskReport, TaskSpec,
};
use ractor::{Actor, ActorId, ActorRef};
use serde_json::Value;

use super::messages::{
    AddTasksReply, AwaitChildrenReply, CheckedTasks, RunArguments, RunMessage, ScheduleRequest,
};
use super::times::RunTimes;
use super::verifier::WorkVerifier;
use crate::contracts::{self, Contracts, SchemaFault};
use crate::isolation::RepositoryMessage;
use crate::job::Job;
use crate::jobs::Jobs;
use crate::ledger::LedgerMessage;
use crate::messaging::{Durability, Notifier, Receipt, ask};
use crate::task::{INPUTS, RunFacts, Task, TaskArguments, TaskMessage, artifacts_of};

/// The largest number of tasks at the same time at which another one works while one is captured.
/// Among more tasks than these one more makes no difference, and costs a message for each.
const MOST_OVERLAPPING: usize = 32;

pub(crate) struct RunState {
    pub(super) machine: RunMachine,
    /// Folds the entries a second time, to check the record. `None` without debug assertions, and
    /// after the ledger has failed.
    check: Option<ReplayCheck>,
    /// The contracts of tasks that have not started.
    contracts: Contracts,
    actors: BTreeMap<TaskId, ActorRef<TaskMessage>>,
    tasks: BTreeMap<u64, TaskId>,
    adding: BTreeMap<RequestId, AddTasksReply>,
    awaiting: BTreeMap<RequestId, AwaitChildrenReply>,
    requests: u64,
    pub(super) landing: CancelToken,
    /// What verifies the work before it lands, kept from one landing to the next.
    pub(super) verifier: Option<WorkVerifier>,
    /// The fallbacks that landings have told.
    pub(super) degraded: Vec<EventKind>,
    /// The models and keys in whose place others were asked, and which.
    pub(super) fallbacks: BTreeSet<(String, String)>,
    pub(super) seq: u64,
    pub(super) times: RunTimes,
    pub(super) jobs: Jobs,
    pub(super) arguments: RunArguments,
}

impl RunState {
    pub(super) fn new(mut arguments: RunArguments) -> Self {
        let record = RunRecord::opened(arguments.name.clone(), arguments.spec);
        arguments.spec = record.spec.clone();
        let cancels = cancel_trigger(arguments.spec.on_failure, &arguments.deps.faults);
        Self {
            check: cfg!(debug_assertions).then(|| ReplayCheck::new(record.clone())),
            machine: RunMachine::new(record, cancels),
            contracts: std::mem::take(&mut arguments.contracts),
            actors: BTreeMap::new(),
            tasks: BTreeMap::new(),
            adding: BTreeMap::new(),
            awaiting: BTreeMap::new(),
            requests: 0,
            landing: CancelToken::default(),
            verifier: None,
            degraded: Vec::new(),
            fallbacks: BTreeSet::new(),
            seq: 0,
            times: RunTimes::begin(),
            jobs: Jobs::new(&arguments.deps.faults),
            arguments,
        }
    }

    pub(super) fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.arguments.notices)
    }

    pub(super) fn ms(&self) -> u64 {
        self.times.ms()
    }

    pub(super) async fn step(&mut self, myself: &ActorRef<RunMessage>, input: Input) {
        let effects = self.machine.step(input);
        self.perform(myself, effects).await;
    }

    /// Tells the machine that an entry is durable, or never will be.
    pub(super) fn recorded(&mut self, entry: LedgerEntry, durability: Durability) -> Vec<Effect> {
        match durability {
            Durability::Durable => {
                self.times.note_durable(&entry);
                let checked = self.check.is_some().then(|| entry.clone());
                let effects = self.machine.step(Input::Recorded(entry));
                if let (Some(check), Some(entry)) = (&mut self.check, checked) {
                    debug_assert_eq!(check.check(&entry, self.machine.record()), Ok(()));
                }
                effects
            }
            Durability::Lost => {
                self.check = None; // from here on the run has entries that the ledger lacks
                self.machine.step(Input::NotRecorded(entry))
            }
        }
    }

    /// Checks, with debug assertions, that the record of an ended task equals the run's record of it.
    pub(super) fn compare(&self, record: &TaskRecord) {
        if self.check.is_some() {
            debug_assert_eq!(self.machine.record().task(record.spec.id), Some(record));
        }
    }

    pub(super) async fn perform(&mut self, myself: &ActorRef<RunMessage>, effects: Vec<Effect>) {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            let run = self.run();
            match effect {
                Effect::Record(entry) => {
                    self.times.note(&entry, self.machine.record());
                    self.record(myself, entry, None);
                }
                Effect::Announce(event) => self.publish(event),
                Effect::Enqueue(entries) => self.schedule(ScheduleRequest::Enqueue(entries)),
                Effect::Dequeue(task, left) => {
                    self.schedule(ScheduleRequest::Leave(run, task, left));
                }
                Effect::LendPermit(task) => self.schedule(ScheduleRequest::Lend(task)),
                Effect::ReleasePermit(task) => self.schedule(ScheduleRequest::WorkEnded(task)),
                Effect::ReclaimPermit(task) => self.schedule(ScheduleRequest::TakeBack(task)),
                Effect::StartTask { task, predecessors, .. } => {
                    // If a task cannot start, that task fails. The run continues.
                    if let Err(report) = self.start(myself, task, predecessors).await {
                        effects.extend(self.machine.step(Input::TaskEnded(task, report)));
                    }
                }
                Effect::CancelTask(task, level) => self.cancel(task, level),
                Effect::AnswerAddTasks(request, answer) => {
                    if let Some(reply) = self.adding.remove(&request) {
                        let _gone = reply.send(answer);
                    }
                }
                Effect::AnswerAwaitChildren(request, answer) => {
                    if let Some(reply) = self.awaiting.remove(&request) {
                        let _gone = reply.send(answer);
                    }
                }
                Effect::Land(request) => self.land(myself, request),
                Effect::CancelLanding(level) => self.landing.cancel(level),
                Effect::ReleaseWorkspaces => {
                    self.verifier = None;
                    let name = self.arguments.name.clone();
                    let question = |reply| RepositoryMessage::SettleRun(name, reply);
                    let ends = (myself, &self.arguments.repository);
                    ask(Job::RunSettle, &mut self.jobs, ends, question, |settled| {
                        RunMessage::Settled(settled.ok())
                    });
                }
                Effect::Close => {
                    let name = self.arguments.name.clone();
                    let question = |reply| RepositoryMessage::CloseRun(name, reply);
                    let (jobs, ends) = (&mut self.jobs, (myself, &self.arguments.repository));
                    ask(Job::RunClose, jobs, ends, question, |_| RunMessage::Closed);
                }
                Effect::End => {
                    self.schedule(ScheduleRequest::Over(run));
                    myself.stop(None);
                }
            }
        }
    }

    async fn start(
        &mut self,
        myself: &ActorRef<RunMessage>,
        task: TaskId,
        predecessors: Vec<(TaskName, CaptureRef)>,
    ) -> Result<(), TaskReport> {
        let Some(record) = self.machine.record().task(task).cloned() else { return Ok(()) };
        let yields = self.machine.record().predecessor_yields(task);
        let work = with_yields(&record.spec.work, &yields).map_err(unstarted)?;
        let spec = TaskSpec { work, ..record.spec.clone() };
        let arguments = TaskArguments {
            inputs: self.inputs(&spec, yields),
            spec,
            timings: self.times.until_start(task),
            contract: self.contracts.remove(&task).unwrap_or_else(contracts::any),
            predecessors,
            run: RunFacts {
                name: self.arguments.name.clone(),
                repo: self.arguments.spec.repo.clone(),
                subfolder: self.arguments.spec.subfolder.clone(),
                setup: self.arguments.spec.needs.setup.as_slice().into(),
                prompt: Arc::clone(&self.arguments.prompt),
            },
            repository: self.arguments.repository.clone(),
            executors: self.arguments.executors.clone(),
            gate: Arc::clone(&self.arguments.gate),
            ledger: Notifier::to(myself, |(entry, receipt)| RunMessage::Record(entry, receipt)),
            work_ended: match overlaps(&self.arguments.spec) {
                true => Notifier::to(myself, move |()| RunMessage::WorkEnded(task)),
                false => Notifier::new(|()| {}),
            },
            deps: self.arguments.deps.clone(),
            events: Notifier::to(myself, RunMessage::TaskEvent),
        };
        let arguments = (Box::new(arguments), Box::new(record));
        let started = Actor::spawn_linked(None, Task, arguments, myself.get_cell()).await;
        let (actor, _join) = started.map_err(|error| crashed(error.to_string()))?;
        self.tasks.insert(actor.get_id().pid(), task);
        self.actors.insert(task, actor);
        Ok(())
    }

    /// Returns the files with the yields of the predecessors of a task, if it has any.
    fn inputs(
        &self,
        spec: &TaskSpec,
        yields: Vec<(TaskName, Value)>,
    ) -> Option<Arc<dyn InputFiles>> {
        let deps = &self.arguments.deps;
        let folder = artifacts_of(deps, &self.arguments.name, &spec.name).join(INPUTS);
        (!spec.depends_on.is_empty()).then(|| deps.artifacts.inputs(&folder, yields))
    }

    /// Removes the actor of a task, and returns the task.
    pub(super) fn died(&mut self, actor: ActorId) -> Option<TaskId> {
        let task = self.tasks.remove(&actor.pid())?;
        self.actors.remove(&task);
        Some(task)
    }

    fn cancel(&self, task: TaskId, level: CancelLevel) {
        if let Some(actor) = self.actors.get(&task) {
            // If the task actor has just died, its supervision event will report that.
            let _dead = actor.cast(TaskMessage::Cancel(level));
        }
    }

    /// Compiles the schemas of tasks to add.
    pub(super) fn check(
        &mut self,
        myself: &ActorRef<RunMessage>,
        parent: Option<TaskId>,
        tasks: Vec<TaskSpec>,
        reply: AddTasksReply,
    ) {
        let deps = self.arguments.deps.clone();
        let job = async move {
            let contracts = contracts::contracts(&tasks, &deps);
            let refused = |SchemaFault { task, fault }| AddTasksError::Schema { task, fault };
            (tasks, contracts.map_err(refused))
        };
        self.jobs.run(Job::RunCheck, myself, job, move |checked| {
            let (tasks, contracts) = checked.unwrap_or_else(|panicked| {
                (Vec::new(), Err(AddTasksError::Crashed(panicked.to_string())))
            });
            RunMessage::Checked(Box::new(CheckedTasks { parent, tasks, contracts, reply }))
        });
    }

    /// Keeps the contracts and the reply port of tasks to add. Returns `None` if the request was
    /// answered already.
    pub(super) fn add_tasks(
        &mut self,
        contracts: Result<Contracts, AddTasksError>,
        reply: AddTasksReply,
    ) -> Option<RequestId> {
        match contracts {
            Ok(contracts) => {
                for (task, contract) in contracts {
                    // A known task keeps its contract: the machine refuses a request that adds it.
                    self.contracts.entry(task).or_insert(contract);
                }
                let request = self.request();
                self.adding.insert(request, reply);
                Some(request)
            }
            Err(error) => {
                let _gone = reply.send(Err(error));
                None
            }
        }
    }

    pub(super) fn await_children(&mut self, reply: AwaitChildrenReply) -> RequestId {
        let request = self.request();
        self.awaiting.insert(request, reply);
        request
    }

    fn request(&mut self) -> RequestId {
        self.requests += 1;
        RequestId(self.requests)
    }

    /// Writes an entry to the ledger. Its effects follow when it is durable.
    pub(super) fn record(
        &self,
        myself: &ActorRef<RunMessage>,
        entry: LedgerEntry,
        receipt: Option<Receipt>,
    ) {
        let written = Box::new(entry.clone());
        let recorded = Receipt::to(myself, move |durability| {
            RunMessage::Recorded(written, durability, receipt)
        });
        // If the ledger is gone, the dropped receipt reports `Durability::Lost`.
        let _gone = self.arguments.ledger.cast(LedgerMessage::Record(entry, recorded));
    }

    fn schedule(&self, request: ScheduleRequest) {
        self.arguments.schedule.notify(request);
    }

    fn run(&self) -> RunId {
        self.arguments.spec.id
    }
}

/// Returns whether another task of a run may work while one is captured. That can take a copy more,
/// for which there may be no room where files are carried into each.
fn overlaps(spec: &RunSpec) -> bool {
    spec.jobs.get() <= MOST_OVERLAPPING && spec.needs.carry.is_empty()
}

/// Returns which end of a task cancels the others.
fn cancel_trigger(on_failure: OnFailure, faults: &Faults) -> CancelTrigger {
    match on_failure {
        OnFailure::CancelTheRest if faults.is_off("F120") => CancelTrigger::Nothing,
        OnFailure::CancelTheRest => CancelTrigger::Failure,
        OnFailure::Continue if faults.is_off("F132") => CancelTrigger::Crash,
        OnFailure::Continue => CancelTrigger::Nothing,
    }
}

pub(super) fn crashed(message: String) -> TaskReport {
    let message = if message.is_empty() {
        "the task's actor stopped unexpectedly".to_owned()
    } else {
        message
    };
    unstarted(Failure::new(FailureClass::Crashed, message))
}

/// Returns the report of a task that could not start, or of which nothing else is known.
fn unstarted(failure: Failure) -> TaskReport {
    TaskReport {
        outcome: Outcome::Failed { failure },
        captured: None,
        ms: 0,
        setup_ms: None,
        usage: None,
        fallbacks: Vec::new(),
        turns: None,
        timings: None,
    }
}
