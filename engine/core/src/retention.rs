//! Decides which work of a run may be removed, and why the rest of it must stay.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::TaskName;

/// What became of the captured work of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkFate {
    /// The task changed nothing.
    Nothing,
    /// The work has landed.
    Landed,
    /// The user discarded it.
    Discarded,
    /// It has neither landed nor been discarded.
    Unlanded,
}

/// A task of a run, as far as its retention is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetainedTask {
    /// The name.
    pub name: TaskName,
    /// What became of its work.
    pub fate: WorkFate,
    /// The tasks on which it depends directly.
    pub depends_on: Vec<TaskName>,
}

/// Whether anything may still happen to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunActivity {
    /// The run is over, and nobody holds its lock.
    Over,
    /// The run goes on, or its engine died and nothing was recovered yet.
    Unfinished,
    /// A workspace of the run is on the disk, or somebody holds the run's lock.
    HasFolder,
}

/// Why work stays.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeptWork {
    /// Its run is not over.
    Unfinished,
    /// A workspace of its run is on the disk, or its run is in use.
    HasFolder,
    /// It has neither landed nor been discarded.
    Unlanded,
    /// A task whose work has not landed builds on it.
    Needed {
        /// That task.
        by: TaskName,
    },
    /// The last that happened to its run is not long enough ago.
    Young,
}

/// Returns for each task of a run whether its work may be removed, or else why it stays. `age` is
/// the time since anything happened to the run.
///
/// Work that has not landed keeps the work of all tasks on which its task depends, directly or
/// indirectly, because it is merged as a change of theirs.
#[must_use]
pub fn removable(
    activity: RunActivity,
    tasks: &[RetainedTask],
    (age, older_than): (Duration, Duration),
) -> Vec<Result<(), KeptWork>> {
    let whole = match activity {
        RunActivity::Over => None,
        RunActivity::Unfinished => Some(KeptWork::Unfinished),
        RunActivity::HasFolder => Some(KeptWork::HasFolder),
    };
    if let Some(reason) = whole {
        return vec![Err(reason); tasks.len()];
    }
    let needed = needed_by_unlanded(tasks);
    let decide = |(at, task): (usize, &RetainedTask)| match (task.fate, needed.get(&at)) {
        (WorkFate::Unlanded, _) => Err(KeptWork::Unlanded),
        (_, Some(by)) => Err(KeptWork::Needed { by: tasks[*by].name.clone() }),
        _ if age < older_than => Err(KeptWork::Young),
        (WorkFate::Nothing | WorkFate::Landed | WorkFate::Discarded, None) => Ok(()),
    };
    tasks.iter().enumerate().map(decide).collect()
}

/// Returns the tasks on which a task with unlanded work depends, each with one such task.
fn needed_by_unlanded(tasks: &[RetainedTask]) -> BTreeMap<usize, usize> {
    let at: BTreeMap<String, usize> =
        tasks.iter().enumerate().map(|(at, task)| (task.name.folded(), at)).collect();
    let mut needed = BTreeMap::new();
    for (first, _) in tasks.iter().enumerate().filter(|(_, task)| task.fate == WorkFate::Unlanded) {
        let mut open = vec![first];
        while let Some(task) = open.pop() {
            for on in tasks[task].depends_on.iter().filter_map(|on| at.get(&on.folded())) {
                if !needed.contains_key(on) {
                    needed.insert(*on, first);
                    open.push(*on);
                }
            }
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn task(name: &str, fate: WorkFate, on: &[&str]) -> RetainedTask {
        let depends_on = on.iter().map(|on| on.parse().unwrap()).collect();
        RetainedTask { name: name.parse().unwrap(), fate, depends_on }
    }

    #[test]
    fn only_what_has_landed_or_was_discarded_or_never_was_goes_when_it_is_old() {
        let tasks = [
            task("a", WorkFate::Landed, &[]),
            task("b", WorkFate::Discarded, &[]),
            task("c", WorkFate::Nothing, &[]),
            task("d", WorkFate::Unlanded, &[]),
        ];
        let old = removable(RunActivity::Over, &tasks, (DAY, DAY));
        assert_eq!(old, [Ok(()), Ok(()), Ok(()), Err(KeptWork::Unlanded)]);
        let young = removable(RunActivity::Over, &tasks, (DAY - Duration::from_millis(1), DAY));
        let [a, b, c] = [(); 3].map(|()| Err(KeptWork::Young));
        assert_eq!(young, [a, b, c, Err(KeptWork::Unlanded)]);
        for (activity, reason) in [
            (RunActivity::Unfinished, KeptWork::Unfinished),
            (RunActivity::HasFolder, KeptWork::HasFolder),
        ] {
            assert_eq!(removable(activity, &tasks, (DAY, DAY)), vec![Err(reason); 4]);
        }
    }

    #[test]
    fn what_unlanded_work_builds_on_stays_with_it() {
        let tasks = [
            task("base", WorkFate::Landed, &[]),
            task("empty", WorkFate::Nothing, &["BASE"]),
            task("top", WorkFate::Unlanded, &["empty"]),
            task("other", WorkFate::Landed, &["base"]),
        ];
        let needed = || Err(KeptWork::Needed { by: "top".parse().unwrap() });
        let found = removable(RunActivity::Over, &tasks, (DAY, Duration::ZERO));
        assert_eq!(found, [needed(), needed(), Err(KeptWork::Unlanded), Ok(())]);
    }
}
