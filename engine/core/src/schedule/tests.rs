//! Who gets a permit, and when.

use super::*;

struct Bench {
    schedule: Schedule,
    run: RunId,
}

impl Bench {
    fn new(capacity: usize, limit: usize) -> Self {
        let mut schedule = Schedule::new(NonZeroUsize::new(capacity).unwrap());
        let run = RunId::generate();
        schedule.open(run, NonZeroUsize::new(limit).unwrap());
        Self { schedule, run }
    }

    fn add(&mut self, priority: i32, depends_on: &[TaskId]) -> TaskId {
        let task = TaskId::generate();
        let entry = QueuedTask {
            task,
            run: self.run,
            priority,
            depends_on: depends_on.to_vec(),
            permit: Permit::Taken,
        };
        assert_eq!(self.schedule.enqueue(entry), None);
        task
    }

    fn admit(&mut self) -> Option<TaskId> {
        match self.schedule.admit()? {
            Admission::Begin(_, task) => Some(task),
            Admission::Resume(_, task) => panic!("{task} had not begun"),
        }
    }
}

#[test]
fn never_more_than_the_capacity_or_the_runs_own_limit() {
    for (capacity, limit) in [(1, 5), (5, 1)] {
        let mut bench = Bench::new(capacity, limit);
        let (first, second) = (bench.add(0, &[]), bench.add(0, &[]));
        assert_eq!(bench.admit(), Some(first));
        assert_eq!(bench.admit(), None);
        bench.schedule.finish(first, TaskEnd::NotSucceeded);
        assert_eq!(bench.admit(), Some(second));
    }
}

#[test]
fn the_higher_priority_goes_first_and_equals_in_their_order() {
    let mut bench = Bench::new(9, 9);
    let (low, high, also_low) = (bench.add(-1, &[]), bench.add(7, &[]), bench.add(-1, &[]));
    let admitted: Vec<_> = std::iter::from_fn(|| bench.admit()).collect();
    assert_eq!(admitted, [high, low, also_low]);
}

#[test]
fn a_dependant_waits_for_all_its_predecessors() {
    let mut bench = Bench::new(9, 9);
    let (left, right) = (bench.add(0, &[]), bench.add(0, &[]));
    let last = bench.add(0, &[left, right]);
    assert_eq!((bench.admit(), bench.admit(), bench.admit()), (Some(left), Some(right), None));
    bench.schedule.finish(left, TaskEnd::Succeeded);
    assert_eq!(bench.admit(), None);
    bench.schedule.finish(right, TaskEnd::Succeeded);
    assert_eq!(bench.admit(), Some(last));
}

#[test]
fn what_depends_on_a_failure_is_named_once_and_never_runs() {
    let mut bench = Bench::new(9, 9);
    let top = bench.add(0, &[]);
    let (left, right) = (bench.add(0, &[top]), bench.add(0, &[top]));
    let last = bench.add(0, &[left, right]);
    bench.admit();
    let refused = bench.schedule.finish(top, TaskEnd::NotSucceeded);
    let mut tasks: Vec<_> = refused.iter().map(|refused| refused.task).collect();
    tasks.sort_unstable();
    assert_eq!(tasks, [left, right, last]);
    assert_eq!(bench.admit(), None);
    let late = QueuedTask {
        task: TaskId::generate(),
        run: bench.run,
        priority: 0,
        depends_on: vec![top],
        permit: Permit::Taken,
    };
    assert_eq!(
        bench.schedule.enqueue(late.clone()),
        Some(RefusedTask { task: late.task, because_of: top })
    );
}

#[test]
fn a_closed_run_gives_its_room_back() {
    let mut bench = Bench::new(1, 1);
    bench.add(0, &[]);
    bench.admit();
    bench.schedule.close(bench.run);
    let other = RunId::generate();
    bench.schedule.open(other, NonZeroUsize::MIN);
    bench.run = other;
    let task = bench.add(0, &[]);
    assert_eq!(bench.admit(), Some(task));
}

/// Fills a run of `count` equal tasks.
fn fill(schedule: &mut Schedule, run: RunId, count: usize) -> Vec<TaskId> {
    let tasks: Vec<_> = (0..count).map(|_| TaskId::generate()).collect();
    for task in &tasks {
        let entry = QueuedTask {
            task: *task,
            run,
            priority: 0,
            depends_on: Vec::new(),
            permit: Permit::Taken,
        };
        assert_eq!(schedule.enqueue(entry), None);
    }
    tasks
}

