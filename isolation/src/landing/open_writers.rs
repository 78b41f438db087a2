//! Detects programs that have a file open for writing while a landing replaces it. A replaced
//! version is removed only once no program can write to it any more and its content is known.

use std::fs::File;
use std::thread;
use std::time::{Duration, Instant};

use engine::failpoint;
use protocol::RepoPath;
use rustix::fs::{Mode as Permissions, OFlags, openat};
use rustix::io::Errno;

use crate::error::{OrCannot, Result};
use crate::file_entry::Mode;
use crate::landing::apply::{Applier, PathState};
use crate::landing::file_mover::{FileMover, Swap};
use crate::landing::finish::LandingContext;
use crate::landing::lease::{Denied, Lease};
use crate::landing::many::for_each;
use crate::landing::plan::{FileChange, WriteMethod};

/// The total time for which one landing waits until programs have finished writing.
pub(super) const LONGEST_WAIT: Duration = Duration::from_millis(400);

/// The pause between two checks of files that are being written.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The time after which a file is compared again if it cannot be determined whether a program has
/// it open for writing.
const SECOND_LOOK: Duration = Duration::from_millis(50);

impl LandingContext<'_> {
    /// Polls until `is_free`, for at most half of the remaining time for waiting, so that each wait
    /// leaves some time to the next.
    pub(super) fn wait_until(&self, mut is_free: impl FnMut() -> Result<bool>) -> Result<()> {
        let (began, most) = (Instant::now(), self.left_to_wait.get() / 2);
        while !is_free()? {
            failpoint!(self.faults, "landing.pause")
                .or_cannot(|| "wait for a program that writes")?;
            if began.elapsed() >= most {
                break;
            }
            thread::sleep(POLL_INTERVAL);
        }
        self.left_to_wait.set(self.left_to_wait.get().saturating_sub(began.elapsed().min(most)));
        Ok(())
    }
}

/// Whether a program has a file open for writing.
#[derive(Debug)]
pub(super) enum WriteAccess {
    /// No program has the file open for writing, as long as the lease (`fcntl(2)`) is unbroken.
    Leased(Lease),
    /// A program has the file open for writing.
    OpenForWriting,
    /// It cannot be determined, for this reason.
    Unknown(String),
    /// The path is missing or not a regular file.
    NoFile,
}

/// The state of a replaced version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplacedState {
    /// It is unchanged, and no program writes to it.
    Settled,
    /// It is unchanged. Whether a program writes to it cannot be determined.
    OpenFilesUnknown,
    /// It was changed after it was replaced.
    Edited,
    /// A program has it open for writing.
    OpenForWriting,
}

impl FileMover<'_> {
    /// Returns whether a program has the file at `path` open for writing.
    pub(super) fn access(&self, path: &RepoPath) -> Result<WriteAccess> {
        let faults = self.faults();
        if let Err(error) = failpoint!(faults, "landing.lease") {
            return Ok(WriteAccess::Unknown(error.to_string()));
        }
        let Some(parent) = self.parent_to_read(path)? else {
            return Ok(WriteAccess::NoFile);
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&parent.folder, &parent.name, flags, Permissions::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(WriteAccess::NoFile),
            Err(Errno::ACCESS) => return Ok(WriteAccess::Unknown(Errno::ACCESS.to_string())),
            // A program holds a write lease.
            Err(Errno::AGAIN) => return Ok(WriteAccess::OpenForWriting),
            Err(error) => return Err(error).or_cannot(|| format!("open {path}")),
        };
        Ok(match Lease::take(file) {
            Ok(lease) => WriteAccess::Leased(lease),
            Err(Denied::Writer) => WriteAccess::OpenForWriting,
            Err(Denied::NoFile) => WriteAccess::NoFile,
            Err(Denied::Unavailable(error)) => WriteAccess::Unknown(error.to_string()),
        })
    }

    /// Returns the state of the replaced version of a change, in its folder if that is open. If it cannot be determined whether a
    /// program writes to it, the reason is given.
    fn replaced(&self, change: &FileChange) -> Result<(ReplacedState, Option<String>)> {
        let access = self.access(&change.temp)?;
        if let WriteAccess::OpenForWriting = access {
            return Ok((ReplacedState::OpenForWriting, None));
        }
        let seen = self.state_with(&access, &change.temp)?;
        if seen != PathState::Missing && !seen.is(change.expected) && !seen.is(change.new) {
            return Ok((ReplacedState::Edited, None));
        }
        Ok(match access {
            WriteAccess::Leased(lease) if lease.is_unbroken() => (ReplacedState::Settled, None),
            WriteAccess::Leased(_) | WriteAccess::OpenForWriting => {
                (ReplacedState::OpenForWriting, None)
            }
            WriteAccess::NoFile => (ReplacedState::Settled, None),
            WriteAccess::Unknown(why) => (ReplacedState::OpenFilesUnknown, Some(why)),
        })
    }
}

