//! Who may run now: one capacity for the whole engine, a limit per run, priorities and
//! dependencies.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use protocol::{RunId, TaskId};

/// Admits tasks when there is room and what they depend on is done.
///
/// Ready tasks are admitted by priority, then in the order they came. A task whose predecessor did
/// not succeed is never admitted: [`Schedule::finish`] names it once.
#[derive(Debug)]
pub struct Schedule {
    capacity: NonZeroUsize,
    running: usize,
    runs: BTreeMap<RunId, RunQueue>,
    /// Every task in the schedule: its run and its rank there.
    entries: BTreeMap<TaskId, (RunId, Rank)>,
    next: u64,
}

/// Sorts ready tasks: priority, order of arrival.
type Rank = (Reverse<i32>, u64, TaskId);

/// One task that wants to run.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The task.
    pub task: TaskId,
    /// Its run.
    pub run: RunId,
    /// Higher runs earlier.
    pub priority: i32,
    /// The tasks that must succeed first.
    pub depends_on: Vec<TaskId>,
}

#[derive(Debug)]
struct RunQueue {
    limit: NonZeroUsize,
    running: BTreeSet<TaskId>,
    ready: BTreeSet<Rank>,
    blocked: BTreeMap<TaskId, Blocked>,
    /// Who waits for a task.
    dependants: BTreeMap<TaskId, Vec<TaskId>>,
    succeeded: BTreeSet<TaskId>,
    failed: BTreeSet<TaskId>,
}

#[derive(Debug)]
struct Blocked {
    rank: Rank,
    on: BTreeSet<TaskId>,
}

/// How a task left the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Its dependants may go on.
    Succeeded,
    /// Its dependants will never run.
    NotSucceeded,
}

/// A task that will never be admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The task.
    pub task: TaskId,
    /// The predecessor that did not succeed.
    pub because_of: TaskId,
}

impl Schedule {
    /// Returns an empty schedule that admits at most `capacity` tasks at a time.
    #[must_use]
    pub fn new(capacity: NonZeroUsize) -> Self {
        Self { capacity, running: 0, runs: BTreeMap::new(), entries: BTreeMap::new(), next: 0 }
    }

    /// Makes room for a run that admits at most `limit` of its own tasks at a time.
    pub fn open(&mut self, run: RunId, limit: NonZeroUsize) {
        self.runs.entry(run).or_insert_with(|| RunQueue {
            limit,
            running: BTreeSet::new(),
            ready: BTreeSet::new(),
            blocked: BTreeMap::new(),
            dependants: BTreeMap::new(),
            succeeded: BTreeSet::new(),
            failed: BTreeSet::new(),
        });
    }

    /// Forgets a run and everything it still had waiting.
    pub fn close(&mut self, run: RunId) {
        if let Some(queue) = self.runs.remove(&run) {
            self.running -= queue.running.len();
            self.entries.retain(|_, (owner, _)| *owner != run);
        }
    }

    /// Puts a task of an open run in the queue. Returns it if a predecessor has failed already.
    pub fn enqueue(&mut self, entry: Entry) -> Option<Refused> {
        let rank = (Reverse(entry.priority), self.next, entry.task);
        self.next += 1;
        let queue = self.runs.get_mut(&entry.run)?;
        if let Some(failed) = entry.depends_on.iter().find(|on| queue.failed.contains(on)) {
            return Some(Refused { task: entry.task, because_of: *failed });
        }
        let missing = entry.depends_on.iter().copied().filter(|on| !queue.succeeded.contains(on));
        let on: BTreeSet<_> = missing.collect();
        for predecessor in &on {
            queue.dependants.entry(*predecessor).or_default().push(entry.task);
        }
        if on.is_empty() {
            queue.ready.insert(rank);
        } else {
            queue.blocked.insert(entry.task, Blocked { rank, on });
        }
        self.entries.insert(entry.task, (entry.run, rank));
        None
    }

