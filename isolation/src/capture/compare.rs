//! Compares a candidate with its original, byte by byte, and counts the changed lines.

use git2::{DiffOptions, ObjectType, Oid, Patch};
use protocol::{ChangeSummary, RepoPath};

use crate::baseline::{ContentLocation, ContentReader};
use crate::capture::walk::{Candidate, Original};
use crate::capture::without_setup::{Basis, without_setup};
use crate::error::{OrCannot, Result, is_denied};
use crate::file_entry::{Change, Entry, Mode};
use crate::tree::{Stat, Tree, TreeEntry};

/// A change with the bytes of both versions.
pub(super) struct Compared {
    /// The change, whose bytes are in the task store.
    pub(super) change: Change,
    /// The bytes of the original; empty if the path did not exist.
    pub(super) before: Vec<u8>,
    /// The bytes in the workspace; empty if the path does not exist any more.
    pub(super) after: Vec<u8>,
    /// What its base is.
    pub(super) basis: Basis,
}

/// Compares one candidate with its original. Returns `None` if they are equal.
pub(super) fn compare(
    bytes: &ContentReader,
    tree: &Tree,
    candidate: &Candidate<'_>,
) -> Result<Option<Compared>> {
    match compare_with_original(bytes, tree, candidate)? {
        Some(compared) => without_setup(bytes, candidate, compared),
        None => Ok(None),
    }
}

fn compare_with_original(
    bytes: &ContentReader,
    tree: &Tree,
    candidate: &Candidate<'_>,
) -> Result<Option<Compared>> {
    let path = &candidate.path;
    let now = match candidate.now {
        Some(_) => read(tree, path)?,
        None => None,
    };
    let Some((mode, after)) = now else {
        return removed(bytes, path, candidate.original);
    };
    let oid = Oid::hash_object(ObjectType::Blob, &after).or_cannot(|| format!("hash {path}"))?;
    let entry = Entry { mode, oid };
    if candidate.original.is_some_and(|original| is_certainly(original, entry)) {
        return Ok(None);
    }
    let base = match candidate.original {
        Some(original) => begin(bytes, path, original)?,
        None => None,
    };
    if base == Some(entry) {
        return Ok(None);
    }
    let before = match base {
        Some(base) => bytes.store.read(base.oid)?,
        None => Vec::new(),
    };
    bytes.store.write(&after)?;
    let change = Change::new(path.clone(), base, Some(entry));
    Ok(Some(Compared { change, before, after, basis: Basis::Original }))
}

fn removed(
    bytes: &ContentReader,
    path: &RepoPath,
    original: Option<Original<'_>>,
) -> Result<Option<Compared>> {
    let Some(original) = original else { return Ok(None) };
    let Some(base) = begin(bytes, path, original)? else { return Ok(None) };
    let before = bytes.store.read(base.oid)?;
    let change = Change::new(path.clone(), Some(base), None);
    Ok(Some(Compared { change, before, after: Vec::new(), basis: Basis::Original }))
}

/// Returns the mode and the bytes of the file or symlink at `path`.
fn read(tree: &Tree, path: &RepoPath) -> Result<Option<(Mode, Vec<u8>)>> {
    Ok(read_with_stat(tree, path)?.map(|(mode, bytes, _)| (mode, bytes)))
}

/// Returns the mode, the bytes and the stat of the file or symlink at `path`.
pub(super) fn read_with_stat(
    tree: &Tree,
    path: &RepoPath,
) -> Result<Option<(Mode, Vec<u8>, Stat)>> {
    let found = match tree.read_entry(path) {
        Err(error) if is_denied(&error) => {
            tree.make_readable(path)?;
            tree.read_entry(path)?
        }
        found => found?,
    };
    Ok(match found {
        TreeEntry::File { mode, bytes, stat } => Some((mode, bytes, stat)),
        TreeEntry::Link { target, stat } => Some((Mode::Link, target, stat)),
        TreeEntry::Missing | TreeEntry::Blocked(_) | TreeEntry::Folder | TreeEntry::Special => None,
    })
}

/// Returns whether the ids alone prove that `entry` equals the original, so that the bytes of the
/// original need not be read.
pub(super) fn is_certainly(original: Original<'_>, entry: Entry) -> bool {
    match original {
        Original::Predecessor(change) => change == entry,
        Original::Setup(left) => left.content == Some(entry),
        Original::Snapshot(frozen) => {
            // Only pins can be compared by id. The id of a blob is that of the committed bytes,
            // which a conversion may have changed in the working tree.
            matches!(frozen.source, ContentLocation::Pin(oid) if frozen.mode == entry.mode && oid == entry.oid)
        }
    }
}

/// Returns the entry of the original, and writes its bytes to the task store. Returns `None` for a
/// file that the set-up has made: what the task makes of it is all its own.
pub(super) fn begin(
    bytes: &ContentReader,
    path: &RepoPath,
    original: Original<'_>,
) -> Result<Option<Entry>> {
    match original {
        Original::Predecessor(entry) => Ok(Some(entry)),
        Original::Snapshot(frozen) => bytes.entry(path, frozen).map(Some),
        Original::Setup(left) => Ok(left.base()),
    }
}

/// How many bytes are searched for a NUL. Content with a NUL in them counts as binary, as in git.
const LOOKED_AT: usize = 8000;

/// The size above which content counts as binary, as in git.
const HUGE: usize = 512 << 20;

/// Adds the change from `before` to `after` to a summary, with its lines counted as `git diff
/// --numstat` does.
pub(crate) fn count_lines(
    summary: &mut ChangeSummary,
    before: &[u8],
    after: &[u8],
) -> std::result::Result<(), git2::Error> {
    summary.files += 1;
    if is_binary(before) || is_binary(after) {
        return Ok(());
    }
    let mut options = DiffOptions::new();
    options.context_lines(0).force_text(true);
    let patch = Patch::from_buffers(before, None, after, None, Some(&mut options))?;
    let (_, added, removed) = patch.line_stats()?;
    summary.added += added as u64;
    summary.removed += removed as u64;
    Ok(())
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes.len() > HUGE || bytes[..bytes.len().min(LOOKED_AT)].contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(before: &[u8], after: &[u8]) -> (u64, u64) {
        let mut summary = ChangeSummary::default();
        count_lines(&mut summary, before, after).unwrap();
        assert_eq!(summary.files, 1);
        (summary.added, summary.removed)
    }

    #[test]
    fn lines_are_counted_and_binary_files_have_none() {
        assert_eq!(counted(b"", b"a\nb\n"), (2, 0));
        assert_eq!(counted(b"a\nb\n", b""), (0, 2));
        assert_eq!(counted(b"a\nb\nc\n", b"a\nx\nc\n"), (1, 1));
        assert_eq!(counted(b"a", b"a\n"), (1, 1));
        assert_eq!(counted(b"a\n", b"a\n"), (0, 0));
        assert_eq!(counted(b"a\n", b"a\0\n"), (0, 0));
        assert_eq!(counted(b"", b""), (0, 0));
    }
}
