//! Converts the work of tasks to the blobs that git would commit, with the clean filters of
//! libgit2. A path that needs a filter program is a conflict.

use git2::{Oid, Repository};
use protocol::{Conflict, ConflictReason, RepoPath};

use crate::baseline::{Conversion, conversion};
use crate::branch::commit_tree::RepoBlobs;
use crate::branch::conversions::{committed_bytes, committed_text};
use crate::encoding::is_git_text;
use crate::error::{OrCannot, Result};
use crate::file_entry::{Change, Entry, Mode};
use crate::merge::{Blobs as _, EntryState, MergeTarget as _};
use crate::repository::Repo;
use crate::store::TaskStore;

/// Converts bytes of the working tree to blobs of a commit.
pub(super) struct Cleaner<'a> {
    pub(super) repo: &'a Repo,
    pub(super) git: &'a Repository,
    pub(super) store: &'a TaskStore,
    pub(super) head: crate::branch::commit_tree::CommitTree<'a>,
}

/// The changes of a task as git would commit them.
pub(super) struct Cleaned {
    /// The changes with the blobs that git would commit.
    pub(super) changes: Vec<Change>,
    /// A conflict for each path that cannot be committed.
    pub(super) conflicts: Vec<Conflict>,
}

impl Cleaner<'_> {
    /// Returns the changes as git would commit them.
    pub(super) fn clean(&self, changes: &[Change]) -> Result<Cleaned> {
        let (mut clean, mut conflicts) = (Vec::with_capacity(changes.len()), Vec::new());
        for change in changes {
            match self.clean_one(change)? {
                Ok(change) => clean.push(change),
                Err(reason) => conflicts.push(Conflict {
                    path: change.path.clone(),
                    reason,
                    base: change.base.map(Entry::to_side),
                    ours: self.committed(&change.path)?.map(Entry::to_side),
                    theirs: change.task.map(Entry::to_side),
                    with: None,
                    renamed: None,
                }),
            }
        }
        Ok(Cleaned { changes: clean, conflicts })
    }

    /// Returns the blob that git would commit for bytes of the working tree; `None` if a program would
    /// have to make it.
    pub(super) fn clean_bytes(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Oid>> {
        let found = conversion(self.git, path);
        match found.or_cannot(|| format!("read the attributes of {path}"))? {
            Conversion::Program(_) | Conversion::OtherEncoding(_) => Ok(None),
            Conversion::None => RepoBlobs(self.git).write(bytes).map(Some),
            // A tool may have written the file in its encoding.
            Conversion::Encoding(_) if is_git_text(bytes) => {
                committed_text(self.git, path, bytes).map(Some)
            }
            Conversion::Encoding(encoding) if encoding.decode(bytes).is_none() => Ok(None),
            Conversion::BuiltIn | Conversion::Encoding(_) => {
                committed_bytes(self.git, path, Mode::File, bytes).map(Some)
            }
        }
    }

    /// Returns a change as git would commit it, or why it cannot be.
    fn clean_one(&self, change: &Change) -> Result<std::result::Result<Change, ConflictReason>> {
        let path = &change.path;
        let found = conversion(self.git, path);
        let conversion = found.or_cannot(|| format!("read the attributes of {path}"))?;
        for entry in [change.base, change.task].into_iter().flatten() {
            if entry.mode != Mode::Link && !self.can_convert(&conversion, entry)? {
                return Ok(self.without_program(change)?.ok_or_else(|| conversion.failure()));
            }
        }
        let entry = |entry: Option<Entry>| {
            entry.map(|entry| self.through(&conversion, path, entry)).transpose()
        };
        let (base, task) = (entry(change.base)?, entry(change.task)?);
        Ok(Ok(Change { base, task, ..change.clone() }))
    }

    /// Returns whether the blob that git would commit for a file can be made here.
    fn can_convert(&self, conversion: &Conversion, entry: Entry) -> Result<bool> {
        Ok(match conversion {
            Conversion::None | Conversion::BuiltIn => true,
            Conversion::Encoding(encoding) => {
                encoding.decode(&self.store.read(entry.oid)?).is_some()
            }
            Conversion::OtherEncoding(_) | Conversion::Program(_) => false,
        })
    }

    /// Converts a change without running the filter program. Returns `None` unless the task left
    /// the content as it was or removed the path: only then is git's blob for it known.
    fn without_program(&self, change: &Change) -> Result<Option<Change>> {
        let Some(head) = self.head_entry(&change.path)? else { return Ok(None) };
        let task = match (change.base, change.task) {
            (Some(_), None) => None,
            (Some(base), Some(task)) if base.oid == task.oid => {
                Some(Entry { mode: task.mode, ..head })
            }
            _ => return Ok(None),
        };
        Ok(Some(Change { base: Some(head), task, ..change.clone() }))
    }

    fn through(&self, conversion: &Conversion, path: &RepoPath, entry: Entry) -> Result<Entry> {
        let bytes = self.store.read(entry.oid)?;
        if entry.mode == Mode::Link || *conversion == Conversion::None {
            return Ok(Entry { oid: RepoBlobs(self.git).write(&bytes)?, ..entry });
        }
        Ok(Entry { oid: committed_bytes(self.git, path, entry.mode, &bytes)?, ..entry })
    }

    /// Returns the entry at `path` in the commit that the branches start from.
    pub(super) fn head_entry(&self, path: &RepoPath) -> Result<Option<Entry>> {
        self.head.state_of(path).map(EntryState::entry)
    }

    /// Returns the entry of [`Self::head_entry`], and writes its bytes to the task store for the
    /// report of a conflict.
    pub(super) fn committed(&self, path: &RepoPath) -> Result<Option<Entry>> {
        let entry = self.head_entry(path)?;
        if let Some(entry) = entry {
            self.store.write(&RepoBlobs(self.git).read(entry.oid)?)?;
        }
        Ok(entry)
    }
}
