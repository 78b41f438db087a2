//! Which work lands when a run or a task is named.

use std::collections::BTreeSet;

use engine::landing;
use engine::ports::LandingTask;
use protocol::RunName;
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
) -> Result<Vec<LandingTask>, Error> {
    let record = context.reader.record(run)?;
    let gone = || Error::new(ErrorKind::Bug, format!("the ledger has lost run {run}"));
    let record = record.ok_or_else(gone)?;
    let ids: BTreeSet<_> = chosen.iter().map(|row| row.id).collect();
    let rows = context.reader.tasks(record.spec.id)?;
    let kept: BTreeSet<_> =
        rows.iter().filter(|row| loose(row).is_some()).map(|row| row.id).collect();
    for row in chosen {
        let on = record.task(row.id).map(|task| landing::changed_predecessors(&record, task));
        let mut missing = on.into_iter().flatten().map(|task| &task.spec);
        let missing = missing.find(|on| !ids.contains(&on.id) && kept.contains(&on.id));
        if let Some(missing) = missing.map(|on| &on.name) {
            let what = format!("cannot land the work of task {run}/{}", row.name);
            let why = format!("it builds on {missing}, which has not landed");
            let first = context.typing.command(&format!("apply {run}/{missing}"));
            return Err(Error::new(ErrorKind::Usage, what).because(why).hint(first));
        }
    }
    Ok(landing::landing_tasks(&record, &ids))
}
