//! The user's index: its lock, which keeps git from switching branches and committing meanwhile, and
//! its new version.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use engine::failpoint;
use engine::fault::Faults;
use git2::{Index, IndexEntry, IndexTime};
use protocol::RepoPath;

use crate::error::{OrCannot, Result, cannot};
use crate::file_entry::Entry;
use crate::repository::Repo;
use crate::tree::{Tree, TreeEntry};

/// How often a lock that another process holds is tried.
const TRIES: u32 = 100;

/// The lock of the index, which a landing holds. It stays when it is dropped: only a landing that has
/// ended gives it back.
pub(super) struct IndexLock<'a> {
    repo: &'a Repo,
    path: PathBuf,
    /// The folder in which the new index is written.
    folder: PathBuf,
}

impl<'a> IndexLock<'a> {
    /// Takes the lock for the landing `id`. A lock that this landing had before its engine died is
    /// taken over.
    pub(super) fn acquire(repo: &'a Repo, id: &str) -> Result<Self> {
        let (path, folder) = (lock_path(repo), folder_of(repo, id));
        let what = || format!("lock the index: {}", path.display());
        remove_folder(&folder)?;
        fs::create_dir(&folder).or_cannot(what)?;
        // The lock is there with its mark or not at all, so that a recovery always recognizes it.
        let marked = folder.join("lock");
        fs::write(&marked, mark(id)).or_cannot(what)?;
        let mut tried = 1;
        loop {
            match put_in_place(&marked, &path) {
                Ok(()) => return Ok(Self { repo, path, folder }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    if is_of(&path, id) {
                        return Ok(Self { repo, path, folder });
                    }
                    if tried >= TRIES {
                        return Err(cannot(what(), "another git process holds it"));
                    }
                    tried += 1;
                    thread::sleep(Duration::from_millis(20));
                }
                Err(error) => return Err(error).or_cannot(what),
            }
        }
    }

    /// Gives back the lock that a landing had, if it has it still.
    pub(super) fn release(repo: &Repo, id: &str) -> Result<()> {
        let path = lock_path(repo);
        remove_folder(&folder_of(repo, id))?;
        if !is_of(&path, id) {
            return Ok(());
        }
        fs::remove_file(&path).or_cannot(|| format!("unlock the index: {}", path.display()))
    }

    /// Replaces the entries of these paths in the index, and gives the lock back.
    pub(super) fn replace(
        self,
        tree: &Tree,
        changes: &[(RepoPath, Option<Entry>)],
        faults: &Faults,
    ) -> Result<()> {
        let index_path = self.repo.git_dir.join("index");
        let what = || format!("write {}", index_path.display());
        // libgit2 would take the lock itself, so it gets a copy.
        remove_folder(&self.folder)?;
        fs::create_dir(&self.folder).or_cannot(what)?;
        let copy = self.folder.join("index");
        match fs::copy(&index_path, &copy) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).or_cannot(what),
            _copied_or_missing => {}
        }
        let mut index = Index::open(&copy).or_cannot(what)?;
        for (path, entry) in changes {
            match entry {
                None => index.remove_path(path.as_path()).or_cannot(what)?,
                Some(entry) => index.add(&index_entry(tree, path, *entry)?).or_cannot(what)?,
            }
        }
        index.write().or_cannot(what)?;
        let bytes = fs::read(&copy).or_cannot(what)?;
        // The lock is the landing's until the very end.
        let beside = self.folder.join("new");
        let mut file = File::create(&beside).or_cannot(what)?;
        file.write_all(&bytes).and_then(|()| file.sync_all()).or_cannot(what)?;
        drop(file);
        if let Ok(meta) = fs::metadata(&index_path) {
            fs::set_permissions(&beside, meta.permissions()).or_cannot(what)?;
        }
        failpoint!(faults, "landing.ref").or_cannot(what)?;
        fs::rename(&beside, &index_path).or_cannot(what)?;
        failpoint!(faults, "landing.ref").or_cannot(what)?;
        remove_folder(&self.folder)?;
        fs::remove_file(&self.path).or_cannot(what)
    }
}

/// Returns the entry of the index for a path. The stat is that of the file, so that git need not
/// read it; git reads it nevertheless if it was written just now.
fn index_entry(tree: &Tree, path: &RepoPath, entry: Entry) -> Result<IndexEntry> {
    let stat = match tree.read_entry(path)? {
        TreeEntry::File { stat, .. } | TreeEntry::Link { stat, .. } => Some(stat),
        TreeEntry::Missing | TreeEntry::Blocked(_) | TreeEntry::Folder | TreeEntry::Special => None,
    };
    let time = |ns: i64| {
        let seconds = i32::try_from(ns.div_euclid(1_000_000_000)).unwrap_or_default();
        let rest = u32::try_from(ns.rem_euclid(1_000_000_000)).unwrap_or_default();
        IndexTime::new(seconds, rest)
    };
    // Without a stat, git compares the content.
    let (ctime, mtime) = stat.map_or((IndexTime::new(0, 0), IndexTime::new(0, 0)), |stat| {
        (time(stat.ctime_ns), time(stat.mtime_ns))
    });
    Ok(IndexEntry {
        ctime,
        mtime,
        dev: 0,
        ino: 0,
        mode: entry.mode.to_git(),
        uid: 0,
        gid: 0,
        file_size: 0,
        id: entry.oid,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    })
}

/// Gives a file a second name that does not exist.
fn put_in_place(marked: &Path, path: &Path) -> std::io::Result<()> {
    match fs::hard_link(marked, path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            // The file system has no hard links. A lock without its whole mark may stay after a kill.
            let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
            file.write_all(&fs::read(marked)?)
        }
        end => end,
    }
}

fn lock_path(repo: &Repo) -> PathBuf {
    repo.git_dir.join("index.lock")
}

/// The folder of a landing for the new index, on the file system of the old one.
fn folder_of(repo: &Repo, id: &str) -> PathBuf {
    repo.git_dir.join(format!("regatta-{id}"))
}

fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).or_cannot(|| format!("remove {}", folder.display()))
        }
        _gone => Ok(()),
    }
}

/// The content of the lock, by which a recovery recognizes it.
fn mark(id: &str) -> String {
    format!("regatta landing {id}\n")
}

fn is_of(path: &Path, id: &str) -> bool {
    let is_small = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() < 4096);
    is_small && fs::read(path).is_ok_and(|bytes| bytes == mark(id).as_bytes())
}
