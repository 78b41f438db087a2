//! Tells what a failure of the machine has done to a workspace from the work of its task.
//!
//! A copy is never synced, because it can be made again. After a power cut, files of it may be empty,
//! cut short or full of zeros, and on a file system without a journal they may be missing. Captured,
//! this would be work that deletes content.
//!
//! Whatever the task did has a change time (ctime) after that of the marker, which cannot be set. So
//! a file that is older and has lost content is damaged, and a missing file is lost if its folder is
//! older. Only the rename of a folder brings older files to a path: it gives the folder a new ctime,
//! and takes files of this size and modification time away from where the snapshot has them. A doubt
//! keeps the workspace: it costs a look, where a wrong capture could cost content.
//!
//! An older file of the right size and modification time counts as unchanged and is never read, so
//! zeros in one are not work, either.

use protocol::RepoPath;
use rustix::fs::fstat;

use crate::baseline::{ContentReader, Snapshot};
use crate::capture::compare::read_with_stat;
use crate::capture::walk::{Candidate, Original};
use crate::error::{OrCannot, Result, cannot};
use crate::tree::{Stat, Tree};
use crate::workspace::Manifest;

/// How many damaged paths an error names.
const NAMED: usize = 3;

/// Looks for damage in the workspace of a dead engine.
pub(super) struct DamageCheck<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) manifest: &'a Manifest,
    pub(super) tree: &'a Tree,
    pub(super) bytes: &'a ContentReader,
}

impl DamageCheck<'_> {
    /// Returns whether a candidate that differs from its original is damaged, and not the work of the
    /// task.
    pub(super) fn is_damaged(&self, candidate: &Candidate<'_>) -> Result<bool> {
        let Some(original) = candidate.original else { return Ok(false) };
        let path = &candidate.path;
        let Some(now) = candidate.now else { return self.is_lost(path) };
        if !self.is_older(now) || !self.has_lost_content(path, original)? {
            return Ok(false);
        }
        Ok(!self.is_renamed_here(path, now)?)
    }

    fn is_older(&self, stat: Stat) -> bool {
        stat.ctime_ns < self.manifest.marker_ns
    }

    /// Returns whether a file is shorter than its original or all zeros.
    fn has_lost_content(&self, path: &RepoPath, original: Original<'_>) -> Result<bool> {
        let size = match original {
            Original::Snapshot(frozen) => frozen.stat.size,
            Original::Setup(left) => left.stat.size,
            Original::Predecessor(entry) => self.bytes.store.read(entry.oid)?.len() as u64,
        };
        let Some((_, now, _)) = read_with_stat(self.tree, path)? else { return Ok(false) };
        Ok((now.len() as u64) < size || now.iter().all(|byte| *byte == 0))
    }

    /// Returns whether an older file may be another one of the snapshot, which the task has brought
    /// here with its folder: one like it is no longer where it was.
    fn is_renamed_here(&self, path: &RepoPath, now: Stat) -> Result<bool> {
        if !self.is_any_folder_newer(path)? {
            return Ok(false);
        }
        let is_like = |stat: &Stat| (stat.size, stat.mtime_ns) == (now.size, now.mtime_ns);
        Ok(self.snapshot.table.folders.iter().any(|(folder, found)| {
            found.files.iter().filter(|(_, frozen)| is_like(&frozen.stat)).any(|(name, _)| {
                let there = self.tree.stat_below(folder, name).ok().flatten();
                !there.is_some_and(|there| is_like(&there))
            })
        }))
    }

    /// Returns whether a missing path was there when the task began and was never removed.
    fn is_lost(&self, path: &RepoPath) -> Result<bool> {
        let mut nearest = None;
        for folder in path.folders() {
            nearest = self.folder(folder.as_bytes())?;
            if nearest.is_some() {
                break;
            }
        }
        let nearest = match nearest {
            Some(nearest) => Some(nearest),
            None => self.folder(b"")?,
        };
        let untouched = nearest.is_some_and(|folder| self.is_older(folder));
        Ok(untouched && !self.is_any_folder_newer(path)?)
    }

    /// Returns whether a folder above the path, other than the root, has changed since the task began.
    fn is_any_folder_newer(&self, path: &RepoPath) -> Result<bool> {
        for folder in path.folders() {
            let folder = self.folder(folder.as_bytes())?;
            if folder.is_some_and(|folder| !self.is_older(folder)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the stat of a folder; `None` if there is none.
    fn folder(&self, path: &[u8]) -> Result<Option<Stat>> {
        let Ok(folder) = self.tree.open(path) else { return Ok(None) };
        let stat = fstat(folder).or_cannot(|| "look at a folder of a workspace")?;
        Ok(Some(Stat::of(&stat)))
    }
}

/// Fails if there is damage.
pub(super) fn refuse(tree: &Tree, damaged: &[RepoPath]) -> Result<()> {
    if damaged.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = damaged.iter().take(NAMED).map(ToString::to_string).collect();
    let more = damaged.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let because = format!(
        "{}{more}: content is lost that the task has not touched, as after a power cut; look at what \
         else is there, and run the task again",
        named.join(", ")
    );
    Err(cannot(format!("capture {}", tree.root().display()), because))
}
