//! Coming to a repository: opening it, and tidying up after engines that died there.

use std::path::Path;
use std::sync::Arc;

use engine::ports::{LedgerStore, Recovered, Repository, Uncaptured};
use protocol::{LedgerEntry, RunName, RunState, TaskState, Work};
use store::{Reader, RunRow, read_session, used_in};

use crate::boot::{Equipment, isolation_places};
use crate::error::Error;
use crate::render::rescue_line;

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
    // What cannot be seen to now must not keep people from looking at what is there: a landing
    // sees to it first, and says why it cannot.
    let (mut recovered, trouble) = match repository.recover().await {
        Ok(recovered) => (recovered, None),
        Err(error) => (Recovered::default(), Some(error.to_failure().message)),
    };
    let reader = equipment.ledger.reader();
    recovered.dead = cut_short(equipment, &reader, &repository.facts().root, recovered.dead)?;
    let mut found = tell(&recovered);
    found.extend(trouble.map(|why| format!("what a dead engine left stays for now: {why}")));
    record(equipment, &reader, recovered).await?;
    Ok(Visit { repository, found })
}

/// How long an engine may take from the ledger's first entry of a run to its claim on a folder.
const OPENING_MS: i64 = 60_000;

/// Of the runs whose engine died: those that were not over. One that was over had no time left to
/// remove its folder, that is all. One that has no folder died before it had one.
fn cut_short(
    equipment: &Equipment,
    reader: &Reader,
    root: &Path,
    dead: Vec<RunName>,
) -> Result<Vec<RunName>, Error> {
    let mut found = Vec::new();
    for run in dead {
        if reader.run_by_name(&run)?.is_none_or(|row| row.finished.is_none()) {
            found.push(run);
        }
    }
    let now = equipment.clock.now().as_millisecond();
    for row in reader.runs(Some(root), usize::MAX)? {
        let open = matches!(row.state, RunState::Running | RunState::Landing);
        let opening = now - row.started.as_millisecond() < OPENING_MS;
        if open && !opening && !found.contains(&row.name) && !is_claimed(equipment, root, &row.name)
        {
            found.push(row.name);
        }
    }
    Ok(found)
}

/// Whether a run has a folder of workspaces, which its engine holds as long as it lives.
fn is_claimed(equipment: &Equipment, root: &Path, run: &RunName) -> bool {
    isolation_places(&equipment.places).of_run(root, run).exists()
}

async fn record(equipment: &Equipment, reader: &Reader, recovered: Recovered) -> Result<(), Error> {
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
        if let Some(run) = reader.run_by_name(&run)? {
            entries.extend(used(equipment, reader, &run)?);
            entries.push(LedgerEntry::RunInterrupted { run: run.id });
        }
    }
    if entries.is_empty() {
        return Ok(());
    }
    let now = equipment.clock.now();
    Ok(equipment.ledger.append(entries.into_iter().map(|entry| (now, entry)).collect()).await?)
}

/// Says what the models of the tasks that were at work had used, as far as it was logged.
fn used(equipment: &Equipment, reader: &Reader, run: &RunRow) -> Result<Vec<LedgerEntry>, Error> {
    let tasks = reader.tasks(run.id)?.into_iter();
    let asked = tasks.filter(|task| {
        matches!((task.state, &task.spec.work), (TaskState::Running, Work::Agent(_)))
    });
    let entries = asked.filter_map(|task| {
        let log = equipment.places.session_log(&run.name, &task.name);
        // Where it cannot be read, it stays for whoever looks.
        let usage = used_in(&read_session(&log).ok()?)?;
        Some(LedgerEntry::TaskUsed { task: task.id, usage })
    });
    Ok(entries.collect())
}

fn tell(recovered: &Recovered) -> Vec<String> {
    let mut lines = Vec::new();
    for (run, _report) in &recovered.landings {
        lines.push(format!("the landing of run {run} was cut short and is complete now"));
    }
    lines.extend(recovered.rescued.iter().map(rescue_line));
    for run in &recovered.dead {
        let saved = recovered.tasks.iter().filter(|task| task.run == *run);
        let saved = saved.filter(|task| task.captured.is_ok()).count();
        let tasks = if saved == 1 { "task" } else { "tasks" };
        lines.push(format!(
            "run {run} was cut short: the work of {saved} {tasks} that ran is kept (regatta runs show {run})"
        ));
    }
    for task in &recovered.tasks {
        let name = format!("{}/{}", task.run, task.task);
        match &task.captured {
            Ok(_) => {}
            Err(Uncaptured::Kept(why)) => {
                lines.push(format!("the workspace of {name} is kept: {why}"));
            }
            Err(Uncaptured::Gone(why)) => {
                lines.push(format!("nothing of {name} could be kept: {why}"));
            }
        }
    }
    lines
}
