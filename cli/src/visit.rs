//! Coming to a repository: opening it, and tidying up after engines that died there.

use std::path::Path;
use std::sync::Arc;

use engine::ports::{LedgerStore, Recovered, Repository};
use protocol::LedgerEntry;

use crate::boot::Equipment;
use crate::error::Error;

/// A repository that was come to.
pub struct Visit {
    /// The repository.
    pub repository: Arc<dyn Repository>,
    /// What was found of engines that died there and seen to, in lines for people.
    pub found: Vec<String>,
}

/// Opens the repository at `at`, rolls landings forward that a dead engine left half done, captures
/// what its workspaces hold, and writes both to the ledger.
///
/// # Errors
/// The repository cannot be worked on, or what was left there cannot be seen to.
pub async fn visit(equipment: &Equipment, at: &Path) -> Result<Visit, Error> {
    let repository = equipment.isolation.open(at).await?;
    let recovered = repository.recover().await?;
    let found = tell(&recovered);
    record(equipment, recovered).await?;
    Ok(Visit { repository, found })
}

async fn record(equipment: &Equipment, recovered: Recovered) -> Result<(), Error> {
    let reader = equipment.ledger.reader();
    let mut entries = Vec::new();
    for task in recovered.tasks {
        let id = reader.task_id(&task.run, &task.task)?;
        if let (Some(id), Ok(captured)) = (id, task.captured) {
            entries.push(LedgerEntry::TaskCaptured { task: id, attempt: task.attempt, captured });
        }
    }
    for (run, report) in recovered.landings {
        if let Some(run) = reader.run_by_name(&run)? {
            entries.push(LedgerEntry::LandingFinished { run: run.id, report });
        }
    }
    for run in recovered.dead {
        // A run that was over had no time left to remove its folder, that is all.
        if let Some(run) = reader.run_by_name(&run)?
            && run.finished.is_none()
        {
            entries.push(LedgerEntry::RunInterrupted { run: run.id });
        }
    }
    if entries.is_empty() {
        return Ok(());
    }
    let now = equipment.clock.now();
    Ok(equipment.ledger.append(entries.into_iter().map(|entry| (now, entry)).collect()).await?)
}

fn tell(recovered: &Recovered) -> Vec<String> {
    let mut lines = Vec::new();
    for (run, _report) in &recovered.landings {
        lines.push(format!("the landing of run {run} was cut short and is complete now"));
    }
    for run in &recovered.dead {
        let saved = recovered.tasks.iter().filter(|task| task.run == *run);
        let saved = saved.filter(|task| task.captured.is_ok()).count();
        let tasks = if saved == 1 { "task" } else { "tasks" };
        lines.push(format!(
            "run {run} was cut short: the work of {saved} {tasks} that ran is kept (regatta runs show {run})"
        ));
    }
    for task in &recovered.tasks {
        if let Err(why) = &task.captured {
            lines.push(format!("the workspace of {}/{} is kept: {why}", task.run, task.task));
        }
    }
    lines
}
