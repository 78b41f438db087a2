//! Opens a repository, and recovers the workspaces and landings that dead engines left in it.
//! Recovery records them in the ledger before it removes them.

pub mod no_room;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use engine::ports::{
    Completion, LedgerError, LedgerStore, OpenRun, Recovered, RecoveredTask, Repository, Uncaptured,
};
use exec::TemporaryFolders;
use protocol::{Landed, LedgerEntry, RunName, RunState, TaskState, Timestamp, Work, error_chain};
use store::{Reader, RunRow, TaskRow, read_session, used_in};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::app_context::{AppContext, temporary_folders};
use crate::error::Error;
use crate::text::{count, kept_workspace_note, left_out_note, rescue_line};

/// How often it is looked whether much is removed. If it is, the rest is not waited for.
const LOOK: Duration = Duration::from_millis(200);

/// How often at most.
const LOOKS: u32 = 10;

/// Fewer files and folders are not much.
const FEW: usize = 4_096;

/// An opened repository and what recovery found.
pub struct OpenedRepository {
    /// The repository.
    pub repository: Arc<dyn Repository>,
    /// What recovery found and did, as lines of text.
    pub found: Vec<String>,
}

/// Opens the repository at `at` and recovers what dead engines left: completes their landings,
/// captures the work in their workspaces, and records both in the ledger. Work that cannot be
/// recovered now stays for the next start, and a line of the result reports it.
///
/// # Errors
/// The repository cannot be opened.
pub async fn open_repository(app: &AppContext, at: &Path) -> Result<OpenedRepository, Error> {
    let repository = app.isolation.open(at).await?;
    remove_temporary(temporary_folders(&app.places)).await;
    let found = match recover(app, repository.as_ref()).await {
        Ok(found) => found,
        // A failed recovery must not prevent commands that only read. A landing recovers first, and
        // reports why it cannot.
        Err(why) => vec![format!("what a dead engine left stays for now: {why}")],
    };
    Ok(OpenedRepository { repository, found })
}

/// Removes what dead engines have left of temporary files, on a thread of its own. Waits for it, but not
/// for long if it is much: what is left when the process ends is removed by the next start.
async fn remove_temporary(folders: TemporaryFolders) {
    let removed = Arc::new(AtomicUsize::new(0));
    let (ended, mut end) = oneshot::channel::<()>();
    let thread = thread::Builder::new().name("temporary".to_owned());
    let counted = Arc::clone(&removed);
    let spawned = thread.spawn(move || {
        folders.remove_left(&counted);
        drop(ended);
    });
    if let Err(error) = spawned {
        tracing::warn!(%error, "temporary folders that were left stay until the next start");
    }
    for _ in 0..LOOKS {
        if timeout(LOOK, &mut end).await.is_ok() || removed.load(Ordering::Relaxed) >= FEW {
            return;
        }
    }
}

async fn recover(app: &AppContext, repository: &dyn Repository) -> Result<Vec<String>, String> {
    let reader = app.ledger.reader();
    let root = &repository.facts().root;
    // Work of calls lands in workspaces, which are captured below.
    recover_calls(app, &reader, root).await?;
    let open = open_runs(&reader, root).map_err(|error| error_chain(&error))?;
    let recovery = repository.recover(open).await.map_err(|error| error.to_failure().message)?;
    // The ledger may contain some of the findings already: the engine that died recorded them, or
    // an earlier recovery that was killed before it finished.
    let unrecorded =
        Unrecorded::of(&reader, recovery.found()).map_err(|error| error_chain(&error))?;
    for run in &unrecorded.interrupted {
        remove_inputs(app, &reader, run).map_err(|error| error_chain(&error))?;
    }
    record(app, &reader, &unrecorded).await.map_err(|error| error_chain(&error))?;
    let mut found =
        describe(&reader, &unrecorded, recovery.found()).map_err(|error| error_chain(&error))?;
    let unknown = unrecorded.unknown.iter().cloned().collect();
    if let Err(error) = recovery.finish(unknown).await {
        found.push(format!("the rest stays for now: {}", error.to_failure().message));
    }
    Ok(found)
}

/// Recovers what dead engines have left of the calls of models in the workspaces of this repository's runs.
async fn recover_calls(app: &AppContext, reader: &Reader, root: &Path) -> Result<(), String> {
    let open = reader.open_runs(root).map_err(|error| error_chain(&error))?;
    let runs: Vec<_> = open.iter().map(|run| run.id).collect();
    let below = reader.open_runs_below(&runs).map_err(|error| error_chain(&error))?;
    let places: BTreeSet<_> = below.into_iter().map(|run| run.repo).collect();
    for place in places.iter().filter(|place| place.as_path() != root && place.is_dir()) {
        // What it finds is part of the workspace, and of that task's work.
        if let Err(error) = Box::pin(open_repository(app, place)).await {
            tracing::warn!(place = %place.display(), ?error, "the calls in a workspace are not recovered");
        }
    }
    Ok(())
}