#[test]
fn a_small_run_behind_a_large_one_is_not_starved() {
    let limit = NonZeroUsize::new(8).unwrap();
    let mut schedule = Schedule::new(limit);
    let (large, small) = (RunId::generate(), RunId::generate());
    schedule.open(large, limit);
    let mut running: VecDeque<_> = fill(&mut schedule, large, 1000).into_iter().take(8).collect();
    while schedule.admit().is_some() {}
    schedule.open(small, limit);
    let waiting = fill(&mut schedule, small, 3);
    // Each task of the large run that ends gives its permit to the small run, until it has as many.
    for expected in waiting {
        let ended = running.pop_front().unwrap();
        schedule.finish(ended, TaskEnd::Succeeded);
        assert_eq!(schedule.admit(), Some(Admission::Begin(small, expected)));
        assert_eq!(schedule.admit(), None);
    }
    let ended = running.pop_front().unwrap();
    schedule.finish(ended, TaskEnd::Succeeded);
    assert!(matches!(schedule.admit(), Some(Admission::Begin(run, _)) if run == large));
}

#[test]
fn of_runs_with_as_many_running_tasks_the_one_that_waited_longest_is_next() {
    let mut schedule = Schedule::new(NonZeroUsize::MIN);
    let runs = [RunId::generate(), RunId::generate(), RunId::generate()];
    for run in runs {
        schedule.open(run, NonZeroUsize::MIN);
        fill(&mut schedule, run, 2);
    }
    let mut order = Vec::new();
    while let Some(Admission::Begin(run, task)) = schedule.admit() {
        order.push(run);
        schedule.finish(task, TaskEnd::Succeeded);
    }
    assert_eq!(order, [runs, runs].concat());
}

#[test]
fn a_permit_that_is_lent_is_given_to_others_and_comes_back_before_new_tasks() {
    let mut bench = Bench::new(1, 1);
    let (parent, child, other) = (bench.add(0, &[]), bench.add(5, &[]), bench.add(9, &[]));
    bench.schedule.finish(other, TaskEnd::Succeeded);
    assert_eq!(bench.admit(), Some(child), "its priority is higher");
    bench.schedule.finish(child, TaskEnd::Succeeded);
    assert_eq!(bench.admit(), Some(parent));
    let child = bench.add(0, &[]);
    assert_eq!(bench.admit(), None);
    bench.schedule.lend(parent);
    assert_eq!((bench.admit(), bench.admit()), (Some(child), None));
    let late = bench.add(100, &[]);
    bench.schedule.reclaim(parent);
    assert_eq!(bench.admit(), None, "the child runs");
    bench.schedule.finish(child, TaskEnd::NotSucceeded);
    assert_eq!(bench.schedule.admit(), Some(Admission::Resume(bench.run, parent)));
    assert_eq!(bench.admit(), None);
    bench.schedule.finish(parent, TaskEnd::Succeeded);
    assert_eq!(bench.admit(), Some(late));
}

#[test]
fn who_ends_while_its_permit_is_lent_or_asked_for_gets_none_back() {
    for asked_for in [0, 1] {
        let mut bench = Bench::new(1, 1);
        let (parent, child) = (bench.add(1, &[]), bench.add(0, &[]));
        assert_eq!(bench.admit(), Some(parent));
        bench.schedule.lend(parent);
        assert_eq!(bench.admit(), Some(child));
        (0..asked_for).for_each(|_| bench.schedule.reclaim(parent));
        bench.schedule.finish(parent, TaskEnd::NotSucceeded);
        bench.schedule.finish(child, TaskEnd::Succeeded);
        assert_eq!(bench.schedule.admit(), None);
        let next = bench.add(0, &[]);
        assert_eq!(bench.admit(), Some(next), "no permit is lost");
    }
}

