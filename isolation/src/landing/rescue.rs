//! Removes the versions of files that a landing has replaced, and keeps those that turn out to be
//! somebody's work.

use std::collections::VecDeque;
use std::io::Read as _;

use engine::failpoint;
use engine::ports::LandingNotice;
use git2::{ObjectType, Oid};
use protocol::{RepoPath, Rescue, RescueLocation};

use crate::error::{OrCannot, Result};
use crate::file_entry::Entry;
use crate::landing::apply::{Applier, PathState};
use crate::landing::file_mover::Moved;
use crate::landing::lease::Lease;
use crate::landing::many::Closers;
use crate::landing::open_writers::WriteAccess;
use crate::landing::plan::FileChange;
use crate::store::Durability;

/// How many names are tried for a file that is kept in the working tree.
const NAMES: u32 = 100;

/// How many removed versions are kept open until the end of a landing.
const WATCHED: usize = 8;

/// A version that was removed while no program had it open for writing. It can still be read. A
/// program that opens it now, having looked up its name before the removal or using another hard
/// link, waits for the lease.
pub(super) struct Removed<'s> {
    change: &'s FileChange,
    /// The version.
    entry: Entry,
    lease: Lease,
}

/// A save that was moved away from its path and put back. A program that has read the path in
/// between has read the new version, and may save that over it, without what it had saved before.
pub(super) struct GivenBack {
    change: FileChange,
    /// The save, whose bytes are in the task store.
    save: Entry,
}

/// Whether a version was removed.
enum Dropped<'s> {
    Yes(Option<Removed<'s>>),
    /// A program has it open for writing.
    OpenForWriting,
}

