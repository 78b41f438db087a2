//! What git tracks in a workspace although it is ignored: `git add -f` in the workspace counts, and
//! so does what the user tracks and had removed when the run began.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use git2::Index;
use protocol::RepoPath;

use crate::baseline::Snapshot;

/// The paths in a workspace's own index that were not in the frozen tree. They are read when the
/// first of them is asked for: in a workspace without anything ignored, nobody asks.
pub(super) struct ForceAdded<'a> {
    snapshot: &'a Snapshot,
    index: PathBuf,
    paths: OnceCell<BTreeSet<Vec<u8>>>,
}

impl<'a> ForceAdded<'a> {
    /// Returns those of the workspace at `folder`. An index that the task damaged forces nothing.
    pub(super) fn of(snapshot: &'a Snapshot, folder: &Path) -> Self {
        Self { snapshot, index: folder.join("git/index"), paths: OnceCell::new() }
    }

    /// Returns whether `path` is tracked.
    pub(super) fn has(&self, path: &[u8]) -> bool {
        self.paths().contains(path)
    }

    /// Returns whether anything below `folder` is tracked.
    pub(super) fn has_below(&self, folder: &[u8]) -> bool {
        let prefix = [folder, b"/"].concat();
        let next = self.paths().range(prefix.clone()..).next();
        next.is_some_and(|path| path.starts_with(&prefix))
    }

    fn paths(&self) -> &BTreeSet<Vec<u8>> {
        self.paths.get_or_init(|| {
            let read = match Index::open(&self.index) {
                Ok(read) => read,
                Err(error) => {
                    tracing::warn!(%error, "the index of a workspace cannot be read");
                    return BTreeSet::new();
                }
            };
            let added = read.iter().filter(|entry| {
                RepoPath::new(entry.path.as_slice())
                    .is_some_and(|path| self.snapshot.table.get(&path).is_none())
            });
            added.map(|entry| entry.path).collect()
        })
    }
}
