//! Finds what is in the way of a task's changes: a file where a folder is needed, or the other way
//! round.

use std::collections::BTreeMap;

use protocol::{RepoPath, TaskName};

use crate::error::Result;
use crate::merge::EntryState;
use crate::merge::merger::{ChangedEntry, Merger, Wanted};

/// Returns `Some` if `path` cannot get the entry in `wanted` because of an obstacle. The inner
/// value is the earlier task that made the obstacle, if there is one.
pub(super) fn in_the_way(
    merger: &Merger<'_>,
    wanted: &Wanted,
    path: &RepoPath,
) -> Result<Option<Option<TaskName>>> {
    let after = wanted.get(path).copied().flatten();
    if after == merger.entry(path)? {
        return Ok(None);
    }
    let wants = if after.is_some() { Wants::Something } else { Wants::Nothing };
    if let Some(found) = above(merger, wanted, path, wants)? {
        return Ok(Some(found));
    }
    match wants {
        Wants::Something => below(merger, wanted, path),
        Wants::Nothing => Ok(None),
    }
}

/// Whether a task wants an entry at a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wants {
    Something,
    Nothing,
}

/// Finds an obstacle above the path: an entry where a folder is needed, or a foreign folder.
fn above(
    merger: &Merger<'_>,
    wanted: &Wanted,
    path: &RepoPath,
    wants: Wants,
) -> Result<Option<Option<TaskName>>> {
    for folder in path.folders() {
        // Nothing may be removed from a foreign folder either.
        if merger.state_of(&folder)? == EntryState::Foreign {
            return Ok(Some(None));
        }
        if wants == Wants::Something && entry_then(merger, wanted, &folder)? {
            return Ok(Some(merger.changed.get(&folder).and_then(ChangedEntry::last)));
        }
    }
    Ok(None)
}

/// Returns whether `path` will have a file or symlink.
fn entry_then(merger: &Merger<'_>, wanted: &Wanted, path: &RepoPath) -> Result<bool> {
    match wanted.get(path) {
        Some(entry) => Ok(entry.is_some()),
        None => Ok(merger.entry(path)?.is_some()),
    }
}

/// Finds an obstacle below the path: an entry that is not removed, so that `path` stays a folder.
fn below(
    merger: &Merger<'_>,
    wanted: &Wanted,
    path: &RepoPath,
) -> Result<Option<Option<TaskName>>> {
    if entries_below(wanted, path).any(|(_, entry)| entry.is_some()) {
        return Ok(Some(None));
    }
    for (next, changed) in entries_below(&merger.changed, path) {
        if changed.entry.is_some() && !wanted.contains_key(next) {
            return Ok(Some(changed.last()));
        }
    }
    if merger.state_of(path)? != EntryState::Folder {
        return Ok(None);
    }
    let goes = |path: &RepoPath| match wanted.get(path) {
        Some(entry) => entry.is_none(),
        // The changes of earlier tasks were checked above.
        None => merger.changed.contains_key(path),
    };
    Ok(merger.target.obstacle(path, &goes)?.map(|_| None))
}

/// Returns whether the tree has entries below a path.
pub(super) fn has_entries_below(merger: &Merger<'_>, path: &RepoPath) -> Result<bool> {
    Ok(below(merger, &Wanted::new(), path)?.is_some())
}

/// Returns the entries of the paths below a folder.
pub(crate) fn entries_below<'m, V>(
    paths: &'m BTreeMap<RepoPath, V>,
    folder: &'m RepoPath,
) -> impl Iterator<Item = (&'m RepoPath, &'m V)> {
    // No name is smaller than this one.
    let first = RepoPath::new([folder.as_bytes(), b"/\x01"].concat());
    let first = first.expect("a plain name in a folder of the repository is a path");
    paths.range(first..).take_while(|(path, _)| path.is_below(folder))
}