    /// Admits the next task if there is room for one.
    pub fn admit(&mut self) -> Option<(RunId, TaskId)> {
        if self.running == self.capacity.get() {
            return None;
        }
        let with_room =
            self.runs.iter().filter(|(_, queue)| queue.running.len() < queue.limit.get());
        let best =
            with_room.filter_map(|(run, queue)| queue.ready.first().map(|rank| (*rank, *run)));
        let (rank, run) = best.min()?;
        let queue = self.runs.get_mut(&run)?;
        queue.ready.remove(&rank);
        queue.running.insert(rank.2);
        self.running += 1;
        Some((run, rank.2))
    }

    /// Takes a task out, whether it was running or still waiting, and returns the tasks that will
    /// therefore never run, nearest first. Those are out of the schedule too.
    pub fn finish(&mut self, task: TaskId, left: Left) -> Vec<Refused> {
        let mut refused = Vec::new();
        let mut gone = vec![(task, left)];
        while let Some((task, left)) = gone.pop() {
            let Some((run, rank)) = self.entries.remove(&task) else { continue };
            let Some(queue) = self.runs.get_mut(&run) else { continue };
            if queue.running.remove(&task) {
                self.running -= 1;
            }
            queue.ready.remove(&rank);
            queue.blocked.remove(&task);
            let dependants = queue.dependants.remove(&task).unwrap_or_default();
            match left {
                Left::Succeeded => {
                    queue.succeeded.insert(task);
                    queue.unblock(task, &dependants);
                }
                Left::NotSucceeded => {
                    queue.failed.insert(task);
                    for dependant in dependants {
                        if queue.blocked.contains_key(&dependant) {
                            refused.push(Refused { task: dependant, because_of: task });
                            gone.push((dependant, Left::NotSucceeded));
                        }
                    }
                }
            }
        }
        refused
    }
}

impl RunQueue {
    fn unblock(&mut self, done: TaskId, dependants: &[TaskId]) {
        for dependant in dependants {
            let Some(blocked) = self.blocked.get_mut(dependant) else { continue };
            blocked.on.remove(&done);
            if blocked.on.is_empty()
                && let Some(free) = self.blocked.remove(dependant)
            {
                self.ready.insert(free.rank);
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
            let entry = Entry { task, run: self.run, priority, depends_on: depends_on.to_vec() };
            assert_eq!(self.schedule.enqueue(entry), None);
            task
        }

        fn admit(&mut self) -> Option<TaskId> {
            self.schedule.admit().map(|(_, task)| task)
        }
    }

    #[test]
    fn never_more_than_the_capacity_or_the_runs_own_limit() {
        for (capacity, limit) in [(1, 5), (5, 1)] {
            let mut bench = Bench::new(capacity, limit);
            let (first, second) = (bench.add(0, &[]), bench.add(0, &[]));
            assert_eq!(bench.admit(), Some(first));
            assert_eq!(bench.admit(), None);
            bench.schedule.finish(first, Left::NotSucceeded);
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
        bench.schedule.finish(left, Left::Succeeded);
        assert_eq!(bench.admit(), None);
        bench.schedule.finish(right, Left::Succeeded);
        assert_eq!(bench.admit(), Some(last));
    }

    #[test]
    fn what_depends_on_a_failure_is_named_once_and_never_runs() {
        let mut bench = Bench::new(9, 9);
        let top = bench.add(0, &[]);
        let (left, right) = (bench.add(0, &[top]), bench.add(0, &[top]));
        let last = bench.add(0, &[left, right]);
        bench.admit();
        let refused = bench.schedule.finish(top, Left::NotSucceeded);
        let mut tasks: Vec<_> = refused.iter().map(|refused| refused.task).collect();
        tasks.sort_unstable();
        assert_eq!(tasks, [left, right, last]);
        assert_eq!(bench.admit(), None);
        let late =
            Entry { task: TaskId::generate(), run: bench.run, priority: 0, depends_on: vec![top] };
        assert_eq!(
            bench.schedule.enqueue(late.clone()),
            Some(Refused { task: late.task, because_of: top })
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
}