impl Applier<'_> {
    /// Removes every replaced version. Returns the versions that were removed last, which the
    /// caller checks again at the end of the landing.
    pub(super) fn drop_versions<'s>(
        &self,
        changes: &'s [FileChange],
    ) -> Result<VecDeque<Removed<'s>>> {
        failpoint!(self.context.faults, "landing.drop").or_cannot(|| "remove replaced files")?;
        Closers::with(|closers| {
            let mut watched = VecDeque::new();
            for change in changes {
                watched.extend(self.drop_version(change, &change.temp)?);
                if watched.len() > WATCHED {
                    for lease in self.rescue_late_writes(watched.drain(..1))? {
                        closers.close(lease);
                    }
                }
            }
            Ok(watched)
        })
    }

    /// Removes the file at `at`, which is a version of the changed path. If it is neither the
    /// expected nor the new version, it is somebody's work, and its content is kept in the task
    /// store. If a program has it open for writing and does not close it, the file itself is kept.
    pub(super) fn drop_version<'s>(
        &self,
        change: &'s FileChange,
        at: &RepoPath,
    ) -> Result<Option<Removed<'s>>> {
        let mut dropped = Dropped::OpenForWriting;
        self.context.wait_until(|| {
            dropped = self.try_drop(change, at)?;
            Ok(matches!(dropped, Dropped::Yes(_)))
        })?;
        match dropped {
            Dropped::Yes(removed) => Ok(removed),
            Dropped::OpenForWriting => self.keep_file(change, at).map(|()| None),
        }
    }

    fn try_drop<'s>(&self, change: &'s FileChange, at: &RepoPath) -> Result<Dropped<'s>> {
        self.mover.begin_change();
        // The lease is held until the file is removed, so that no program writes to it in between.
        let access = self.mover.access(at)?;
        if matches!(access, WriteAccess::OpenForWriting) {
            return Ok(Dropped::OpenForWriting);
        }
        let state = self.mover.state_with(&access, at)?;
        let lease = match access {
            WriteAccess::Leased(lease) => Some(lease),
            _ => None,
        };
        match state {
            PathState::Missing => Ok(Dropped::Yes(None)),
            PathState::Other => {
                Err("it is not a regular file or symlink").or_cannot(|| format!("remove {at}"))
            }
            PathState::Entry(entry, bytes) => {
                if Some(entry) != change.expected && Some(entry) != change.new {
                    self.rescue(change, entry, &bytes)?;
                }
                if lease.as_ref().is_some_and(|lease| !lease.is_unbroken()) {
                    return Ok(Dropped::OpenForWriting);
                }
                self.mover.remove(at)?;
                Ok(Dropped::Yes(lease.map(|lease| Removed { change, entry, lease })))
            }
        }
    }

    /// Keeps the content that programs have written to `removed` versions after their removal. Such
    /// a program opened the version while it was being removed. Returns the files, to be closed.
    pub(super) fn rescue_late_writes<'s>(
        &self,
        removed: impl Iterator<Item = Removed<'s>>,
    ) -> Result<Vec<Lease>> {
        let mut closed = Vec::new();
        for Removed { change, entry, lease } in removed {
            if lease.is_unbroken() {
                closed.push(lease);
                continue;
            }
            self.context.wait_until(|| Ok(lease.renew().is_ok()))?;
            let (what, mut bytes) = (|| format!("read what was {}", change.path), Vec::new());
            lease.file().read_to_end(&mut bytes).or_cannot(what)?;
            let oid = Oid::hash_object(ObjectType::Blob, &bytes).or_cannot(what)?;
            if oid != entry.oid {
                self.rescue(change, Entry { oid, ..entry }, &bytes)?;
            }
            closed.push(lease);
        }
        Ok(closed)
    }

    /// Remembers that a save was put back to its path.
    pub(super) fn remember_given_back(&self, change: &FileChange, save: PathState) -> Result<()> {
        if let PathState::Entry(save, bytes) = save
            && Some(save) != change.expected
        {
            self.context.store.write(&bytes)?;
            let given_back = GivenBack { change: change.clone(), save };
            self.context.given_back.borrow_mut().push(given_back);
        }
        Ok(())
    }

    /// Keeps the saves that were put back to their paths and are not there any more.
    pub(super) fn rescue_overwritten(&self) -> Result<()> {
        for GivenBack { change, save } in self.context.given_back.take() {
            if !self.state_of(&change.path)?.is(Some(save)) {
                self.rescue(&change, save, &self.context.store.read(save.oid)?)?;
            }
        }
        Ok(())
    }

    /// Keeps a version in the task store, and reports its place.
    pub(super) fn rescue(&self, change: &FileChange, entry: Entry, bytes: &[u8]) -> Result<()> {
        let oid = self.context.store.write(bytes)?;
        let bytes = [(b"bytes".to_vec(), entry)];
        self.context.store.hold(&format!("refs/rescued/{oid}"), &bytes, Durability::Synced)?;
        let git_dir = self.context.store.path().to_string_lossy().into_owned();
        self.notify_rescue(
            change,
            RescueLocation::Store { git_dir, object: format!("refs/rescued/{oid}:bytes") },
        );
        Ok(())
    }

    /// Renames the file at `at` to a name that no landing removes.
    fn keep_file(&self, change: &FileChange, at: &RepoPath) -> Result<()> {
        for number in 1..=NAMES {
            let name = [at.as_bytes(), format!(".kept-{number}").as_bytes()].concat();
            let name = RepoPath::new(name).expect("a longer last name stays a name");
            if self.mover.shift(at, &name)? == Moved::Yes {
                self.notify_rescue(change, RescueLocation::Tree { file: name });
                return Ok(());
            }
            if self.state_of(at)? == PathState::Missing {
                return Ok(());
            }
        }
        Err("every name for it is taken").or_cannot(|| format!("keep {at}, which is being written"))
    }

    fn notify_rescue(&self, change: &FileChange, kept: RescueLocation) {
        tracing::warn!(path = %change.path, ?kept, "a version that was replaced meanwhile is kept");
        let rescue = Rescue { path: change.path.clone(), run: self.run.clone(), kept };
        (self.context.notify)(LandingNotice::Rescued(rescue));
    }
}
