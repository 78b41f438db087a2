//! Applies one file change, also if a part of it was applied before. The same code carries out a
//! landing, rolls it back, and finishes it after a crash.

use engine::failpoint;
use protocol::{RepoPath, RunName};

use crate::error::{OrCannot, Result};
use crate::file_entry::Entry;
use crate::landing::file_mover::{FileMover, Moved, Swap, aside};
use crate::landing::finish::LandingContext;
use crate::landing::open_writers::WriteAccess;
use crate::landing::plan::{FileChange, WriteMethod};

/// Applies the changes of one landing to the working tree.
pub(super) struct Applier<'a> {
    pub(super) mover: FileMover<'a>,
    pub(super) context: &'a LandingContext<'a>,
    /// The run that lands.
    pub(super) run: &'a RunName,
    pub(super) pass: Pass,
}

/// Whether the changes are applied for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// The first pass. If a file is not as expected, the landing can still be rolled back.
    First,
    /// A later pass, which finishes a landing or rolls it back.
    Later,
}

/// The result of applying a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Applied {
    /// The path has its new version.
    Done,
    /// Another program has changed the path, and its version is kept.
    Contested,
}

/// The current state of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathState {
    Missing,
    Entry(Entry, Vec<u8>),
    /// A folder, or a special file.
    Other,
}

impl PathState {
    /// Returns whether this version is at the path; `None` means that the path is missing.
    pub(super) fn is(&self, version: Option<Entry>) -> bool {
        match (self, version) {
            (Self::Missing, None) => true,
            (Self::Entry(entry, _), Some(version)) => *entry == version,
            _ => false,
        }
    }
}

impl<'a> Applier<'a> {
    /// Returns the applier for the first pass of a landing.
    pub(super) fn first_pass(context: &'a LandingContext<'a>, run: &'a RunName) -> Self {
        let can_exchange = failpoint!(context.faults, "landing.exchange.support").is_ok();
        let swap = if can_exchange { Swap::Exchange } else { Swap::MoveAside };
        let mover = FileMover::within(context.tree, swap, context.faults);
        Self { mover, context, run, pass: Pass::First }
    }

    /// Returns the applier for finishing or rolling back a landing.
    pub(super) fn later_pass(context: &'a LandingContext<'a>, run: &'a RunName) -> Self {
        Self { pass: Pass::Later, ..Self::first_pass(context, run) }
    }

    /// Replaces the expected version of the path with the new one, if it is still as expected.
    pub(super) fn apply(&self, change: &FileChange) -> Result<Applied> {
        self.mover.begin_change();
        self.tidy_aside(change)?;
        let target = match self.as_planned(change)? {
            // Its content is looked at when it is replaced, whatever it is.
            Some(expected) => PathState::Entry(expected, Vec::new()),
            None => self.state_of(&change.path)?,
        };
        if change.method == WriteMethod::InPlace {
            return self.write_over(change, &target);
        }
        // A file that the landing replaces by a folder counts as removed if the folder exists.
        let gave_room = target == PathState::Other && change.new.is_none();
        if target.is(change.new) || gave_room {
            return self.confirm(change);
        }
        // If a folder is to become a file, its files have been moved away before.
        let makes_room = target == PathState::Other && change.expected.is_none();
        if !target.is(change.expected) && !makes_room {
            return Ok(Applied::Contested);
        }
        match (change.expected, change.new) {
            (Some(_), Some(new)) => self.replace(change, new),
            (None, Some(new)) => self.create(change, new),
            (Some(_), None) => self.move_away(change),
            (None, None) => Ok(Applied::Done),
        }
    }

    /// Returns the current state of `path`.
    pub(super) fn state_of(&self, path: &RepoPath) -> Result<PathState> {
        self.mover.state_of(path)
    }

