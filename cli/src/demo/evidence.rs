//! What the demo left behind, read back from where it has to be: tree, ledger, task store, events.

use std::collections::BTreeMap;
use std::path::Path;

use protocol::{CaptureRef, TaskName};
use store::TaskRow;

use super::sample::Sample;

/// How many `task_finished` events each task had.
pub type Endings = BTreeMap<TaskName, usize>;

/// Reads captured work as a patch; a failure is said in words.
pub type ReadPatch<'a> = &'a dyn Fn(&CaptureRef) -> Result<Vec<u8>, String>;

/// Everything that was found of one task.
#[derive(Clone, Debug)]
pub struct TaskEvidence {
    /// Its row in the ledger.
    pub row: Option<TaskRow>,
    /// Its captured work as a patch, or why it cannot be read.
    pub patch: Result<String, String>,
    /// The file that it was to change, as it is in the user's tree.
    pub file: String,
    /// How many times its end was announced.
    pub endings: usize,
}

/// Collects what was found, task by task, in the order of their declaration.
#[must_use]
pub fn gather(
    sample: &Sample,
    rows: &[TaskRow],
    endings: &Endings,
    patch: ReadPatch<'_>,
) -> Vec<TaskEvidence> {
    let one = |name: &str, file: &str| {
        let row = rows.iter().find(|row| row.name.as_str() == name);
        let captured = row.and_then(|row| row.captured.as_ref());
        let patch = match captured {
            Some(captured) => patch(&captured.capture),
            None => Err("the ledger knows no capture".to_owned()),
        };
        let ended = endings.iter().find(|(task, _)| task.as_str() == name);
        TaskEvidence {
            row: row.cloned(),
            patch: patch.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            file: content(&sample.root().join(file)),
            endings: ended.map_or(0, |(_, count)| *count),
        }
    };
    sample.tickets().map(|(ticket, _)| one(ticket.name, ticket.file)).collect()
}

/// A file that is not there holds nothing.
fn content(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