impl Applier<'_> {
    /// Returns what `look` says of each change, with several threads if there are many.
    fn look_at<R: Send>(
        &self,
        changes: &[&FileChange],
        look: impl Fn(&FileMover<'_>, &FileChange) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let (tree, faults) = (self.context.tree, self.context.faults);
        let own = || Ok(FileMover::within(tree, Swap::Exchange, faults));
        for_each(changes, own, |mover, change| look(mover, change))
    }

    /// Returns the target paths that a program has open for writing, after giving it some time to
    /// close them.
    pub(super) fn targets_being_written(&self, changes: &[FileChange]) -> Result<Vec<RepoPath>> {
        let is_written = |mover: &FileMover<'_>, change: &FileChange| {
            // Nothing is changed here, so a folder that is open already will do.
            Ok(matches!(mover.access(&change.path)?, WriteAccess::OpenForWriting))
        };
        let replaced: Vec<_> = changes.iter().filter(|change| replaces_a_file(change)).collect();
        let looks = self.look_at(&replaced, is_written)?;
        let written = replaced.into_iter().zip(looks).filter(|(_, is_written)| *is_written);
        let mut written: Vec<&FileChange> = written.map(|(change, _)| change).collect();
        self.context.wait_until(|| {
            written = keep_if(std::mem::take(&mut written), |change| {
                self.mover.begin_change();
                is_written(&self.mover, change)
            })?;
            Ok(written.is_empty())
        })?;
        Ok(written.into_iter().map(|change| change.path.clone()).collect())
    }

    /// Checks every replaced version once more. One that was changed, or that a program still has
    /// open for writing after some time, is put back to its path.
    ///
    /// Returns the changes whose replaced versions were put back.
    pub(super) fn give_back_edited<'s>(
        &self,
        changes: impl Iterator<Item = &'s FileChange>,
    ) -> Result<Vec<&'s FileChange>> {
        let (mut edited, mut written, mut open_files_unknown) =
            (Vec::new(), Vec::new(), Vec::new());
        let is_exchanged = |change: &&FileChange| {
            change.method == WriteMethod::Exchange && change.expected.is_some()
        };
        let changes: Vec<&FileChange> = changes.filter(is_exchanged).collect();
        let looks = self.look_at(&changes, |mover, change| mover.replaced(change))?;
        for (change, state) in changes.into_iter().zip(looks) {
            match self.notified(change, state) {
                ReplacedState::Settled => {}
                ReplacedState::OpenFilesUnknown => open_files_unknown.push(change),
                ReplacedState::Edited => {
                    self.give_back(change)?;
                    edited.push(change);
                }
                ReplacedState::OpenForWriting => written.push(change),
            }
        }
        self.context.wait_until(|| {
            written = keep_if(std::mem::take(&mut written), |change| {
                let version = self.replaced(change)?;
                if version == ReplacedState::Edited {
                    self.give_back(change)?;
                    edited.push(*change);
                }
                Ok(version == ReplacedState::OpenForWriting)
            })?;
            Ok(written.is_empty())
        })?;
        if !open_files_unknown.is_empty() {
            failpoint!(self.context.faults, "landing.compare").or_cannot(|| "compare files")?;
            thread::sleep(SECOND_LOOK);
            written.extend(keep_if(open_files_unknown, |change| {
                Ok(self.replaced(change)? == ReplacedState::Edited)
            })?);
        }
        for change in &written {
            self.give_back(change)?;
        }
        edited.extend(written);
        Ok(edited)
    }

    fn replaced(&self, change: &FileChange) -> Result<ReplacedState> {
        self.mover.begin_change();
        let state = self.mover.replaced(change)?;
        Ok(self.notified(change, state))
    }

    /// Returns the state, and reports why programs that write cannot be detected.
    fn notified(
        &self,
        change: &FileChange,
        state: (ReplacedState, Option<String>),
    ) -> ReplacedState {
        if let (_, Some(why)) = &state {
            self.context.notify_unwatched(&change.path, why);
        }
        state.0
    }
}

/// Returns whether the change overwrites or replaces a regular file.
fn replaces_a_file(change: &FileChange) -> bool {
    matches!(change.expected, Some(entry) if entry.mode != Mode::Link)
}

fn keep_if<T>(items: Vec<T>, mut keep: impl FnMut(&T) -> Result<bool>) -> Result<Vec<T>> {
    let mut kept = Vec::new();
    for item in items {
        if keep(&item)? {
            kept.push(item);
        }
    }
    Ok(kept)
}
