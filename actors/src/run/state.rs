//! The state of a run's actor, and its answers to messages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::ports::{CancelToken, Models, Notice, VariableChoice};
use engine::run::{Effect, Input, ReplayCheck, RunMachine, RunRecord};
use engine::task::TaskRecord;
use protocol::{EventKind, LedgerEntry, RunSpec, TaskId};
use ractor::{ActorId, ActorRef};

use super::messages::{RunArguments, RunMessage};
use super::open_questions::RunQuestions;
use super::times::RunTimes;
use super::verifier::WorkVerifier;
use crate::contracts::Contracts;
use crate::jobs::Jobs;
use crate::messaging::Durability;
use crate::task::{RunFacts, TaskMessage, key_variables};

/// Returns which variables of the engine the commands of a run get: the keys of no task's model, unless the
/// run passes them.
fn variables(spec: &RunSpec, models: &dyn Models) -> VariableChoice {
    let keys = spec.tasks.iter().flat_map(|task| key_variables(task, models));
    let withhold: BTreeSet<String> = keys.collect();
    VariableChoice { pass: spec.pass_env.clone(), withhold: withhold.into_iter().collect() }
}

pub(crate) struct RunState {
    pub(super) machine: RunMachine,
    /// What its tasks need to know of it.
    pub(super) facts: Arc<RunFacts>,
    /// Folds the entries a second time, to check the record. `None` without debug assertions, and
    /// after the ledger has failed.
    check: Option<ReplayCheck>,
    /// The contracts of tasks that have not started.
    pub(super) contracts: Contracts,
    pub(super) actors: BTreeMap<TaskId, ActorRef<TaskMessage>>,
    pub(super) tasks: BTreeMap<u64, TaskId>,
    pub(super) questions: RunQuestions,
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
        let variables = variables(&arguments.spec, arguments.deps.models.as_ref());
        let record = RunRecord::opened(arguments.name.clone(), arguments.spec);
        arguments.spec = record.spec.clone();
        let facts = RunFacts {
            id: arguments.spec.id,
            name: arguments.name.clone(),
            repo: arguments.spec.repo.clone(),
            subfolder: arguments.spec.subfolder.clone(),
            workspace: arguments.spec.isolation.capabilities().workspace,
            prompt: Arc::clone(&arguments.prompt),
            variables,
        };
        Self {
            facts: Arc::new(facts),
            check: cfg!(debug_assertions).then(|| ReplayCheck::new(record.clone())),
            machine: RunMachine::new(record),
            contracts: std::mem::take(&mut arguments.contracts),
            actors: BTreeMap::new(),
            tasks: BTreeMap::new(),
            questions: RunQuestions::default(),
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

    /// Feeds the machine an input, and returns what performs its effects.
    pub(super) fn step(
        &mut self,
        myself: &ActorRef<RunMessage>,
        input: Input,
    ) -> impl Future<Output = ()> + Send {
        let effects = self.machine.step(input);
        self.perform(myself, effects)
    }

    /// Tells the machine that an entry is durable, or never will be.
    pub(super) fn recorded(&mut self, entry: LedgerEntry, durability: Durability) -> Vec<Effect> {
        match durability {
            Durability::Durable => {
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

    /// Removes the actor of a task, and returns the task.
    pub(super) fn died(&mut self, actor: ActorId) -> Option<TaskId> {
        let task = self.tasks.remove(&actor.pid())?;
        self.actors.remove(&task);
        Some(task)
    }
}
