//! Expresses a task's change of a file that the set-up had changed as a change of the original: what
//! the set-up has done to the file is not part of it.

use crate::baseline::ContentReader;
use crate::capture::compare::{Compared, begin};
use crate::capture::walk::{Candidate, Original};
use crate::error::Result;
use crate::file_entry::Change;
use crate::merge::{MergeRule, three_way};

/// What the base of a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// The version before the set-up.
    Original,
    /// The version that the set-up has left, because the task has changed the same lines.
    Setup,
}

/// Returns `compared` without the change of the set-up, or `None` if nothing is left of it.
pub(super) fn without_setup(
    bytes: &ContentReader,
    candidate: &Candidate<'_>,
    compared: Compared,
) -> Result<Option<Compared>> {
    let (Some(Original::Setup(_)), Some(before_setup)) =
        (candidate.original, candidate.before_setup)
    else {
        return Ok(Some(compared));
    };
    let Change { path, base, task, .. } = compared.change.clone();
    let Some(start) = begin(bytes, &path, before_setup)? else { return Ok(Some(compared)) };
    let text = || Ok(MergeRule::Text);
    let task = match task {
        // The original is removed as well as any other version.
        None => None,
        Some(_) => match three_way(&bytes.store, &text, base, Some(start), task)? {
            Ok(merged) => merged.entry,
            Err(_same_lines) => return Ok(Some(Compared { basis: Basis::Setup, ..compared })),
        },
    };
    if task == Some(start) {
        return Ok(None);
    }
    let after = task.map_or(Ok(Vec::new()), |entry| bytes.store.read(entry.oid))?;
    let before = bytes.store.read(start.oid)?;
    let change = Change::new(path, Some(start), task);
    Ok(Some(Compared { change, before, after, basis: Basis::Original }))
}
