//! A copy that no task uses, until it is restored for the next one.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use engine::failpoint;
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::copy_stats::{CopyStats, Seen};
use super::git_folder::GitFolder;
use super::lent::Lent;
use super::restore::restore;
use crate::baseline::Snapshot;
use crate::error::{OrCannot, Result};
use crate::tree::Tree;
use crate::workspace::{self, remove_entry, tree_of};

/// A copy that no task uses.
#[derive(Debug)]
pub(crate) struct PooledCopy {
    pub(super) folder: PathBuf,
    pub(super) lent: Lent,
}

/// A restored copy, except for its link to the git folder.
pub(crate) struct Restored {
    stats: CopyStats,
    git: Option<GitFolder>,
}

impl PooledCopy {
    /// Restores the copy, and returns its folder. A copy that cannot be restored is removed; then
    /// `None` is returned.
    pub(crate) fn restore(self, snapshot: &Snapshot) -> Option<(PathBuf, Restored)> {
        let folder = self.folder.clone();
        match self.try_restore(snapshot) {
            Ok(restored) => Some((folder, restored)),
            Err(error) => {
                tracing::info!(%error, "a copy is not used again");
                if let Err(error) = workspace::remove_tree(&folder) {
                    tracing::warn!(%error, "a copy stays until the next start");
                }
                None
            }
        }
    }

    fn try_restore(self, snapshot: &Snapshot) -> Result<Restored> {
        let Self { folder, mut lent } = self;
        let what = || format!("restore the copy {}", folder.display());
        failpoint!(snapshot.context.faults, "pool.restore").or_cannot(what)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let top = openat(CWD, &folder, flags, Mode::empty()).or_cannot(what)?;
        let tree = Tree::open_at(&tree_of(&folder))?;
        lent.stats.check_top(&top)?;
        let git = lent.git.take().filter(|git| git.is_untouched(&top, lent.marker_ns));
        clear_top(&folder, &top, git.as_ref()).or_cannot(what)?;
        let differences = lent.differences(snapshot, &tree)?;
        let carried = snapshot.pool.carried_files(snapshot)?;
        restore(snapshot, &tree, &mut lent.stats, &differences, carried.as_deref())?;
        // An untouched link is written to in place: then nothing about the folder changes.
        let is_linked = |git: &GitFolder| git.has_untouched_link(&tree, lent.marker_ns);
        if !git.as_ref().is_some_and(is_linked) {
            let root = tree.open(b"").or_cannot(what)?;
            remove_entry(&root, OsStr::new(".git")).or_cannot(what)?;
        }
        Ok(Restored { stats: lent.stats, git })
    }
}

/// Removes everything in the folder of a workspace but the tree itself, and a git folder that is used
/// again.
fn clear_top(folder: &Path, top: &OwnedFd, git: Option<&GitFolder>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let is_git = git.is_some_and(|git| *git.name() == name);
        if !is_git && folder.join(&name) != tree_of(folder) {
            remove_entry(top, &name)?;
        }
    }
    Ok(())
}

impl Restored {
    /// Takes the git folder of the copy if it is used again.
    pub(crate) fn take_git(&mut self) -> Option<GitFolder> {
        self.git.take()
    }

    /// Returns the stats of the copy at `tree`, now that it is linked to its git folder.
    pub(crate) fn finish(mut self, tree: &Tree) -> Result<CopyStats> {
        let what = || format!("record the copy {}", tree.root().display());
        if let Some(root) = self.stats.folders.first_mut() {
            root.stat = Seen::open(tree.fd()).or_cannot(what)?.folder_stat();
        }
        Ok(self.stats)
    }
}
