//! A run whose end the ledger had no room for: its engine leaves a file, which takes no room, and the next
//! start records the end as the engine has told it.

use std::fs::{self, File};
use std::io::Write as _;

use config::DataPaths;
use engine::ports::LedgerError;
use engine::run::end_without_room;
use protocol::{ExitCode, Failure, LedgerEntry, RunName, Timestamp};
use store::{Reader, RunRow};

/// Leaves the file, whose name has the exit code, with the reason. On a full disk it stays empty, which says
/// as much.
pub fn leave(places: &DataPaths, run: &RunName, (failure, exit_code): (&Failure, ExitCode)) {
    match File::create(places.no_room(run, exit_code)) {
        Ok(mut file) => {
            let _full = file.write_all(failure.message.as_bytes());
        }
        Err(error) => tracing::warn!(%error, "the next start does not know why the run has no end"),
    }
}

/// Removes the file, once the end is recorded.
pub(super) fn remove(places: &DataPaths, run: &RunName) {
    for code in ExitCode::ALL {
        let _not_there = fs::remove_file(places.no_room(run, code));
    }
}

/// Returns the entries that end a run if its engine had no room for them, with their time. `known` are
/// those that are recorded before them.
pub(super) fn end(
    places: &DataPaths,
    (reader, run): (&Reader, &RunRow),
    known: &[LedgerEntry],
) -> Result<Option<(Timestamp, Vec<LedgerEntry>)>, LedgerError> {
    let Some((at, why, exit_code)) = read(places, &run.name) else { return Ok(None) };
    let Some(mut record) = reader.record(&run.name)? else { return Ok(None) };
    known.iter().for_each(|entry| record.apply(entry));
    let tasks = reader.tasks_without_yields(run.id)?;
    let since = |then: Timestamp| {
        u64::try_from(at.as_millisecond() - then.as_millisecond()).unwrap_or_default()
    };
    let ms = |task| match task {
        None => since(run.started),
        Some(task) => {
            let row = tasks.iter().find(|row| row.id == task);
            row.and_then(|row| row.started).map_or(0, since)
        }
    };
    Ok(Some((at, end_without_room(record, (&why, exit_code), &ms))))
}

/// Returns when there was no room, what the engine said, and with which code it ended.
fn read(places: &DataPaths, run: &RunName) -> Option<(Timestamp, String, ExitCode)> {
    let modified = |code: &ExitCode| {
        fs::metadata(places.no_room(run, *code)).and_then(|found| found.modified()).ok()
    };
    let (code, modified) = ExitCode::ALL.iter().find_map(|code| Some((*code, modified(code)?)))?;
    let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
    let at = Timestamp::from_millisecond(i64::try_from(since.as_millis()).ok()?);
    let said = fs::read_to_string(places.no_room(run, code)).unwrap_or_default();
    let full = || format!("the disk of {} was full", places.data().display());
    Some((at, if said.is_empty() { full() } else { said }, code))
}
