//! The schedule together with the machines of runs whose tasks call subagents, for random trees of calls.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;

use proptest::prelude::*;
use protocol::{RunId, TaskId};

use super::test_support::{done, run_of, spec};
use super::{Effect, Input, RunMachine, WaitsFor};
use crate::schedule::{Admission, Schedule};

/// A task: what its model asks for, answer by answer.
#[derive(Clone, Debug)]
struct TaskPlan(Vec<Answer>);

/// An answer of a model.
#[derive(Clone, Debug)]
enum Answer {
    /// A call that asks a person.
    Ask,
    /// Calls of subagents, side by side, each with its tasks.
    Calls(Vec<Vec<TaskPlan>>),
}

fn plan() -> impl Strategy<Value = TaskPlan> {
    let leaf = prop::collection::vec(Just(Answer::Ask), 0..2).prop_map(TaskPlan);
    leaf.prop_recursive(3, 24, 3, |inner| {
        let call = prop::collection::vec(inner, 1..4);
        let answer = prop_oneof![
            1 => Just(Answer::Ask),
            3 => prop::collection::vec(call, 1..3).prop_map(Answer::Calls),
        ];
        prop::collection::vec(answer, 0..3).prop_map(TaskPlan)
    })
}

/// What a task does at the moment.
#[derive(Debug)]
struct TaskNow {
    run: RunId,
    rest: VecDeque<Answer>,
    /// The things that it waits for.
    open: usize,
    /// Those that are over, of which the task does not know yet.
    unknown: usize,
}

impl TaskNow {
    fn is_working(&self) -> bool {
        self.open + self.unknown == 0
    }
}

/// An engine without a runtime.
struct Simulation {
    schedule: Schedule,
    capacity: usize,
    runs: BTreeMap<RunId, RunMachine>,
    /// The task whose call a run does.
    callers: BTreeMap<RunId, TaskId>,
    plans: BTreeMap<TaskId, TaskPlan>,
    started: BTreeMap<TaskId, TaskNow>,
    /// The tasks that have asked a person.
    asking: Vec<TaskId>,
    lent: usize,
    returned: usize,
    ended: usize,
}

impl Simulation {
    fn new(capacity: usize) -> Self {
        Self {
            schedule: Schedule::new(NonZeroUsize::new(capacity).unwrap()),
            capacity,
            runs: BTreeMap::new(),
            callers: BTreeMap::new(),
            plans: BTreeMap::new(),
            started: BTreeMap::new(),
            asking: Vec::new(),
            lent: 0,
            returned: 0,
            ended: 0,
        }
    }

    fn open(&mut self, tasks: Vec<TaskPlan>, jobs: usize, caller: Option<TaskId>) {
        let names = (0..tasks.len()).map(|at| spec(&format!("t{at}"), &[]));
        let mut record = run_of(names.collect());
        record.spec.jobs = NonZeroUsize::new(jobs).unwrap();
        let run = record.spec.id;
        let ids = record.tasks().iter().map(|task| task.spec.id);
        self.plans.extend(ids.zip(tasks));
        self.callers.extend(caller.map(|caller| (run, caller)));
        self.schedule.open(run, record.spec.jobs);
        self.runs.insert(run, RunMachine::new(record));
        self.step(run, Input::Begin(Vec::new()));
    }