#[test]
fn one_task_at_a_time_whose_work_has_ended_makes_room_for_another() {
    let mut bench = Bench::new(2, 2);
    let tasks: Vec<_> = (0..6).map(|_| bench.add(0, &[])).collect();
    assert_eq!(
        (bench.admit(), bench.admit(), bench.admit()),
        (Some(tasks[0]), Some(tasks[1]), None)
    );
    bench.schedule.work_ended(tasks[0]);
    assert_eq!((bench.admit(), bench.admit()), (Some(tasks[2]), None));
    bench.schedule.work_ended(tasks[1]);
    bench.schedule.work_ended(tasks[2]);
    assert_eq!(bench.admit(), None, "one is without a permit already");
    bench.schedule.finish(tasks[0], TaskEnd::Succeeded);
    assert_eq!((bench.admit(), bench.admit()), (Some(tasks[3]), None), "the next one makes room");
    bench.schedule.finish(tasks[2], TaskEnd::NotSucceeded);
    assert_eq!((bench.admit(), bench.admit()), (Some(tasks[4]), None), "it had its permit");
    bench.schedule.finish(tasks[1], TaskEnd::Succeeded);
    assert_eq!(bench.admit(), None, "it had none");
    bench.schedule.finish(tasks[3], TaskEnd::Succeeded);
    assert_eq!((bench.admit(), bench.admit()), (Some(tasks[5]), None));
}

#[test]
fn a_task_on_which_others_depend_keeps_its_permit_for_them() {
    let mut bench = Bench::new(1, 1);
    let first = bench.add(0, &[]);
    let (next, other) = (bench.add(1, &[first]), bench.add(0, &[]));
    assert_eq!(bench.admit(), Some(first));
    bench.schedule.work_ended(first);
    assert_eq!(bench.admit(), None);
    bench.schedule.finish(first, TaskEnd::Succeeded);
    assert_eq!(bench.admit(), Some(next));
    bench.schedule.work_ended(next);
    assert_eq!(bench.admit(), Some(other));
    bench.schedule.close(bench.run);
    let run = RunId::generate();
    bench.schedule.open(run, NonZeroUsize::MIN);
    bench.run = run;
    let task = bench.add(0, &[]);
    assert_eq!(bench.admit(), Some(task), "no permit is lost");
}

#[test]
fn a_task_that_needs_no_permit_begins_at_once_and_takes_none() {
    let mut bench = Bench::new(1, 1);
    let usual = bench.add(0, &[]);
    assert_eq!(bench.admit(), Some(usual));
    let (gone, free) = (TaskId::generate(), TaskId::generate());
    for task in [gone, free] {
        let (depends_on, permit) = (Vec::new(), Permit::NotNeeded);
        let entry = QueuedTask { task, run: bench.run, priority: 0, depends_on, permit };
        assert_eq!(bench.schedule.enqueue(entry), None);
    }
    bench.schedule.finish(gone, TaskEnd::NotSucceeded);
    assert_eq!((bench.admit(), bench.admit()), (Some(free), None));
    let next = bench.add(0, &[]);
    bench.schedule.work_ended(free);
    bench.schedule.finish(free, TaskEnd::Succeeded);
    assert_eq!(bench.admit(), None, "it had none to give back");
    bench.schedule.finish(usual, TaskEnd::Succeeded);
    assert_eq!(bench.admit(), Some(next));
}

#[test]
fn a_lower_capacity_stops_nothing_and_a_higher_one_admits_at_once() {
    let mut bench = Bench::new(2, 9);
    let tasks: Vec<_> = (0..5).map(|_| bench.add(0, &[])).collect();
    let capacity = |number| NonZeroUsize::new(number).unwrap();
    assert_eq!((bench.admit(), bench.admit()), (Some(tasks[0]), Some(tasks[1])));
    bench.schedule.set_capacity(capacity(1));
    assert_eq!(bench.schedule.places(), Places { capacity: capacity(1), taken: 2 });
    bench.schedule.finish(tasks[0], TaskEnd::Succeeded);
    assert_eq!(bench.admit(), None, "one still works");
    bench.schedule.finish(tasks[1], TaskEnd::Succeeded);
    assert_eq!((bench.admit(), bench.admit()), (Some(tasks[2]), None));
    bench.schedule.set_capacity(capacity(8));
    assert_eq!(
        (bench.admit(), bench.admit(), bench.admit()),
        (Some(tasks[3]), Some(tasks[4]), None)
    );
}
