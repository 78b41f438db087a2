//! The order of tasks that depend on each other.

use std::collections::BTreeMap;

use protocol::TaskName;

/// Why tasks cannot be ordered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// A task depends on a task that does not exist.
    #[error("task `{task}` depends on `{on}`, which is not a task of this run")]
    Unknown {
        /// The task with the dependency.
        task: TaskName,
        /// The name that does not exist.
        on: TaskName,
    },
    /// Tasks depend on each other in a cycle.
    #[error("tasks depend on each other in a circle: {}", circle(.0))]
    Cycle(Vec<TaskName>),
}

fn circle(tasks: &[TaskName]) -> String {
    let names: Vec<_> = tasks.iter().chain(tasks.first()).map(TaskName::as_str).collect();
    names.join(" → ")
}

/// Returns the positions of `tasks` in an order that has dependencies first. Otherwise the order of
/// declaration is kept.
///
/// Each task is given with the names of the tasks it depends on.
///
/// # Errors
/// A task depends on an unknown name, or tasks depend on each other in a cycle.
pub fn in_order(tasks: &[(&TaskName, &[TaskName])]) -> Result<Vec<usize>, OrderError> {
    let positions: BTreeMap<_, _> =
        tasks.iter().enumerate().map(|(at, (name, _))| (name.folded(), at)).collect();
    let mut state = vec![Mark::Unseen; tasks.len()];
    let mut order = Vec::with_capacity(tasks.len());
    for start in 0..tasks.len() {
        // A depth-first search with an explicit stack, because a chain may be as long as the plan.
        let mut path = vec![(start, 0)];
        while let Some((at, next)) = path.pop() {
            if state[at] == Mark::Placed {
                continue;
            }
            let (name, depends_on) = tasks[at];
            let Some(on) = depends_on.get(next) else {
                state[at] = Mark::Placed;
                order.push(at);
                continue;
            };
            state[at] = Mark::OnPath;
            path.push((at, next + 1));
            let Some(&predecessor) = positions.get(&on.folded()) else {
                return Err(OrderError::Unknown { task: name.clone(), on: on.clone() });
            };
            if state[predecessor] == Mark::OnPath {
                let from = path.iter().position(|(on_path, _)| *on_path == predecessor);
                let cycle = path[from.unwrap_or(0)..].iter().map(|(at, _)| tasks[*at].0.clone());
                return Err(OrderError::Cycle(cycle.collect()));
            }
            path.push((predecessor, 0));
        }
    }
    Ok(order)
}

/// Returns how many of `tasks` have no dependencies, how many depend only on those, how many on these
/// too, and so on. Nothing is returned for tasks that cannot be ordered.
#[must_use]
pub fn levels(tasks: &[(&TaskName, &[TaskName])]) -> Vec<usize> {
    let order = in_order(tasks).unwrap_or_default();
    let mut level_of = BTreeMap::new();
    let mut levels = Vec::new();
    for at in order {
        let (name, depends_on) = tasks[at];
        let above = depends_on.iter().filter_map(|on| level_of.get(&on.folded()).copied());
        let level: usize = above.map(|above: usize| above + 1).max().unwrap_or(0);
        let _first = level_of.insert(name.folded(), level);
        levels.resize(levels.len().max(level + 1), 0);
        levels[level] += 1;
    }
    levels
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Unseen,
    OnPath,
    Placed,
}

#[cfg(test)]
mod tests {
    use super::*;

    type Named = Vec<(TaskName, Vec<TaskName>)>;

    fn named(tasks: &[(&str, &[&str])]) -> Named {
        let name = |text: &str| text.parse::<TaskName>().unwrap();
        tasks
            .iter()
            .map(|(task, on)| (name(task), on.iter().copied().map(name).collect()))
            .collect()
    }

    fn view(tasks: &Named) -> Vec<(&TaskName, &[TaskName])> {
        tasks.iter().map(|(task, on)| (task, on.as_slice())).collect()
    }

    fn order(tasks: &[(&str, &[&str])]) -> Result<Vec<String>, OrderError> {
        let tasks = named(tasks);
        let order = in_order(&view(&tasks))?;
        Ok(order.into_iter().map(|at| tasks[at].0.to_string()).collect())
    }

    #[test]
    fn independent_tasks_stay_as_declared() {
        assert_eq!(order(&[("b", &[]), ("a", &[]), ("c", &[])]).unwrap(), ["b", "a", "c"]);
    }

    #[test]
    fn predecessors_come_first_whatever_the_declaration() {
        let tasks: &[(&str, &[&str])] =
            &[("last", &["left", "right"]), ("left", &["top"]), ("right", &["TOP"]), ("top", &[])];
        assert_eq!(order(tasks).unwrap(), ["top", "left", "right", "last"]);
    }

    #[test]
    fn a_task_is_one_level_below_the_lowest_that_it_depends_on() {
        let tasks: &[(&str, &[&str])] = &[
            ("last", &["left", "top"]),
            ("left", &["top"]),
            ("right", &["TOP"]),
            ("top", &[]),
            ("alone", &[]),
        ];
        assert_eq!(levels(&view(&named(tasks))), [2, 2, 1]);
        assert_eq!(levels(&view(&named(&[("a", &["a"])]))), [0; 0]);
    }

    #[test]
    fn a_circle_is_named() {
        let error = order(&[("x", &["a"]), ("a", &["b"]), ("b", &["a"])]).unwrap_err();
        assert_eq!(error.to_string(), "tasks depend on each other in a circle: a → b → a");
    }

    #[test]
    fn a_name_that_is_not_there_is_named() {
        let error = order(&[("a", &["b"])]).unwrap_err();
        assert_eq!(error.to_string(), "task `a` depends on `b`, which is not a task of this run");
    }

    #[test]
    fn a_chain_of_a_hundred_thousand_tasks_is_no_trouble() {
        let names: Vec<TaskName> = (0..100_000).map(|n| format!("t{n}").parse().unwrap()).collect();
        let on: Vec<Vec<TaskName>> =
            (0..100_000).map(|n| names.get(n + 1).cloned().into_iter().collect()).collect();
        let view: Vec<_> = names.iter().zip(&on).map(|(name, on)| (name, on.as_slice())).collect();
        assert_eq!(in_order(&view).unwrap().first(), Some(&99_999));
    }
}
