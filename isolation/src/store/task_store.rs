//! Opens the task store, and reads and writes its blobs and references.

use std::cell::{OnceCell, RefCell};
use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use engine::fault::Faults;
use git2::{ErrorCode, ObjectType, OdbLookupFlags, Oid, Repository, RepositoryInitOptions};
use group_log::LockedFile;

use crate::error::{OrCannot, Result};
use crate::file_entry::Entry;
use crate::repository::{init_git, open_bare};
use crate::store::gathering::Gathering;
use crate::store::journaled::Journaled;
use crate::store::leftovers::NEW_STORE;
use crate::store::{objects, sync, trees};

/// How often a reference that another process has locked is tried, a few milliseconds apart.
const TRIES: u32 = 50;

/// The task store of one repository. Each thread opens its own.
pub(crate) struct TaskStore {
    pub(super) git: Repository,
    pub(super) path: PathBuf,
    /// The faults that are planned where the journal is moved into git's format.
    pub(super) faults: Faults,
    /// The objects of the capture that is being made; `None` if objects are written at once.
    pub(super) gathering: RefCell<Option<Gathering>>,
    /// What is read from the journal; `None` in it if that was empty. Unless it is set, the journal is
    /// moved into git's format before captures are read.
    pub(super) journaled: OnceCell<Option<Journaled>>,
    /// The shared lock that every writer of objects holds, so that no other process removes the
    /// objects it is writing as leftovers. `None` on file systems without locks, where leftovers
    /// are never removed.
    _writing: Option<LockedFile>,
}

/// Whether data must survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It is synced to the disk before the call returns.
    Synced,
    /// It survives a crash of this program, but perhaps not a power cut.
    Buffered,
}