    /// Makes sure that the new version is staged durably.
    fn ensure_staged(&self, change: &FileChange, new: Entry) -> Result<()> {
        if self.is_as_staged(change)? || self.state_of(&change.temp)?.is(Some(new)) {
            return Ok(());
        }
        self.stage(change, new)?;
        self.mover.sync(&change.temp)
    }

    /// Stages the new version beside its target. It is durable once it is synced.
    pub(super) fn stage(&self, change: &FileChange, new: Entry) -> Result<()> {
        self.mover.begin_change();
        let bytes = self.context.store.read(new.oid)?;
        let mut written = self.mover.write_fresh(change, new, &bytes)?;
        if written.is_none() {
            let _not_watched = self.drop_version(change, &change.temp)?;
            written = self.mover.write_fresh(change, new, &bytes)?;
        }
        let what = || format!("write {}", change.temp);
        let stat = written.ok_or("another file is there").or_cannot(what)?;
        self.remember_staged(change, stat);
        Ok(())
    }

    /// Handles a path that has its new version already. Returns `Done`, unless the replaced version
    /// is not the expected one: then another program had saved it, and the landing crashed before
    /// it could check that. This version is put back.
    fn confirm(&self, change: &FileChange) -> Result<Applied> {
        match self.state_of(&change.temp)? {
            PathState::Missing => Ok(Applied::Done),
            staged if staged.is(change.expected) || staged.is(change.new) => Ok(Applied::Done),
            _ if change.expected.is_none() => Ok(Applied::Done),
            _ => self.give_back(change),
        }
    }

    fn replace(&self, change: &FileChange, new: Entry) -> Result<Applied> {
        self.ensure_staged(change, new)?;
        self.failpoint()?;
        if self.exchange(change)? == Moved::No {
            return Ok(Applied::Contested);
        }
        self.check_replaced(change)
    }

    /// Exchanges the staged file with that at the path. Reports if that takes more than one step.
    fn exchange(&self, change: &FileChange) -> Result<Moved> {
        let moved = self.mover.exchange(&change.temp, &change.path)?;
        if self.mover.swap() == Swap::MoveAside {
            self.context.notify_no_exchange(&change.path);
        }
        Ok(moved)
    }

    fn create(&self, change: &FileChange, new: Entry) -> Result<Applied> {
        self.ensure_staged(change, new)?;
        self.failpoint()?;
        if self.state_of(&change.path)? == PathState::Other
            && self.mover.remove_folders(&change.path)? == Moved::No
        {
            return Ok(Applied::Contested);
        }
        self.mover.make_folders(&change.path)?;
        match self.mover.shift(&change.temp, &change.path)? {
            Moved::Yes => Ok(Applied::Done),
            Moved::No => Ok(Applied::Contested),
        }
    }

    fn move_away(&self, change: &FileChange) -> Result<Applied> {
        let _not_watched = self.drop_version(change, &change.temp)?;
        self.failpoint()?;
        if self.mover.shift(&change.path, &change.temp)? == Moved::No {
            return Ok(Applied::Contested);
        }
        self.check_replaced(change)
    }

    fn check_replaced(&self, change: &FileChange) -> Result<Applied> {
        let is_expected =
            self.was_as_planned(change)? || self.state_of(&change.temp)?.is(change.expected);
        if is_expected {
            return Ok(Applied::Done);
        }
        self.give_back(change)
    }

    /// Puts a version that another program has saved back to its path.
    pub(super) fn give_back(&self, change: &FileChange) -> Result<Applied> {
        match change.new {
            None => {
                // If another file was created at the path in the meantime, it is not overwritten.
                self.mover.shift(&change.temp, &change.path)?;
            }
            Some(_) => {
                let save = self.state_of(&change.temp)?;
                self.exchange(change)?;
                // The program may have saved again, over the new version. The exchange has then
                // moved the later save to the staging path, and it is moved back.
                let staged = self.state_of(&change.temp)?;
                if !staged.is(change.new) && staged != PathState::Missing {
                    self.exchange(change)?;
                } else {
                    self.remember_given_back(change, save)?;
                }
            }
        }
        Ok(Applied::Contested)
    }

