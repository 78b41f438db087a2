//! Whether a path can become what a task wants it to be, given what stands above and below it.

use std::ops::Bound;

use protocol::{RepoPath, TaskName};

use crate::error::Result;
use crate::merge::EntryState;
use crate::merge::fold::{ChangedEntry, Merger, Wanted};

/// Returns something if `path` cannot become what `wanted` says: inside, the task that put there
/// what stands in the way, if it was one.
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

/// What a task wants at a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wants {
    Something,
    Nothing,
}

/// Looks for what must be a folder and is not.
fn above(
    merger: &Merger<'_>,
    wanted: &Wanted,
    path: &RepoPath,
    wants: Wants,
) -> Result<Option<Option<TaskName>>> {
    for folder in path.folders() {
        // A folder of somebody else's must not even lose anything.
        if merger.state_of(&folder)? == EntryState::Foreign {
            return Ok(Some(None));
        }
        if wants == Wants::Something && entry_then(merger, wanted, &folder)? {
            return Ok(Some(merger.changed.get(&folder).and_then(ChangedEntry::last)));
        }
    }
    Ok(None)
}

/// Whether there will be a file or symlink at `path`.
fn entry_then(merger: &Merger<'_>, wanted: &Wanted, path: &RepoPath) -> Result<bool> {
    match wanted.get(path) {
        Some(entry) => Ok(entry.is_some()),
        None => Ok(merger.entry(path)?.is_some()),
    }
}

/// Looks for what is below `path` and will still be there.
fn below(
    merger: &Merger<'_>,
    wanted: &Wanted,
    path: &RepoPath,
) -> Result<Option<Option<TaskName>>> {
    let after = (Bound::Excluded(path), Bound::Unbounded);
    let ours = wanted.range(after).take_while(|(next, _)| begins(next, path));
    if ours.into_iter().any(|(next, entry)| next.is_below(path) && entry.is_some()) {
        return Ok(Some(None));
    }
    let theirs = merger.changed.range(after).take_while(|(next, _)| begins(next, path));
    for (next, changed) in theirs.filter(|(next, _)| next.is_below(path)) {
        if changed.entry.is_some() && !wanted.contains_key(next) {
            return Ok(Some(changed.last()));
        }
    }
    if merger.state_of(path)? != EntryState::Folder {
        return Ok(None);
    }
    let goes = |path: &RepoPath| match wanted.get(path) {
        Some(entry) => entry.is_none(),
        // What an earlier task changed was looked at above.
        None => merger.changed.contains_key(path),
    };
    Ok(merger.target.obstacle(path, &goes)?.map(|_| None))
}

fn begins(path: &RepoPath, with: &RepoPath) -> bool {
    path.as_bytes().starts_with(with.as_bytes())
}