/// Returns the runs of a repository that have not ended according to the ledger.
fn open_runs(reader: &Reader, root: &Path) -> Result<Vec<OpenRun>, LedgerError> {
    let mut open = Vec::new();
    for row in reader.open_runs(root)? {
        let captured =
            reader.tasks_without_yields(row.id)?.into_iter().filter_map(|task| task.captured);
        let captures = captured.map(|captured| captured.capture).collect();
        open.push(OpenRun { run: row.name, captures });
    }
    Ok(open)
}

/// The findings of a recovery that the ledger does not contain yet.
#[derive(Default)]
struct Unrecorded {
    /// Runs whose engine died before they ended.
    interrupted: Vec<RunRow>,
    /// Runs that have a folder of workspaces but are not in the ledger.
    unknown: Vec<RunName>,
    /// The ledger entries of captures.
    captured: Vec<LedgerEntry>,
    /// The ledger entries of landings, each with its run and the time of its completion.
    landed: Vec<(RunName, Completion, LedgerEntry)>,
}

impl Unrecorded {
    fn of(reader: &Reader, found: &Recovered) -> Result<Self, LedgerError> {
        let mut unrecorded = Self::default();
        for run in &found.dead {
            // The ledger is read after the run's lock was found free. An engine that ended normally
            // since `open_runs` has recorded the end of its run before it released the lock.
            match reader.run_by_name(run)? {
                None => unrecorded.unknown.push(run.clone()), // of another home, or never begun
                Some(row) if is_open(row.state) => unrecorded.interrupted.push(row),
                Some(_over) => {}
            }
        }
        for task in &found.tasks {
            unrecorded.captured.extend(capture_entry(reader, task)?);
        }
        for landing in &found.landings {
            let Some(row) = reader.run_by_name(&landing.run)? else { continue };
            let tasks = reader.tasks_without_yields(row.id)?;
            let known = landing.report.tasks.iter().all(|landed| {
                let task = tasks.iter().find(|task| task.name == landed.task);
                task.is_none_or(|task| task.landing.as_ref() == Some(&landed.landed))
            });
            if !known {
                let report = landing.report.clone();
                let entry =
                    LedgerEntry::LandingFinished { run: row.id, landing: landing.landing, report };
                unrecorded.landed.push((landing.run.clone(), landing.completion, entry));
            }
        }
        Ok(unrecorded)
    }
}

fn is_open(state: RunState) -> bool {
    match state {
        RunState::Running | RunState::Landing => true,
        RunState::Finished | RunState::Interrupted => false,
    }
}

/// Returns the ledger entry of captured work, if it is not recorded yet.
fn capture_entry(
    reader: &Reader,
    task: &RecoveredTask,
) -> Result<Option<LedgerEntry>, LedgerError> {
    let Ok(captured) = &task.captured else { return Ok(None) };
    let Some(run) = reader.run_by_name(&task.run)? else { return Ok(None) };
    let Some(row) = reader.task_by_name(run.id, &task.task)? else { return Ok(None) };
    if row.captured.as_ref().is_some_and(|known| known.capture == captured.capture) {
        return Ok(None);
    }
    let (captured, attempt) = (captured.clone(), task.attempt);
    Ok(Some(LedgerEntry::TaskCaptured { task: row.id, attempt, captured }))
}

/// Records everything in one transaction: a recovery that is killed has recorded all or nothing.
async fn record(
    app: &AppContext,
    reader: &Reader,
    unrecorded: &Unrecorded,
) -> Result<(), LedgerError> {
    let mut entries = unrecorded.captured.clone();
    entries.extend(unrecorded.landed.iter().map(|(_, _, entry)| entry.clone()));
    let now = app.clock.now();
    let mut ends: Vec<(Timestamp, LedgerEntry)> = Vec::new();
    for run in &unrecorded.interrupted {
        entries.extend(logged_usage(app, reader, run)?);
        match no_room::end(&app.places, (reader, run), &entries)? {
            Some((at, end)) => ends.extend(end.into_iter().map(|entry| (at, entry))),
            None => ends.push((now, LedgerEntry::RunInterrupted { run: run.id })),
        }
    }
    if entries.is_empty() && ends.is_empty() {
        return Ok(());
    }
    let entries = entries.into_iter().map(|entry| (now, entry)).chain(ends);
    app.ledger.append(entries.collect()).await?;
    unrecorded.interrupted.iter().for_each(|run| no_room::remove(&app.places, &run.name));
    Ok(())
}

