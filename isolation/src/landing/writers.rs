//! Programs that have a file open for writing while a landing replaces it. A version that was
//! replaced is dropped only when nobody can write to it any more, and its bytes are known.

use std::fs::File;
use std::thread;
use std::time::{Duration, Instant};

use protocol::RepoPath;
use rustix::fs::{Mode as Permissions, OFlags, openat};
use rustix::io::Errno;

use crate::entry::Mode;
use crate::error::{OrCannot, Result};
use crate::landing::close::Close;
use crate::landing::lease::{Denied, Lease};
use crate::landing::roll::{Roll, Seen};
use crate::landing::step::{Step, Way};

/// How long one landing waits for programs to finish writing, in all.
pub(super) const LONGEST_WAIT: Duration = Duration::from_millis(400);

/// How long a landing sleeps between two looks at files that are being written.
const PAUSE: Duration = Duration::from_millis(5);

/// How long after the first look files are compared again that no lease can be had on.
const SECOND_LOOK: Duration = Duration::from_millis(50);

impl Close<'_> {
    /// Looks again and again until nothing is in the way, for half of what is left of the time for
    /// waiting at most, so that each wait leaves something to the next one.
    pub(super) fn wait_until(&self, mut is_free: impl FnMut() -> Result<bool>) -> Result<()> {
        let (began, most) = (Instant::now(), self.left_to_wait.get() / 2);
        while !is_free()? {
            self.faults.strike("landing.wait").or_cannot(|| "wait for a program that writes")?;
            if began.elapsed() >= most {
                break;
            }
            thread::sleep(PAUSE);
        }
        self.left_to_wait.set(self.left_to_wait.get().saturating_sub(began.elapsed().min(most)));
        Ok(())
    }
}

/// Who may be writing to a file.
#[derive(Debug)]
pub(super) enum Access {
    /// Nobody, as long as the lease is held unbroken.
    Leased(Lease),
    /// A program.
    Written,
    /// That cannot be found out.
    Unknown(String),
    /// Nobody: it is not there, or not a file.
    NoFile,
}

/// What became of a version that was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// It is as it was, and nobody writes to it.
    Settled,
    /// It is as it was. Whether a program writes to it cannot be found out.
    Unwatched,
    /// Somebody has changed it.
    Edited,
    /// A program has it open for writing.
    Written,
}

impl Roll<'_> {
    /// Finds out whether a program has the file at `path` open for writing.
    pub(super) fn access(&self, path: &RepoPath) -> Result<Access> {
        if self.close.faults.is_off("leases") {
            return Ok(Access::Unknown("a fault was planned here".to_owned()));
        }
        let Some(spot) = self.moves.spot(path)? else { return Ok(Access::NoFile) };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&spot.folder, &spot.name, flags, Permissions::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(Access::NoFile),
            Err(Errno::ACCESS) => return Ok(Access::Unknown(Errno::ACCESS.to_string())),
            // A program holds a lease of its own, to write.
            Err(Errno::AGAIN) => return Ok(Access::Written),
            Err(error) => return Err(error).or_cannot(|| format!("open {path}")),
        };
        if !file.metadata().or_cannot(|| format!("look at {path}"))?.is_file() {
            return Ok(Access::NoFile);
        }
        Ok(match Lease::take(file) {
            Ok(lease) => Access::Leased(lease),
            Err(Denied::Writer) => Access::Written,
            Err(Denied::Unavailable(error)) => Access::Unknown(error.to_string()),
        })
    }

    /// Returns the paths among the targets of `steps` that a program has open for writing, after
    /// it was given some time to close them.
    pub(super) fn targets_being_written(&self, steps: &[Step]) -> Result<Vec<RepoPath>> {
        let is_written = |path: &RepoPath| Ok(matches!(self.access(path)?, Access::Written));
        let mut written = Vec::new();
        for step in steps.iter().filter(|step| replaces_a_file(step)) {
            if is_written(&step.path)? {
                written.push(step.path.clone());
            }
        }
        self.close.wait_until(|| {
            written = keep_if(std::mem::take(&mut written), is_written)?;
            Ok(written.is_empty())
        })?;
        Ok(written)
    }

    /// Looks once more at every version that `steps` have replaced. One that somebody has changed,
    /// or that a program still has open for writing after some time, goes back to its path.
    ///
    /// Returns the steps whose versions went back.
    pub(super) fn give_back_edited<'s>(
        &self,
        steps: impl Iterator<Item = &'s Step>,
    ) -> Result<Vec<&'s Step>> {
        let (mut edited, mut written, mut unwatched) = (Vec::new(), Vec::new(), Vec::new());
        if self.close.faults.is_off("F277") {
            return Ok(edited);
        }
        for step in steps.filter(|step| step.way == Way::Exchange && step.expected.is_some()) {
            match self.replaced(step)? {
                Version::Settled => {}
                Version::Unwatched => unwatched.push(step),
                Version::Edited => {
                    self.give_back(step)?;
                    edited.push(step);
                }
                Version::Written => written.push(step),
            }
        }
        self.close.wait_until(|| {
            written = keep_if(std::mem::take(&mut written), |step| {
                let version = self.replaced(step)?;
                if version == Version::Edited {
                    self.give_back(step)?;
                    edited.push(*step);
                }
                Ok(version == Version::Written)
            })?;
            Ok(written.is_empty())
        })?;
        if !unwatched.is_empty() {
            self.close.faults.strike("landing.compare").or_cannot(|| "compare files")?;
            thread::sleep(SECOND_LOOK);
            written.extend(keep_if(unwatched, |step| Ok(self.replaced(step)? == Version::Edited))?);
        }
        for step in &written {
            self.give_back(step)?;
        }
        edited.extend(written);
        Ok(edited)
    }

    fn replaced(&self, step: &Step) -> Result<Version> {
        let access = self.access(&step.temp)?;
        if let Access::Written = access {
            return Ok(Version::Written);
        }
        let seen = self.see(&step.temp)?;
        if seen != Seen::Missing && !seen.is(step.expected) && !seen.is(step.new) {
            return Ok(Version::Edited);
        }
        Ok(match access {
            Access::Leased(lease) if lease.is_unbroken() => Version::Settled,
            Access::Leased(_) | Access::Written => Version::Written,
            Access::NoFile => Version::Settled,
            Access::Unknown(why) => {
                self.close.tell_unwatched(&step.path, &why);
                Version::Unwatched
            }
        })
    }
}

/// Whether `step` writes to, or puts something in the place of, a regular file.
fn replaces_a_file(step: &Step) -> bool {
    matches!(step.expected, Some(entry) if entry.mode != Mode::Link)
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
