//! The schedule of tasks: a capacity for the whole engine, a limit for each run, fairness between
//! runs, and priorities and dependencies inside a run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroUsize;

use protocol::{RunId, TaskId, Work};

/// Gives permits to tasks when there is capacity and the tasks they depend on have succeeded.
///
/// The run with the fewest running tasks is served next; among equals, the one whose last permit is
/// oldest. Inside a run, ready tasks get permits by priority, then in order of arrival. A task that
/// lent its permit gets one back before any other task. A task with a dependency that did not
/// succeed never gets one: [`Schedule::finish`] returns it once.
#[derive(Debug)]
pub struct Schedule {
    capacity: NonZeroUsize,
    running: usize,
    runs: BTreeMap<RunId, RunQueue>,
    /// All tasks in the schedule, each with its run and its rank there.
    entries: BTreeMap<TaskId, (RunId, Rank)>,
    /// Tasks that have requested their lent permit back, in order.
    returning: VecDeque<(RunId, TaskId)>,
    /// Tasks that begin without a permit, in order.
    unpermitted: VecDeque<(RunId, TaskId)>,
    next: u64,
}

/// The order of ready tasks: by priority, then by arrival.
type Rank = (Reverse<i32>, u64, TaskId);

/// A task that waits for a permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedTask {
    /// The task.
    pub task: TaskId,
    /// The run of the task.
    pub run: RunId,
    /// Tasks with a higher priority get a permit earlier.
    pub priority: i32,
    /// The tasks that have to succeed first.
    pub depends_on: Vec<TaskId>,
    /// Whether it takes a permit.
    pub permit: Permit,
}

/// Whether a task takes a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// It waits for one.
    Taken,
    /// It needs none, and depends on no other task.
    NotNeeded,
}

impl From<&Work> for Permit {
    fn from(work: &Work) -> Self {
        if work.is_of_user() { Self::NotNeeded } else { Self::Taken }
    }
}

#[derive(Debug)]
struct RunQueue {
    limit: NonZeroUsize,
    running: BTreeSet<TaskId>,
    /// Tasks that have lent their permit.
    lent: BTreeSet<TaskId>,
    /// Tasks whose work has ended. The first has no permit any more, the others wait to be the first.
    ending: VecDeque<TaskId>,
    ready: BTreeSet<Rank>,
    blocked: BTreeMap<TaskId, Blocked>,
    /// For each task, the tasks that depend on it.
    dependants: BTreeMap<TaskId, Vec<TaskId>>,
    succeeded: BTreeSet<TaskId>,
    failed: BTreeSet<TaskId>,
    /// The sequence number of the last permit of this run. Lower numbers are older.
    last_admission: u64,
}

#[derive(Debug)]
struct Blocked {
    rank: Rank,
    on: BTreeSet<TaskId>,
}

/// A permit for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The task may start.
    Begin(RunId, TaskId),
    /// The task may continue, after it had lent its permit.
    Resume(RunId, TaskId),
}

/// How many tasks may work at the same time, and how many do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// How many may work.
    pub capacity: NonZeroUsize,
    /// How many work. More than the capacity, if that was lowered meanwhile.
    pub taken: usize,
}

/// How a task ended, as far as it matters for other tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// Tasks that depend on it may run.
    Succeeded,
    /// Tasks that depend on it will never run.
    NotSucceeded,
}

/// A task that will never get a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedTask {
    /// The task.
    pub task: TaskId,
    /// The dependency that did not succeed.
    pub because_of: TaskId,
}

impl Schedule {
    /// Returns an empty schedule that gives out at most `capacity` permits at a time.
    #[must_use]
    pub fn new(capacity: NonZeroUsize) -> Self {
        Self {
            capacity,
            running: 0,
            runs: BTreeMap::new(),
            entries: BTreeMap::new(),
            returning: VecDeque::new(),
            unpermitted: VecDeque::new(),
            next: 0,
        }
    }

    /// Returns how many permits it gives out at most, and how many tasks have one.
    #[must_use]
    pub fn places(&self) -> Places {
        Places { capacity: self.capacity, taken: self.running }
    }

    /// Gives out at most `capacity` permits from now on. A lower capacity takes no permit back.
    pub fn set_capacity(&mut self, capacity: NonZeroUsize) {
        self.capacity = capacity;
    }

    /// Adds a run that may have at most `limit` permits at a time.
    pub fn open(&mut self, run: RunId, limit: NonZeroUsize) {
        let last_admission = self.next_number();
        self.runs.entry(run).or_insert_with(|| RunQueue {
            limit,
            running: BTreeSet::new(),
            lent: BTreeSet::new(),
            ending: VecDeque::new(),
            ready: BTreeSet::new(),
            blocked: BTreeMap::new(),
            dependants: BTreeMap::new(),
            succeeded: BTreeSet::new(),
            failed: BTreeSet::new(),
            last_admission,
        });
    }

    /// Removes a run and all its tasks.
    pub fn close(&mut self, run: RunId) {
        if let Some(queue) = self.runs.remove(&run) {
            self.running -= queue.running.len();
            self.entries.retain(|_, (owner, _)| *owner != run);
            self.returning.retain(|(owner, _)| *owner != run);
            self.unpermitted.retain(|(owner, _)| *owner != run);
        }
    }

