//! The work of a resolver, kept as a capture of its own.

use protocol::{CaptureRef, Conflict, RunName, TaskName};

use super::conflict_paths::entry_of;
use crate::error::{OrCannot, Result};
use crate::file_entry::{Change, Entry, Mode};
use crate::store::{Contents, TaskStore};

/// How many resolutions of one task are kept.
const MOST: u32 = 1_000;

impl TaskStore {
    /// Captures what a resolver wrote for conflicts of a task: from our version to the written one.
    pub(crate) fn put_resolution(
        &self,
        (run, task): (&RunName, &TaskName),
        written: &[(&Conflict, &[u8])],
    ) -> Result<CaptureRef> {
        let what = || format!("capture how the conflicts of {task} were resolved");
        let name = format!("{task}.resolve").parse::<TaskName>();
        let name = name.map_err(|error| error.to_string()).or_cannot(what)?;
        let mut changes = Vec::new();
        for (conflict, bytes) in written {
            let ours = entry_of(conflict.ours.as_ref());
            let mode = ours.map_or(Mode::File, |ours| ours.mode);
            let task = Some(Entry { mode, oid: self.write(bytes)? });
            changes.push(Change::new(conflict.path.clone(), ours, task));
        }
        for attempt in 1..MOST {
            let capture = CaptureRef::of(run, &name, attempt);
            if !self.has_capture(&capture)? {
                let contents = Contents { changes, ..Contents::default() };
                self.put_capture(&capture, &contents, "How conflicts were resolved")?;
                return Ok(capture);
            }
        }
        Err("there are too many already").or_cannot(what)
    }
}