/// Removes the input files that the engine of a run left, because it died.
fn remove_inputs(app: &AppContext, reader: &Reader, run: &RunRow) -> Result<(), LedgerError> {
    for task in
        reader.tasks_without_yields(run.id)?.iter().filter(|task| !task.spec.depends_on.is_empty())
    {
        let folder = app.places.inputs(&run.name, &task.name);
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let folder = folder.display();
                tracing::warn!(%folder, %error, "the yields that a task was given stay");
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Returns ledger entries with the usage of running tasks, as far as their session logs contain it.
fn logged_usage(
    app: &AppContext,
    reader: &Reader,
    run: &RunRow,
) -> Result<Vec<LedgerEntry>, LedgerError> {
    let tasks = reader.tasks_without_yields(run.id)?.into_iter();
    let asked = tasks.filter(|task| {
        matches!((task.state, &task.spec.work), (TaskState::Running, Work::Agent(_)))
    });
    let entries = asked.filter_map(|task| {
        let log = app.places.session_log(&run.name, &task.name);
        // A session log that cannot be read is skipped and stays where it is.
        let usage = used_in(&read_session(&log).ok()?)?;
        Some(LedgerEntry::TaskUsed { task: task.id, usage })
    });
    Ok(entries.collect())
}

/// Describes what the recovery found and recorded, as lines of text.
fn describe(
    reader: &Reader,
    unrecorded: &Unrecorded,
    found: &Recovered,
) -> Result<Vec<String>, LedgerError> {
    let mut lines = Vec::new();
    for (run, completion, entry) in &unrecorded.landed {
        let what = if is_undo(entry) { "undo" } else { "landing" };
        lines.push(match completion {
            Completion::Now => {
                format!("the {what} of run {run} was cut short and is complete now")
            }
            Completion::Earlier => {
                format!("the {what} of run {run} was complete, and is recorded now")
            }
        });
    }
    lines.extend(found.rescued.iter().map(rescue_line));
    for row in &unrecorded.interrupted {
        let tasks = reader.tasks_without_yields(row.id)?;
        let all = count(tasks.len(), "task");
        let kept = match tasks.iter().filter(|task| has_kept_work(task)).count() {
            0 => "nothing of it is left to land".to_owned(),
            kept => format!("the work of {kept} of its {all} is kept"),
        };
        let run = &row.name;
        lines.push(format!("run {run} was cut short: {kept} (regatta runs show {run})"));
    }
    for run in
        unrecorded.unknown.iter().filter(|run| found.tasks.iter().any(|task| task.run == **run))
    {
        lines.push(format!(
            "the workspaces of run {run} stay: the ledger does not know it, so it may be of another home"
        ));
    }
    for task in &found.tasks {
        let name = format!("{}/{}", task.run, task.task);
        match &task.captured {
            Ok(captured) => {
                let kept = kept_workspace_note(&captured.left_out);
                if let (Some(kept), Some(left_out)) = (kept, left_out_note(&captured.left_out)) {
                    lines.push(format!("{name}: {left_out}; {kept}"));
                }
            }
            Err(Uncaptured::Kept(why)) => {
                lines.push(format!("the workspace of {name} is kept: {why}"));
            }
            // A task that has ended leaves at most a kept workspace, which the user is asked to
            // remove. A workspace that is gone is not an error then.
            Err(Uncaptured::Gone(_)) if has_ended(reader, task)? => {}
            Err(Uncaptured::Gone(why)) => {
                lines.push(format!("nothing of {name} could be kept: {why}"));
            }
        }
    }
    lines.extend(found.kept.iter().cloned());
    Ok(lines)
}

/// Returns whether a landing has taken others back.
fn is_undo(entry: &LedgerEntry) -> bool {
    let LedgerEntry::LandingFinished { report, .. } = entry else { return false };
    report.tasks.iter().any(|task| matches!(task.landed, Landed::TakenBack { .. }))
}

/// Returns whether a task has kept work that has not landed.
fn has_kept_work(task: &TaskRow) -> bool {
    let has_changes = task.captured.as_ref().is_some_and(|captured| captured.changes.files > 0);
    let is_landed = matches!(task.landing, Some(Landed::Landed { .. } | Landed::Unchanged));
    has_changes && !is_landed && task.discarded.is_none()
}

/// Returns whether a task has ended according to the ledger.
fn has_ended(reader: &Reader, task: &RecoveredTask) -> Result<bool, LedgerError> {
    let Some(run) = reader.run_by_name(&task.run)? else { return Ok(false) };
    let row = reader.task_by_name(run.id, &task.task)?;
    Ok(row.is_some_and(|row| row.report.is_some()))
}
