//! What the demo left behind, read back from where it has to be: tree, ledger, task store, session
//! logs, events.

use std::collections::BTreeMap;
use std::path::Path;

use protocol::{CaptureRef, Message, TaskName};
use store::TaskRow;

use super::sample::Sample;

/// How many `task_finished` events each task had.
pub type Endings = BTreeMap<TaskName, usize>;

/// Where what tasks left behind is found; what cannot be read is said in words.
pub struct Found<'a> {
    /// The tasks' rows in the ledger.
    pub rows: &'a [TaskRow],
    /// How often the end of each task was announced.
    pub endings: &'a Endings,
    /// Reads captured work as a patch.
    pub patch: &'a dyn Fn(&CaptureRef) -> Result<Vec<u8>, String>,
    /// Reads what was said in a task's session.
    pub session: &'a dyn Fn(&str) -> Result<Vec<Message>, String>,
}

/// Everything that was found of one task.
#[derive(Clone, Debug)]
pub struct TaskEvidence {
    /// Its row in the ledger.
    pub row: Option<TaskRow>,
    /// Its captured work as a patch, or why it cannot be read.
    pub patch: Result<String, String>,
    /// The file that it was to change, as it is in the user's tree.
    pub file: String,
    /// What was said in its session, or why that cannot be read.
    pub session: Result<Vec<Message>, String>,
    /// How many times its end was announced.
    pub endings: usize,
}

/// Collects what was found, task by task, in the order of their declaration.
#[must_use]
pub fn gather(sample: &Sample, found: &Found<'_>) -> Vec<TaskEvidence> {
    let one = |name: &str, file: &str| {
        let row = found.rows.iter().find(|row| row.name.as_str() == name);
        let captured = row.and_then(|row| row.captured.as_ref());
        let patch = match captured {
            Some(captured) => (found.patch)(&captured.capture),
            None => Err("the ledger knows no capture".to_owned()),
        };
        let ended = found.endings.iter().find(|(task, _)| task.as_str() == name);
        TaskEvidence {
            row: row.cloned(),
            patch: patch.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            file: content(&sample.root().join(file)),
            session: (found.session)(name),
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