impl TaskStore {
    /// Opens the store at `path`, and makes it if it does not exist.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if !path.join("HEAD").exists() {
            create(path)?;
        }
        // Waits while old work is removed, and finds what is there afterwards.
        let writing = File::open(path.join("objects")).and_then(LockedFile::lock_shared).ok();
        Self::with_lock(path, writing)
    }

    /// Opens the store at `path`, whose folder of objects the caller has locked.
    pub(super) fn with_lock(path: &Path, writing: Option<LockedFile>) -> Result<Self> {
        let git =
            open_bare(path).or_cannot(|| format!("open the task store {}", path.display()))?;
        let (faults, gathering) = (Faults::default(), RefCell::default());
        let (path, journaled) = (path.to_path_buf(), OnceCell::new());
        Ok(Self { git, path, faults, gathering, journaled, _writing: writing })
    }

    /// Returns the store with planned faults.
    pub(crate) fn with_faults(self, faults: &Faults) -> Self {
        Self { faults: faults.clone(), ..self }
    }

    /// Opens the store at `path` if there is one.
    pub(crate) fn open_existing(path: &Path) -> Result<Option<Self>> {
        if path.join("HEAD").exists() { Self::open(path).map(Some) } else { Ok(None) }
    }

    /// Returns the path of the store.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the objects of the store.
    pub(crate) fn odb(&self) -> Result<git2::Odb<'_>> {
        self.git.odb().or_cannot(|| format!("open the task store {}", self.path.display()))
    }

    /// Writes a blob. It is kept if something refers to it before the next clean-up.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<Oid> {
        let written = self.write_object(ObjectType::Blob, bytes.to_vec());
        written.or_cannot(|| format!("write to the task store {}", self.path.display()))
    }

    /// Returns the id of a blob, and writes it if the store does not have it.
    pub(crate) fn write_if_missing(&self, bytes: &[u8]) -> Result<Oid> {
        let known = objects::blob_id(bytes).and_then(|oid| {
            let is_there = self.git.odb()?.exists_ext(oid, OdbLookupFlags::NO_REFRESH);
            Ok(is_there.then_some(oid))
        });
        match known {
            Ok(Some(oid)) => Ok(oid),
            Ok(None) | Err(_) => self.write(bytes),
        }
    }

    /// Reads a blob.
    pub(crate) fn read(&self, oid: Oid) -> Result<Vec<u8>> {
        if let Some(bytes) = self.gathered(oid) {
            return Ok(bytes);
        }
        self.read_blob(oid)?
            .or_cannot(|| format!("read {oid} from the task store {}", self.path.display()))
    }

    /// Protects the blobs of `entries` from clean-ups: makes `reference` point at a commit without
    /// parents whose tree has `entries`. An existing reference is replaced. No path may be a folder
    /// of another one.
    pub(crate) fn hold(
        &self,
        reference: &str,
        entries: &[(Vec<u8>, Entry)],
        durability: Durability,
    ) -> Result<()> {
        self.write_reference(reference, entries, "held", durability)
    }

    /// Removes the reference of [`Self::hold`]. Succeeds if there is none.
    pub(crate) fn release(&self, reference: &str) -> Result<()> {
        self.with_store_lock(reference, || match self.git.find_reference(reference) {
            Ok(mut found) => found.delete(),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(()),
            Err(error) => Err(error),
        })
        .or_cannot(|| format!("remove {reference} from the task store {}", self.path.display()))
    }

    /// Makes `reference` point at a commit without parents whose tree has `entries`. The reference
    /// is written after everything it leads to is as durable as requested.
    pub(super) fn write_reference(
        &self,
        reference: &str,
        entries: &[(Vec<u8>, Entry)],
        message: &str,
        durability: Durability,
    ) -> Result<()> {
        let what = || format!("write {reference} to the task store {}", self.path.display());
        let mut written = Vec::new();
        let commit = self.write_commit(entries, message, &mut written).or_cannot(what)?;
        if durability == Durability::Synced {
            let blobs = entries.iter().map(|(_, entry)| entry.oid);
            sync::sync_objects(&self.path, blobs.chain(written)).or_cannot(what)?;
        }
        self.set_reference(reference, commit, message).or_cannot(what)?;
        if durability == Durability::Synced {
            sync::sync_reference(&self.path, reference).or_cannot(what)?;
        }
        Ok(())
    }

    /// Writes a commit without parents, and its trees. Adds what was written to `written`.
    pub(super) fn write_commit(
        &self,
        entries: &[(Vec<u8>, Entry)],
        message: &str,
        written: &mut Vec<Oid>,
    ) -> std::result::Result<Oid, git2::Error> {
        let mut write = |kind, bytes| {
            let oid = self.write_object(kind, bytes)?;
            written.push(oid);
            Ok(oid)
        };
        let tree = trees::write(&mut write, entries)?;
        write(ObjectType::Commit, objects::commit(tree, message)?)
    }

    /// Makes `reference` point at `commit`.
    pub(super) fn set_reference(
        &self,
        reference: &str,
        commit: Oid,
        message: &str,
    ) -> std::result::Result<(), git2::Error> {
        self.with_store_lock(reference, || {
            self.git.reference(reference, commit, true, message).map(drop)
        })
    }

    /// Changes `reference` under the lock on the store's folder, which every writer takes. A lock
    /// file that is in the way was therefore left by a dead process.
    pub(super) fn with_store_lock<T>(
        &self,
        reference: &str,
        mut step: impl FnMut() -> std::result::Result<T, git2::Error>,
    ) -> std::result::Result<T, git2::Error> {
        // On file systems without locks, git's own lock files have to do.
        let lock = File::open(&self.path).and_then(|folder| folder.lock().map(|()| folder));
        let mut tried = 1;
        loop {
            match step() {
                Err(error) if tried < TRIES && is_contention(&error) => tried += 1,
                end => return end,
            }
            match &lock {
                Ok(_held) => self.remove_lock_files(reference),
                Err(_unlocked) => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    fn remove_lock_files(&self, reference: &str) {
        for name in [reference, "packed-refs"] {
            let _absent = fs::remove_file(self.path.join(format!("{name}.lock"))); // mostly it is
        }
    }
}

/// Returns whether the error was caused by another process and a retry can succeed: the process
/// held a lock, or removed an empty folder of references.
fn is_contention(error: &git2::Error) -> bool {
    error.code() == ErrorCode::Locked
        || error.class() == git2::ErrorClass::Os && error.message().contains("No such file")
}

/// Makes the store under a temporary name and renames it, so that it is complete or missing.
fn create(path: &Path) -> Result<()> {
    let what = || format!("make the task store {}", path.display());
    let parent = path.parent().ok_or("it has no parent folder").or_cannot(what)?;
    DirBuilder::new().recursive(true).mode(0o700).create(parent).or_cannot(what)?;
    // Held until the store has its name, so that it is not removed as a leftover.
    let making = File::open(parent).or_cannot(what)?;
    let _making = LockedFile::lock_shared(making); // without locks, no leftovers are removed
    let beside = tempfile::Builder::new().prefix(NEW_STORE).tempdir_in(parent).or_cannot(what)?;
    let mut options = RepositoryInitOptions::new();
    options.bare(true).no_reinit(true).external_template(false).initial_head("refs/heads/none");
    let git = init_git(beside.path(), &options).or_cannot(what)?;
    configure(&git).or_cannot(what)?;
    sync::sync_tree(beside.path()).or_cannot(what)?;
    match fs::rename(beside.path(), path) {
        Ok(()) => {
            let _moved = beside.keep();
            sync::sync(parent).or_cannot(what)
        }
        // Another engine made it first.
        Err(error) if is_occupied(&error) && path.join("HEAD").exists() => Ok(()),
        Err(error) => Err(error).or_cannot(what),
    }
}

fn is_occupied(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty)
}

/// Configures the store for speed over size, without automatic clean-up.
fn configure(git: &Repository) -> std::result::Result<(), git2::Error> {
    let mut config = git.config()?.open_level(git2::ConfigLevel::Local)?;
    config.set_i32("core.compression", 0)?;
    config.set_i32("core.loosecompression", 0)?;
    config.set_i32("gc.auto", 0)?;
    config.set_bool("core.logAllRefUpdates", false)?;
    config.set_bool("core.protectNTFS", false)
}
