//! The second step of a snapshot: reads each file that may have changed, and writes its content to
//! the task store. Content that the user's repository has, as it is or with LF instead of CRLF, is
//! not written.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use engine::ports::IsolationError;
use engine::texts::counted;
use git2::{ObjectType, Oid};
use protocol::{RepoPath, RunName};

use crate::baseline::conversion::without_crlf;
use crate::baseline::scan::{DirtyCandidate, Scan, YOUNG_NS};
use crate::baseline::table::split;
use crate::baseline::{ContentLocation, FrozenEntry, Table};
use crate::error::{Result, is_denied};
use crate::file_entry::{Entry, Mode};
use crate::store::{Durability, TaskStore};
use crate::tree::{Tree, TreeEntry};

/// How many of the largest untracked files are named.
const NAMED: usize = 5;

/// Refuses a tree with more than `limit` untracked bytes, before anything is copied.
pub(super) fn check_untracked(tree: &Tree, scan: &Scan, limit: u64) -> Result<()> {
    let mut untracked: Vec<&DirtyCandidate> =
        scan.dirty_candidates.iter().filter(|file| file.tracked.is_none()).collect();
    let total = untracked.iter().fold(0u64, |total, file| total.saturating_add(file.size));
    if total <= limit {
        return Ok(());
    }
    untracked.sort_by_key(|file| (std::cmp::Reverse(file.size), file.path.clone()));
    let largest: Vec<String> = untracked
        .iter()
        .take(NAMED)
        .map(|file| format!("{} ({})", file.path, size_text(file.size)))
        .collect();
    Err(IsolationError::Refused {
        what: format!("cannot copy the untracked files of {}", tree.root().display()),
        because: format!(
            "they are {} in {}, and the limit is {}; the largest: {}",
            size_text(total),
            counted(untracked.len(), "file"),
            size_text(limit),
            largest.join(", ")
        ),
        hint: "add them to .gitignore, or raise the setting isolation.untrackedLimit".to_owned(),
    })
}

/// Reads the candidates, writes the content that the user's repository does not have to the task
/// store, and adds all of them to `table`. Returns the untracked files that are left out because
/// they cannot be read. `now_ns` returns the current time in nanoseconds since 1970.
pub(super) fn pin(
    tree: &Tree,
    store: &TaskStore,
    run: &RunName,
    dirty_candidates: Vec<DirtyCandidate>,
    table: &mut Table,
    now_ns: fn() -> i64,
) -> Result<Vec<String>> {
    let mut unreadable = Vec::new();
    let mut pinned = Vec::new();
    for file in dirty_candidates {
        let found = match tree.read_entry(&file.path) {
            Err(error) if file.tracked.is_none() && is_denied(&error) => {
                unreadable.push(file.path.to_string());
                continue;
            }
            found => found?,
        };
        let (mode, bytes, stat) = match found {
            TreeEntry::File { mode, bytes, stat } => (mode, bytes, stat),
            TreeEntry::Link { target, stat } => (Mode::Link, target, stat),
            // It was removed during the scan: the snapshot does not contain it.
            TreeEntry::Missing | TreeEntry::Blocked(_) | TreeEntry::Folder | TreeEntry::Special => {
                continue;
            }
        };
        let young = stat.ctime_ns >= now_ns() - YOUNG_NS;
        let source = match source_of(&bytes, mode, &file) {
            Some(source) if !young => source,
            _ => {
                let oid = store.write(&bytes)?;
                pinned.push((file.path.as_bytes().to_vec(), Entry { mode, oid }));
                ContentLocation::Pin(oid)
            }
        };
        insert(table, &file.path, FrozenEntry { stat, mode, source });
    }
    if !pinned.is_empty() {
        store.hold(&reference(run), &pinned, Durability::Buffered)?;
    }
    Ok(unreadable)
}

/// Returns the reference that keeps the pins of a run alive.
pub(crate) fn reference(run: &RunName) -> String {
    format!("refs/pins/{run}")
}

/// Returns the location of a tracked file's bytes in the user's repository, if they are there.
fn source_of(bytes: &[u8], mode: Mode, file: &DirtyCandidate) -> Option<ContentLocation> {
    let tracked = file.tracked?;
    let is_blob = |bytes: &[u8]| Oid::hash_object(ObjectType::Blob, bytes) == Ok(tracked);
    if is_blob(bytes) {
        return Some(ContentLocation::Blob(tracked));
    }
    match mode {
        Mode::Link => None,
        Mode::File | Mode::Executable => {
            let unix = without_crlf(bytes)?;
            is_blob(&unix).then_some(ContentLocation::Crlf(tracked))
        }
    }
}

fn insert(table: &mut Table, path: &RepoPath, frozen: FrozenEntry) {
    let (folder, name) = split(path.as_bytes());
    let folder = table.folders.entry(folder.to_vec()).or_default();
    folder.files.insert(OsStr::from_bytes(name).to_owned(), frozen);
}

/// Formats a number of bytes with a unit.
pub(crate) fn size_text(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let tenths = u128::from(bytes) * 10 / u128::from(unit);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => counted(bytes, "byte"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_told_in_the_largest_unit_that_fits() {
        assert_eq!(size_text(1023), "1023 bytes");
        assert_eq!(size_text(1536), "1.5 KiB");
        assert_eq!(size_text(256 << 20), "256.0 MiB");
        assert_eq!(size_text(u64::MAX), "17179869183.9 GiB");
    }
}
