//! What a task made git track although it is ignored: `git add -f` in the workspace counts.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use git2::Index;
use protocol::RepoPath;

use crate::baseline::Frozen;
use crate::workspace::GitSeed;

/// The paths in a workspace's own index that were not in the frozen tree.
#[derive(Debug, Default)]
pub(super) struct Forced {
    paths: BTreeSet<Vec<u8>>,
}

impl Forced {
    /// Reads the index of the workspace at `folder`. One that the task damaged forces nothing.
    pub(super) fn of(frozen: &Frozen, folder: &Path) -> Self {
        let index = folder.join("git/index");
        let seed = GitSeed::of_run(&frozen.folder).index();
        if stamp(&index).is_none() || stamp(&index) == stamp(&seed) {
            return Self::default();
        }
        let read = match Index::open(&index) {
            Ok(read) => read,
            Err(error) => {
                tracing::warn!(%error, "the index of a workspace cannot be read");
                return Self::default();
            }
        };
        let added = read.iter().filter(|entry| {
            RepoPath::new(entry.path.as_slice())
                .is_some_and(|path| frozen.table.get(&path).is_none())
        });
        Self { paths: added.map(|entry| entry.path).collect() }
    }

    /// Returns whether `path` is tracked.
    pub(super) fn has(&self, path: &[u8]) -> bool {
        self.paths.contains(path)
    }

    /// Returns whether anything below `folder` is tracked.
    pub(super) fn has_below(&self, folder: &[u8]) -> bool {
        let prefix = [folder, b"/"].concat();
        let next = self.paths.range(prefix.clone()..).next();
        next.is_some_and(|path| path.starts_with(&prefix))
    }
}

/// What tells that an index was not written since it was copied; none if it is no file.
fn stamp(index: &Path) -> Option<(u64, i64, i64)> {
    let meta = fs::symlink_metadata(index).ok().filter(fs::Metadata::is_file)?;
    Some((meta.len(), meta.mtime(), meta.mtime_nsec()))
}
