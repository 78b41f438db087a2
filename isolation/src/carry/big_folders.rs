//! Finds large ignored folders that are not carried, within a bounded time.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, Instant};

use engine::ports::Notice;

use super::select::IgnoredFiles;
use crate::baseline::{IgnoredEntry, printable, some_of};
use crate::ignore::PathKind;
use crate::tree::join;

/// The size in bytes from which on a folder is named.
const BIG: u64 = 50_000_000;

/// How many entries are looked at in all folders together, and for how long. An ignored folder may
/// be of any size, and a run must not wait for it.
const ENTRIES: usize = 10_000;
const PATIENCE: Duration = Duration::from_millis(100);

/// The large folders.
#[derive(Default)]
pub(super) struct BigFolders<'a> {
    /// The paths of the folders.
    pub(super) paths: Vec<&'a Vec<u8>>,
    /// The notice about them, if there are any.
    pub(super) notice: Option<Notice>,
}

/// Finds the folders of more than 50 MB among `entries`. A folder is measured only until it is known
/// to be large.
pub(super) fn find<'a>(ignored: &IgnoredFiles<'_>, entries: &[&'a IgnoredEntry]) -> BigFolders<'a> {
    let mut budget = Budget { entries: ENTRIES, until: Instant::now() + PATIENCE };
    let mut found = BigFolders::default();
    for entry in entries.iter().filter(|entry| entry.kind == PathKind::Folder) {
        if is_big(ignored, &entry.path, &mut budget) {
            found.paths.push(&entry.path);
        }
    }
    if !found.paths.is_empty() {
        let names: Vec<_> = found.paths.iter().map(|path| printable(path)).collect();
        let unmeasured = match budget.is_spent() {
            true => format!("; there may be others: {ENTRIES} files were looked at"),
            false => String::new(),
        };
        found.notice = Some(Notice {
            from: "ignored folders of more than 50 MB".to_owned(),
            to: "they are not in the workspaces; --carry brings them along, --setup makes them"
                .to_owned(),
            why: format!("{}{unmeasured}", some_of(&names)),
        });
    }
    found
}

/// What may still be looked at.
struct Budget {
    entries: usize,
    until: Instant,
}

impl Budget {
    fn is_spent(&self) -> bool {
        self.entries == 0 || Instant::now() >= self.until
    }
}

/// Returns whether a folder certainly has more than [`BIG`] bytes.
fn is_big(ignored: &IgnoredFiles<'_>, folder: &[u8], budget: &mut Budget) -> bool {
    let mut bytes = 0u64;
    let mut waiting = vec![folder.to_vec()];
    while let Some(folder) = waiting.pop() {
        if budget.is_spent() {
            return false;
        }
        let place = ignored.tree.root().join(OsStr::from_bytes(&folder));
        if ignored.ours.contains(&place) {
            continue;
        }
        // A folder that cannot be read has no size that matters.
        let Ok(Some(listing)) = ignored.tree.list(&folder) else { continue };
        for entry in &listing.entries {
            budget.entries = budget.entries.saturating_sub(1);
            if entry.is_folder() {
                waiting.push(join(&folder, &entry.name));
            } else {
                bytes = bytes.saturating_add(entry.stat.size);
            }
        }
        if bytes > BIG {
            return true;
        }
    }
    false
}