    /// Called before a change is rolled back. If another program has changed the replaced file
    /// since, puts back that file itself and not a copy from the task store, because the program
    /// may have it open and write to it again.
    pub(super) fn put_back(&self, change: &FileChange) -> Result<Applied> {
        self.mover.begin_change();
        if change.method == WriteMethod::InPlace || change.expected.is_none() {
            return Ok(Applied::Done);
        }
        let staged = self.state_of(&change.temp)?;
        let is_edit = matches!(staged, PathState::Entry(..))
            && !staged.is(change.expected)
            && !staged.is(change.new);
        if is_edit && self.state_of(&change.path)?.is(change.new) {
            return self.give_back(change);
        }
        Ok(Applied::Done)
    }

    /// Overwrites a file that has other hard links, if its content is as expected or partly written
    /// by a landing.
    fn write_over(&self, change: &FileChange, target: &PathState) -> Result<Applied> {
        let (Some(old), Some(new), PathState::Entry(now, bytes)) =
            (change.expected, change.new, target)
        else {
            return Ok(Applied::Contested);
        };
        if *now == new {
            return Ok(Applied::Done);
        }
        let (before, after) =
            (self.context.store.read(old.oid)?, self.context.store.read(new.oid)?);
        if *now != old
            && !is_partial_write(bytes, &before, &after)
            && !is_partial_write(bytes, &after, &before)
        {
            return Ok(Applied::Contested);
        }
        self.failpoint()?;
        // In a later pass this must not stop the landing, since the file may be partly written.
        if self.pass == Pass::First
            && matches!(self.mover.access(&change.path)?, WriteAccess::OpenForWriting)
        {
            return Ok(Applied::Contested);
        }
        Ok(match self.mover.write_over(&change.path, new, bytes, &after)? {
            Moved::Yes => Applied::Done,
            Moved::No => Applied::Contested,
        })
    }

    /// Finishes an exchange that was interrupted while the old version was moved aside.
    fn tidy_aside(&self, change: &FileChange) -> Result<()> {
        if self.pass == Pass::First {
            return Ok(());
        }
        let aside = aside(&change.temp);
        let PathState::Entry(..) = self.state_of(&aside)? else { return Ok(()) };
        if self.mover.shift(&aside, &change.path)? == Moved::Yes
            || self.mover.shift(&aside, &change.temp)? == Moved::Yes
        {
            return Ok(());
        }
        let _not_watched = self.drop_version(change, &aside)?;
        Ok(())
    }

    fn failpoint(&self) -> Result<()> {
        let reached = match self.pass {
            Pass::First => failpoint!(self.context.faults, "landing.exchange"),
            Pass::Later => failpoint!(self.context.faults, "landing.roll"),
        };
        reached.or_cannot(|| "change a file of the working tree")
    }
}

/// Returns whether `bytes` are `before` overwritten in part by `after`, from the beginning: the
/// content after an interrupted overwrite.
fn is_partial_write(bytes: &[u8], before: &[u8], after: &[u8]) -> bool {
    let same = bytes.iter().zip(after).take_while(|(left, right)| left == right).count();
    let rest = before.get(same..).unwrap_or_default();
    // If the content is complete, only the permissions may not have been set yet.
    bytes[same..] == *rest || bytes == after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_written_over_in_part_is_told_from_an_edit() {
        let (before, after) = (b"old old old".as_slice(), b"newer".as_slice());
        for written in 0..=after.len() {
            let half = [&after[..written], &before[written..]].concat();
            assert!(is_partial_write(&half, before, after), "{written}");
        }
        let (before, after) = (b"old".as_slice(), b"newer and longer".as_slice());
        assert!(is_partial_write(b"newer an", before, after));
        assert!(!is_partial_write(b"newer xx", before, after));
        assert!(!is_partial_write(b"old edited", before, after));
        assert!(!is_partial_write(b"n", before, after));
    }
}
