//! The entries of the user's index, and whether a file is clean according to it.

use std::os::unix::fs::MetadataExt as _;

use git2::{IndexEntry, IndexTime, Repository};

use crate::error::{OrCannot, Result};
use crate::file_entry::Mode;
use crate::tree::Stat;

/// The mode of a submodule in the index.
const GITLINK: u32 = 0o160_000;

/// The entries of the index, sorted by path.
pub(super) struct Index {
    entries: Vec<IndexEntry>,
    /// The time at which the index was written, in nanoseconds since 1970. A file that is not older
    /// than the index may have changed afterwards with the same size and timestamp.
    written_ns: i64,
}

impl Index {
    /// Reads the index of `git`.
    pub(super) fn read(git: &Repository) -> Result<Self> {
        let file = git.path().join("index");
        let what = || format!("read {}", file.display());
        // The time is read before the entries. If the index is replaced in between, the time is too
        // early, and more files count as possibly changed, which is safe.
        let written_ns = match file.symlink_metadata() {
            Ok(meta) => meta.mtime().saturating_mul(1_000_000_000) + meta.mtime_nsec(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error).or_cannot(what),
        };
        let index = git.index().or_cannot(what)?;
        let mut entries: Vec<_> = index.iter().collect();
        entries.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(Self { entries, written_ns })
    }

    /// Returns the index entry of `path`.
    pub(super) fn get(&self, path: &[u8]) -> Option<&IndexEntry> {
        let place = self.entries.binary_search_by(|entry| entry.path.as_slice().cmp(path)).ok()?;
        self.entries.get(place)
    }

    /// Returns whether anything below `folder` is tracked.
    pub(super) fn has_below(&self, folder: &[u8]) -> bool {
        let prefix = [folder, b"/"].concat();
        let place = self.entries.partition_point(|entry| entry.path < prefix);
        self.entries.get(place).is_some_and(|entry| entry.path.starts_with(&prefix))
    }

    /// Returns whether `path` is a submodule.
    pub(super) fn is_submodule(&self, path: &[u8]) -> bool {
        self.get(path).is_some_and(|entry| entry.mode == GITLINK)
    }

    /// Returns whether a file with this stat certainly has the bytes of its entry's blob. The flags
    /// `assume-unchanged` and `skip-worktree` are ignored, because they hide edits.
    pub(super) fn is_clean(&self, entry: &IndexEntry, stat: &Stat) -> bool {
        let kind = Mode::from_git(entry.mode);
        let same_kind = (stat.kind() == Some(Mode::Link)) == (kind == Some(Mode::Link));
        let mtime_ns = nanoseconds(entry.mtime);
        same_kind
            && kind.is_some()
            && stat.size != 0
            && u64::from(entry.file_size) == stat.size
            && mtime_ns == stat.mtime_ns
            && nanoseconds(entry.ctime) == stat.ctime_ns
            && u64::from(entry.ino) == stat.ino & 0xffff_ffff
            && mtime_ns < self.written_ns
    }
}

fn nanoseconds(time: IndexTime) -> i64 {
    i64::from(time.seconds()) * 1_000_000_000 + i64::from(time.nanoseconds())
}