    /// Adds a task to an open run. Returns it if one of its dependencies has failed already.
    pub fn enqueue(&mut self, entry: QueuedTask) -> Option<RefusedTask> {
        let rank = (Reverse(entry.priority), self.next_number(), entry.task);
        let queue = self.runs.get_mut(&entry.run)?;
        if let Some(failed) = entry.depends_on.iter().find(|on| queue.failed.contains(on)) {
            return Some(RefusedTask { task: entry.task, because_of: *failed });
        }
        let missing = entry.depends_on.iter().copied().filter(|on| !queue.succeeded.contains(on));
        let on: BTreeSet<_> = missing.collect();
        for predecessor in &on {
            queue.dependants.entry(*predecessor).or_default().push(entry.task);
        }
        if entry.permit == Permit::NotNeeded {
            self.unpermitted.push_back((entry.run, entry.task));
        } else if on.is_empty() {
            queue.ready.insert(rank);
        } else {
            queue.blocked.insert(entry.task, Blocked { rank, on });
        }
        self.entries.insert(entry.task, (entry.run, rank));
        None
    }

    /// Gives out the next permit, if there is capacity. A task that needs none begins at once.
    pub fn admit(&mut self) -> Option<Admission> {
        if let Some((run, task)) = self.unpermitted.pop_front() {
            return Some(Admission::Begin(run, task));
        }
        if self.running >= self.capacity.get() {
            return None;
        }
        self.resume().or_else(|| self.begin())
    }

    fn resume(&mut self) -> Option<Admission> {
        let has_room =
            |(run, _): &(RunId, TaskId)| self.runs.get(run).is_some_and(RunQueue::has_room);
        let at = self.returning.iter().position(has_room)?;
        let (run, task) = self.returning.remove(at)?;
        self.runs.get_mut(&run)?.running.insert(task);
        self.running += 1;
        Some(Admission::Resume(run, task))
    }

    fn begin(&mut self) -> Option<Admission> {
        let ready =
            self.runs.iter().filter(|(_, queue)| queue.has_room() && !queue.ready.is_empty());
        let next = ready.min_by_key(|(_, queue)| (queue.running.len(), queue.last_admission));
        let run = *next?.0;
        let last_admission = self.next_number();
        let queue = self.runs.get_mut(&run)?;
        let (.., task) = queue.ready.pop_first()?;
        queue.running.insert(task);
        queue.last_admission = last_admission;
        self.running += 1;
        Some(Admission::Begin(run, task))
    }

    /// Takes back the permit of a running task while the task waits for others.
    pub fn lend(&mut self, task: TaskId) {
        if let Some(queue) = self.queue(task)
            && queue.running.remove(&task)
        {
            queue.lent.insert(task);
            self.running -= 1;
        }
    }

    /// Requests a permit for a task that lent its own. It is given out as [`Admission::Resume`].
    pub fn reclaim(&mut self, task: TaskId) {
        let Some((run, _)) = self.entries.get(&task).copied() else { return };
        if let Some(queue) = self.runs.get_mut(&run)
            && queue.lent.remove(&task)
        {
            self.returning.push_back((run, task));
        }
    }

    /// Gives the permit of a task to another one, because its work has ended and is only to be
    /// captured. One task of a run at a time is without a permit for that reason, and none that
    /// others depend on: they may be the next to run.
    pub fn work_ended(&mut self, task: TaskId) {
        if let Some(queue) = self.queue(task)
            && !queue.dependants.contains_key(&task)
            && queue.running.contains(&task)
        {
            queue.ending.push_back(task);
            self.running -= queue.release_first();
        }
    }

    /// Removes a running or waiting task. If it did not succeed, also removes and returns the tasks
    /// that depend on it, directly or indirectly; each follows the task that it depends on.
    pub fn finish(&mut self, task: TaskId, end: TaskEnd) -> Vec<RefusedTask> {
        let mut refused = Vec::new();
        let mut gone = vec![(task, end)];
        while let Some((task, end)) = gone.pop() {
            let Some((run, rank)) = self.entries.remove(&task) else { continue };
            let Some(queue) = self.runs.get_mut(&run) else { continue };
            if queue.running.remove(&task) {
                self.running -= 1;
            }
            queue.ending.retain(|ending| *ending != task);
            self.running -= queue.release_first();
            if !queue.lent.remove(&task) {
                self.returning.retain(|(_, returning)| *returning != task);
            }
            self.unpermitted.retain(|(_, waiting)| *waiting != task);
            queue.ready.remove(&rank);
            queue.blocked.remove(&task);
            let dependants = queue.dependants.remove(&task).unwrap_or_default();
            match end {
                TaskEnd::Succeeded => {
                    queue.succeeded.insert(task);
                    queue.unblock(task, &dependants);
                }
                TaskEnd::NotSucceeded => {
                    queue.failed.insert(task);
                    for dependant in dependants {
                        if queue.blocked.contains_key(&dependant) {
                            refused.push(RefusedTask { task: dependant, because_of: task });
                            gone.push((dependant, TaskEnd::NotSucceeded));
                        }
                    }
                }
            }
        }
        refused
    }

    fn queue(&mut self, task: TaskId) -> Option<&mut RunQueue> {
        let (run, _) = self.entries.get(&task)?;
        self.runs.get_mut(run)
    }

    fn next_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl RunQueue {
    fn has_room(&self) -> bool {
        self.running.len() < self.limit.get()
    }

    /// Takes the permit of the first task whose work has ended. Returns how many it has taken.
    fn release_first(&mut self) -> usize {
        self.ending.front().map_or(0, |first| usize::from(self.running.remove(first)))
    }

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
mod tests;
