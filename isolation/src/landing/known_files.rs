//! What a landing knows of files from their stats, so that it does not read them once more. That a
//! file is as it was planned, or staged, only says that it is worth going on: in the end the content
//! of every replaced version is looked at, while no program has it open for writing.

use git2::Oid;
use protocol::RepoPath;

use crate::error::{OrCannot, Result};
use crate::file_entry::{Entry, Mode};
use crate::landing::apply::{Applier, Pass, PathState};
use crate::landing::file_mover::FileMover;
use crate::landing::open_writers::WriteAccess;
use crate::landing::plan::{FileChange, WriteMethod};
use crate::store::blob_id;
use crate::tree::{Stat, TreeEntry};

impl Applier<'_> {
    /// Returns the expected version if the file at the path has the stat that it had when the landing
    /// was planned. A later pass, which has no such stat, reads the file.
    pub(super) fn as_planned(&self, change: &FileChange) -> Result<Option<Entry>> {
        let Some(planned) = self.planned(change) else { return Ok(None) };
        let is_same = self.mover.stat(&change.path)? == Some(planned);
        Ok(change.expected.filter(|_| is_same))
    }

    /// Returns whether the version that was replaced is the one with that stat. The exchange itself
    /// changes the time of the last status change.
    pub(super) fn was_as_planned(&self, change: &FileChange) -> Result<bool> {
        let Some(planned) = self.planned(change) else { return Ok(false) };
        let now = self.mover.stat(&change.temp)?;
        Ok(now.is_some_and(|now| Stat { ctime_ns: planned.ctime_ns, ..now } == planned))
    }

    /// Returns whether the staged file is as this landing has left it.
    pub(super) fn is_as_staged(&self, change: &FileChange) -> Result<bool> {
        let staged = self.context.staged.borrow().get(&change.temp).copied();
        let Some(staged) = staged.filter(|_| self.pass == Pass::First) else { return Ok(false) };
        Ok(self.mover.stat(&change.temp)? == Some(staged))
    }

    /// Remembers the stat of a file that this landing has staged.
    pub(super) fn remember_staged(&self, change: &FileChange, stat: Stat) {
        self.context.staged.borrow_mut().insert(change.temp.clone(), stat);
    }

    fn planned(&self, change: &FileChange) -> Option<Stat> {
        let is_checked_later = self.pass == Pass::First && change.method == WriteMethod::Exchange;
        change.seen.filter(|_| is_checked_later)
    }
}

impl FileMover<'_> {
    /// Returns the current state of `path`.
    pub(super) fn state_of(&self, path: &RepoPath) -> Result<PathState> {
        let entry = |mode, bytes: Vec<u8>| {
            Ok(PathState::Entry(Entry { mode, oid: id(path, &bytes)? }, bytes))
        };
        match self.read_entry(path)? {
            TreeEntry::Missing | TreeEntry::Blocked(_) => Ok(PathState::Missing),
            TreeEntry::File { mode, bytes, .. } => entry(mode, bytes),
            TreeEntry::Link { target, .. } => entry(Mode::Link, target),
            TreeEntry::Folder | TreeEntry::Special => Ok(PathState::Other),
        }
    }

    /// Returns the current state of a path at which a program may write.
    pub(super) fn state_with(&self, access: &WriteAccess, path: &RepoPath) -> Result<PathState> {
        if let WriteAccess::Leased(lease) = access
            && let Some((mode, bytes)) = self.read_open(path, lease.file())?
        {
            return Ok(PathState::Entry(Entry { mode, oid: id(path, &bytes)? }, bytes));
        }
        self.state_of(path)
    }
}

fn id(path: &RepoPath, bytes: &[u8]) -> Result<Oid> {
    blob_id(bytes).or_cannot(|| format!("hash {path}"))
}
