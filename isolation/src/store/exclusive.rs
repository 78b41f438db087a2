//! A task store that no other process reads or writes, so that old work can be removed from it.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use engine::failpoint;
use engine::fault::Faults;
use git2::{ObjectType, Oid};
use group_log::LockedFile;

use crate::error::{OrCannot, Result};
use crate::store::attempt_lines::outcome_of;
use crate::store::journal::open_records;
use crate::store::{TaskStore, packed_refs};

/// How long the lock is tried: captures hold it for milliseconds, many of them one after the other.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause between two attempts.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A task store, and the locks that keep other processes out. A process that opens the store meanwhile waits.
pub(crate) struct ExclusiveStore {
    pub(super) store: TaskStore,
    pub(super) faults: Faults,
    /// The lock of the folder of objects; `None` if the store is only looked at.
    _locks: Option<[LockedFile; 2]>,
}

/// Why a store cannot be locked now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreInUse {
    /// Another process removes old work from it.
    Collecting,
    /// Another process kept reading or writing it.
    Busy,
}

/// A reference of a task store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreReference {
    /// The name; bytes that are not UTF-8 are replaced.
    pub(crate) name: String,
    /// The object.
    pub(crate) target: Oid,
}

impl ExclusiveStore {
    /// Opens the store at `path` to look at it, unless another process has locked it. Captures in its journal
    /// are not seen, but landings of them are.
    pub(crate) fn look(path: &Path) -> Result<std::result::Result<Self, StoreInUse>> {
        check_owner(path)?;
        let objects = File::open(path.join("objects"));
        let objects = objects.or_cannot(|| format!("open the task store {}", path.display()))?;
        let objects = match LockedFile::try_lock_shared(objects) {
            Ok(locked) => Some(locked),
            Err(TryLockError::WouldBlock) => return Ok(Err(StoreInUse::Collecting)),
            Err(TryLockError::Error(_no_locks)) => None,
        };
        let store = TaskStore::with_lock(path, objects)?.with_journal()?;
        Ok(Ok(Self { store, faults: Faults::default(), _locks: None }))
    }

    /// Locks the store at `path`, and moves the captures in its journal into git's format before.
    ///
    /// # Errors
    /// The store is damaged, belongs to another user, or its file system has no locks.
    pub(crate) fn lock(
        path: &Path,
        faults: &Faults,
    ) -> Result<std::result::Result<Self, StoreInUse>> {
        let what = || format!("lock the task store {}", path.display());
        check_owner(path)?;
        let collecting = File::open(path.join("refs")).or_cannot(what)?;
        let collecting = match LockedFile::try_lock(collecting) {
            Ok(locked) => locked,
            Err(TryLockError::WouldBlock) => return Ok(Err(StoreInUse::Collecting)),
            Err(TryLockError::Error(error)) => return Err(error).or_cannot(what),
        };
        let began = Instant::now();
        loop {
            TaskStore::open(path)?.settle()?;
            let objects = File::open(path.join("objects")).or_cannot(what)?;
            match LockedFile::try_lock(objects) {
                Ok(objects) if open_records(path)?.is_none() => {
                    let store = TaskStore::with_lock(path, None)?;
                    let _locks = Some([objects, collecting]);
                    return Ok(Ok(Self { store, faults: faults.clone(), _locks }));
                }
                // A capture was written in between.
                Ok(_) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error).or_cannot(what),
            }
            if began.elapsed() >= LOCK_TIMEOUT {
                return Ok(Err(StoreInUse::Busy));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Returns all references, sorted by name.
    pub(crate) fn references(&self) -> Result<Vec<StoreReference>> {
        let what = || format!("list the task store {}", self.store.path.display());
        let mut found = Vec::new();
        for reference in self.store.git.references().or_cannot(what)? {
            let reference = reference.or_cannot(what)?;
            let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
            let target = reference.resolve().or_cannot(what)?.target();
            let target = target.ok_or_else(|| format!("{name} names no object")).or_cannot(what)?;
            found.push(StoreReference { name, target });
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// Returns the id of what a reference leads to, of a commit its tree, and the outcome that the
    /// message of a capture has.
    pub(crate) fn content_of(&self, target: Oid) -> Result<(String, Option<String>)> {
        let what = || format!("read {target} from the task store {}", self.store.path.display());
        let (_, kind) =
            self.store.git.odb().and_then(|odb| odb.read_header(target)).or_cannot(what)?;
        if kind != ObjectType::Commit {
            return Ok((target.to_string(), None));
        }
        let commit = self.store.git.find_commit(target).or_cannot(what)?;
        let outcome = commit.message().ok().and_then(outcome_of).map(str::to_owned);
        Ok((commit.tree_id().to_string(), outcome))
    }

    /// Removes references, durably.
    pub(crate) fn remove_references(&self, names: &BTreeSet<String>) -> Result<()> {
        let path = &self.store.path;
        let what = || format!("remove references from the task store {}", path.display());
        failpoint!(self.faults, "gc.references").or_cannot(what)?;
        if names.is_empty() {
            return Ok(());
        }
        self.store
            .with_store_lock("packed-refs", || Ok(packed_refs::remove_all(path, names)))
            .or_cannot(what)?
            .or_cannot(what)
    }

    /// Returns the path of the store.
    pub(crate) fn path(&self) -> &Path {
        &self.store.path
    }
}

/// Checks that the store belongs to this user: another user's is that user's to clear.
fn check_owner(path: &Path) -> Result<()> {
    let what = || format!("open the task store {}", path.display());
    let (owner, me) = (fs::metadata(path).or_cannot(what)?.uid(), rustix::process::geteuid());
    match owner == me.as_raw() {
        true => Ok(()),
        false => Err(format!("it belongs to another user, with the id {owner}")).or_cannot(what),
    }
}
