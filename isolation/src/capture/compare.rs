//! Comparing a candidate with what it began as, byte by byte.

use git2::{ObjectType, Oid};
use protocol::RepoPath;

use crate::baseline::{Bytes, Source};
use crate::capture::walk::{Began, Candidate, Now};
use crate::entry::{Change, Entry, Mode};
use crate::error::{OrCannot, Result, is_denied};
use crate::tree::{Found, Tree};

/// A change with both contents at hand.
pub(super) struct Compared {
    /// The change. Its bytes are in the task store.
    pub(super) change: Change,
    /// What it began with; empty if it was not there.
    pub(super) before: Vec<u8>,
    /// What it is now; empty if it is not there.
    pub(super) after: Vec<u8>,
}

/// Compares one candidate. Nothing comes back if it is what it began as.
pub(super) fn compare(
    bytes: &Bytes,
    tree: &Tree,
    candidate: &Candidate<'_>,
) -> Result<Option<Compared>> {
    let path = &candidate.path;
    let now = match candidate.now {
        Now::Present => read(tree, path)?,
        Now::Absent => None,
    };
    let Some((mode, after)) = now else {
        return removed(bytes, path, candidate.began);
    };
    let oid = Oid::hash_object(ObjectType::Blob, &after).or_cannot(|| format!("hash {path}"))?;
    let entry = Entry { mode, oid };
    if candidate.began.is_some_and(|began| is_certainly(began, entry)) {
        return Ok(None);
    }
    let base = candidate.began.map(|began| begin(bytes, path, began)).transpose()?;
    if base == Some(entry) {
        return Ok(None);
    }
    let before = match base {
        Some(base) => bytes.store.read(base.oid)?,
        None => Vec::new(),
    };
    bytes.store.write(&after)?;
    let change = Change { path: path.clone(), base, task: Some(entry) };
    Ok(Some(Compared { change, before, after }))
}

fn removed(bytes: &Bytes, path: &RepoPath, began: Option<Began<'_>>) -> Result<Option<Compared>> {
    let Some(began) = began else { return Ok(None) };
    let base = begin(bytes, path, began)?;
    let before = bytes.store.read(base.oid)?;
    let change = Change { path: path.clone(), base: Some(base), task: None };
    Ok(Some(Compared { change, before, after: Vec::new() }))
}

/// Returns what is at `path`: the mode and the bytes of a file or a symlink.
fn read(tree: &Tree, path: &RepoPath) -> Result<Option<(Mode, Vec<u8>)>> {
    let found = match tree.look(path) {
        Err(error) if is_denied(&error) => {
            tree.widen(path)?;
            tree.look(path)?
        }
        found => found?,
    };
    Ok(match found {
        Found::File { mode, bytes, .. } => Some((mode, bytes)),
        Found::Link { target, .. } => Some((Mode::Link, target)),
        Found::Missing | Found::Blocked(_) | Found::Folder | Found::Special => None,
    })
}

/// Whether it is what it began as, without a look at how git checks out.
fn is_certainly(began: Began<'_>, entry: Entry) -> bool {
    match began {
        Began::Seed(seed) => seed == entry,
        Began::Frozen(start) => {
            // A blob's id is that of the bytes as committed, which need not be those in the tree.
            matches!(start.source, Source::Pin(oid) if start.mode == entry.mode && oid == entry.oid)
        }
    }
}

/// Returns what it began as, with its bytes in the task store.
fn begin(bytes: &Bytes, path: &RepoPath, began: Began<'_>) -> Result<Entry> {
    match began {
        Began::Seed(entry) => Ok(entry),
        Began::Frozen(start) => bytes.entry(path, start),
    }
}
