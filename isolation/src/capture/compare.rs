//! Comparing a candidate with what it began as, byte by byte.

use git2::{ObjectType, Oid};
use protocol::RepoPath;

use crate::baseline::{ContentLocation, ContentReader};
use crate::capture::walk::{Candidate, Original, Presence};
use crate::entry::{Change, Entry, Mode};
use crate::error::{OrCannot, Result, is_denied};
use crate::tree::{Tree, TreeEntry};

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
    bytes: &ContentReader,
    tree: &Tree,
    candidate: &Candidate<'_>,
) -> Result<Option<Compared>> {
    let path = &candidate.path;
    let now = match candidate.now {
        Presence::Present => read(tree, path)?,
        Presence::Absent => None,
    };
    let Some((mode, after)) = now else {
        return removed(bytes, path, candidate.original);
    };
    let oid = Oid::hash_object(ObjectType::Blob, &after).or_cannot(|| format!("hash {path}"))?;
    let entry = Entry { mode, oid };
    if candidate.original.is_some_and(|original| is_certainly(original, entry)) {
        return Ok(None);
    }
    let base = candidate.original.map(|original| begin(bytes, path, original)).transpose()?;
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

fn removed(
    bytes: &ContentReader,
    path: &RepoPath,
    original: Option<Original<'_>>,
) -> Result<Option<Compared>> {
    let Some(original) = original else { return Ok(None) };
    let base = begin(bytes, path, original)?;
    let before = bytes.store.read(base.oid)?;
    let change = Change { path: path.clone(), base: Some(base), task: None };
    Ok(Some(Compared { change, before, after: Vec::new() }))
}

/// Returns what is at `path`: the mode and the bytes of a file or a symlink.
fn read(tree: &Tree, path: &RepoPath) -> Result<Option<(Mode, Vec<u8>)>> {
    let found = match tree.read_entry(path) {
        Err(error) if is_denied(&error) => {
            tree.make_readable(path)?;
            tree.read_entry(path)?
        }
        found => found?,
    };
    Ok(match found {
        TreeEntry::File { mode, bytes, .. } => Some((mode, bytes)),
        TreeEntry::Link { target, .. } => Some((Mode::Link, target)),
        TreeEntry::Missing | TreeEntry::Blocked(_) | TreeEntry::Folder | TreeEntry::Special => None,
    })
}

/// Whether it is what it began as, without a look at how git checks out.
fn is_certainly(original: Original<'_>, entry: Entry) -> bool {
    match original {
        Original::Predecessor(seed) => seed == entry,
        Original::Frozen(frozen) => {
            // A blob's id is that of the bytes as committed, which need not be those in the tree.
            matches!(frozen.source, ContentLocation::Pin(oid) if frozen.mode == entry.mode && oid == entry.oid)
        }
    }
}

/// Returns what it began as, with its bytes in the task store.
fn begin(bytes: &ContentReader, path: &RepoPath, original: Original<'_>) -> Result<Entry> {
    match original {
        Original::Predecessor(entry) => Ok(entry),
        Original::Frozen(frozen) => bytes.entry(path, frozen),
    }
}
