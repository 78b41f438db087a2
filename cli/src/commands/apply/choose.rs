//! Which work lands when a run or a task is named, and in which order.

use std::collections::{BTreeMap, BTreeSet};

use engine::order::in_order;
use engine::ports::LandingTask;
use protocol::{RunName, TaskName};
use store::TaskRow;

use super::super::context::Context;
use super::super::target::Scope;
use super::super::work::loose;
use crate::error::{Error, ErrorKind};
use crate::render::Loose;

/// A run lands what is whole; what is unfinished has to be asked for by name.
pub(super) fn wanted(row: &TaskRow, scope: Scope) -> bool {
    match (loose(row), scope) {
        (Some(Loose::Conflict | Loose::Whole), _) | (Some(Loose::Unfinished), Scope::Task) => true,
        (Some(Loose::Unfinished), Scope::Run) | (None, _) => false,
    }
}

/// Returns the tasks to land, predecessors first. What builds on work that is kept and not chosen
/// is refused: it would land without what it stands on.
pub(super) fn landing_tasks(
    context: &Context,
    run: &RunName,
    chosen: &[&TaskRow],
    all: &[TaskRow],
) -> Result<Vec<LandingTask>, Error> {
    let rows: BTreeMap<String, &TaskRow> = all.iter().map(|row| (row.name.folded(), row)).collect();
    let is_chosen = |name: &TaskName| chosen.iter().any(|row| row.name == *name);
    let mut depends_on = Vec::new();
    for row in chosen {
        let on = changed_predecessors(row, &rows);
        if let Some(missing) = on.iter().find(|row| !is_chosen(&row.name) && loose(row).is_some()) {
            let what = format!("cannot land the work of task {run}/{}", row.name);
            let why = format!("it builds on {}, which has not landed", missing.name);
            let first = context.typing.command(&format!("apply {run}/{}", missing.name));
            return Err(Error::new(ErrorKind::Usage, what).because(why).hint(first));
        }
        let names = on.into_iter().map(|row| row.name.clone()).filter(|name| is_chosen(name));
        depends_on.push(names.collect::<Vec<_>>());
    }
    let view: Vec<_> =
        chosen.iter().zip(&depends_on).map(|(row, on)| (&row.name, on.as_slice())).collect();
    let order = in_order(&view).map_err(|error| Error::new(ErrorKind::Bug, error.to_string()))?;
    let task = |at: usize| {
        let captured = chosen[at].captured.as_ref()?;
        Some(LandingTask {
            task: chosen[at].name.clone(),
            capture: captured.capture.clone(),
            depends_on: depends_on[at].clone(),
            message: chosen[at].title.clone(),
        })
    };
    Ok(order.into_iter().filter_map(task).collect())
}

/// The nearest predecessors that changed something: one that did not stands for its own.
fn changed_predecessors<'a>(
    row: &TaskRow,
    rows: &BTreeMap<String, &'a TaskRow>,
) -> Vec<&'a TaskRow> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let mut open: Vec<TaskName> = row.spec.depends_on.clone();
    while let Some(name) = open.pop() {
        let Some(row) = rows.get(&name.folded()).filter(|_| seen.insert(name.folded())) else {
            continue;
        };
        match &row.captured {
            Some(captured) if captured.changes.files > 0 => found.push(*row),
            _ => open.extend(row.spec.depends_on.iter().cloned()),
        }
    }
    found
}
