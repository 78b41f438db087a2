//! Says that a session which continues in place has worked in a copy.

use std::time::UNIX_EPOCH;

use protocol::{MergeMode, Work};
use store::{Reader, RunRow};

use regatta::runs::kept_reason;
use regatta::session::ChosenLog;

/// How many of the latest runs are looked at.
const RUNS: usize = 100;

/// Returns the line for a session that continues in place, if the last that was said in it was said in a copy.
/// A ledger that cannot be read is reported by what needs it.
pub(super) fn note_of_copy(reader: &Reader, log: &ChosenLog) -> Option<String> {
    let is_new = log.id.is_some() || log.storage.is_in_memory();
    let written = std::fs::metadata(&log.path).and_then(|file| file.modified());
    let written = written.ok().filter(|_| !is_new)?;
    let written = i64::try_from(written.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()?;
    let runs = reader.runs(None, RUNS).ok()?;
    // The copy of a session ends after the session. That of one that was killed may never have ended.
    let mut later = runs
        .iter()
        .filter(|run| run.finished.is_none_or(|finished| finished.as_millisecond() >= written));
    let RunRow { name, .. } = later.find(|run| worked_in(reader, run, log))?;
    Some(format!(
        "note: until now the session worked in a copy (run {name}), and here it works in place: files of which \
         it speaks may be missing; --isolated gives it another copy"
    ))
}

/// Returns whether the session worked in the copy of a run that ended with it, or whose work is still kept.
fn worked_in(reader: &Reader, run: &RunRow, log: &ChosenLog) -> bool {
    if run.tasks.all != 1 || run.spec.merge != MergeMode::None {
        return false; // it has no conversation
    }
    let tasks = reader.tasks_without_yields(run.id).unwrap_or_default();
    tasks.iter().any(|row| match &row.spec.work {
        Work::Conversation(conversation) => {
            conversation.log == log.path && (run.finished.is_some() || kept_reason(row).is_some())
        }
        Work::Agent(_) | Work::Command(_) => false,
    })
}