    /// Gives a run an input, and performs what it asks for.
    fn step(&mut self, run: RunId, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let machine = self.runs.get_mut(&run).expect("it is open");
            for effect in machine.step(input) {
                inputs.extend(self.perform(run, effect));
            }
        }
        self.admit();
    }

    fn perform(&mut self, run: RunId, effect: Effect) -> Option<Input> {
        match effect {
            Effect::Record(entry) => return Some(Input::Recorded(entry)),
            Effect::Enqueue(tasks) => {
                for task in tasks {
                    assert_eq!(self.schedule.enqueue(task), None);
                }
            }
            Effect::Dequeue(task, end) => assert_eq!(self.schedule.finish(task, end), []),
            Effect::LendPermit(task) => {
                self.schedule.lend(task);
                self.lent += 1;
            }
            Effect::ReclaimPermit(task) => self.schedule.reclaim(task),
            Effect::ReleasePermit(task) => self.schedule.work_ended(task),
            Effect::Continue(task) => {
                if let Some(now) = self.started.get_mut(&task) {
                    now.unknown = 0;
                }
            }
            Effect::StartTask { task, .. } => {
                let TaskPlan(answers) = self.plans.remove(&task).expect("it starts once");
                let rest = answers.into();
                self.started.insert(task, TaskNow { run, rest, open: 0, unknown: 0 });
            }
            Effect::ReleaseWorkspaces => {
                return Some(Input::WorkspacesReleased { late: Vec::new(), ms: 1 });
            }
            Effect::Close => return Some(Input::Closed),
            Effect::End => self.schedule.close(run),
            Effect::Announce(_) | Effect::CancelLanding(_) => {}
            Effect::CancelTask(..) | Effect::Land(_) => panic!("nothing is cancelled or lands"),
        }
        None
    }

    fn admit(&mut self) {
        while let Some(admission) = self.schedule.admit() {
            assert!(self.schedule.places().taken <= self.capacity, "above the capacity");
            match admission {
                Admission::Begin(run, task) => self.step(run, Input::Admitted(task)),
                Admission::Resume(run, task) => {
                    self.returned += 1;
                    self.step(run, Input::PermitReturned(task));
                }
            }
        }
        let working = self.started.values().filter(|now| now.is_working()).count();
        assert!(working <= self.schedule.places().taken, "{working} work");
    }

    /// Returns the tasks that can do something, and those that have asked a person.
    fn able(&self) -> Vec<TaskId> {
        let working = self.started.iter().filter(|(_, now)| now.is_working());
        working.map(|(task, _)| *task).chain(self.asking.iter().copied()).collect()
    }

    /// Lets a task do the next thing, or answers its question.
    fn act(&mut self, task: TaskId) {
        if let Some(at) = self.asking.iter().position(|asking| *asking == task) {
            self.asking.remove(at);
            return self.end_wait(task, WaitsFor::Answer);
        }
        let now = self.started.get_mut(&task).expect("it has started");
        let run = now.run;
        match now.rest.pop_front() {
            None => {
                self.started.remove(&task);
                self.ended += 1;
                self.step(run, Input::WorkEnded(task));
                self.step(run, Input::TaskEnded(task, Box::new(done(None))));
                self.close(run);
            }
            Some(Answer::Ask) => {
                now.open = 1;
                self.asking.push(task);
                self.step(run, Input::Waits(task, WaitsFor::Answer));
            }
            Some(Answer::Calls(calls)) => {
                now.open = calls.len();
                for _ in &calls {
                    self.step(run, Input::Waits(task, WaitsFor::Subagents));
                }
                for tasks in calls {
                    self.open(tasks, usize::MAX, Some(task));
                }
            }
        }
    }

    /// Ends the call that a run does, if the run has ended.
    fn close(&mut self, run: RunId) {
        let is_over = self.runs[&run].record().tasks().iter().all(|task| task.report().is_some());
        if is_over && let Some(caller) = self.callers.remove(&run) {
            self.end_wait(caller, WaitsFor::Subagents);
        }
    }

    fn end_wait(&mut self, task: TaskId, reason: WaitsFor) {
        let now = self.started.get_mut(&task).expect("it waits");
        now.open -= 1;
        now.unknown += 1;
        let run = now.run;
        self.step(run, Input::WaitEnded(task, reason));
    }

    fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
        self.schedule.set_capacity(NonZeroUsize::new(capacity).unwrap());
        self.admit();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn permits_that_are_lent_come_back_none_is_above_the_capacity_and_every_task_ends(
        roots in prop::collection::vec(plan(), 1..5),
        (capacity, jobs) in (1_usize..5, 1_usize..5),
        choices in prop::collection::vec((any::<u16>(), 0_usize..12), 1..40),
    ) {
        let mut simulation = Simulation::new(capacity);
        simulation.open(roots, jobs, None);
        let mut choices = choices.iter().cycle();
        loop {
            let able = simulation.able();
            if able.is_empty() {
                break;
            }
            let (which, capacity) = choices.next().copied().unwrap_or_default();
            if (1..5).contains(&capacity) {
                simulation.set_capacity(capacity);
            }
            simulation.act(able[usize::from(which) % able.len()]);
        }
        prop_assert!(simulation.started.is_empty() && simulation.plans.is_empty(), "all have ended");
        prop_assert_eq!(simulation.lent, simulation.returned);
        prop_assert_eq!(simulation.schedule.places().taken, 0);
    }
}
