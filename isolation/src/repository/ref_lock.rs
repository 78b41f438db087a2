//! The lock of a branch or of an index, as git takes it. A record beside it lets the next landing recognize and remove
//! the lock of a process that has died.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use git2::Reference;

use crate::error::{OrCannot, Result, cannot};

/// How often a lock that another process holds is tried.
const TRIES: u32 = 100;

/// The folder with the record, in the git folder.
const FOLDER: &str = "regatta-refs";

/// The folder in which a new pack is written, in the git folder.
const PACKS: &str = "regatta-pack";

/// The file with the name of the branch, or of the index in the git folder.
const NAME: &str = "name";

/// The file that is the lock of the branch or the index as well.
const LOCK: &str = "lock";

/// The file that is the lock of the packed references as well.
const PACKED_LOCK: &str = "packed";

/// A file that is there if the file system has no hard links. A lock is known by its content then.
const COPIED: &str = "copied";

/// The lock of one branch or index. The landing lock of the repository is held meanwhile.
pub(super) struct RefLock<'a> {
    common_dir: &'a Path,
    reference: &'a str,
}

impl<'a> RefLock<'a> {
    /// Takes the lock of a branch or an index. `content` is the content of its file if it is published.
    pub(super) fn acquire(
        common_dir: &'a Path,
        reference: &'a str,
        content: &[u8],
    ) -> Result<Self> {
        let what = || format!("lock {reference}");
        release_cut_off(common_dir)?;
        let lock = Self { common_dir, reference };
        let folder = common_dir.join(FOLDER);
        fs::create_dir(&folder).or_cannot(what)?;
        fs::write(folder.join(NAME), reference).or_cannot(what)?;
        write_synced(&folder.join(LOCK), content).or_cannot(what)?;
        take(&folder, LOCK, &lock_path(common_dir, reference))?;
        Ok(lock)
    }

    /// Returns the folder of the record, in which a new version can be made.
    pub(super) fn folder(&self) -> PathBuf {
        self.common_dir.join(FOLDER)
    }

    /// Makes the lock the branch, and so releases it.
    pub(super) fn publish(self) -> Result<()> {
        let what = || format!("write {}", self.reference);
        let path = self.common_dir.join(self.reference);
        let lock = lock_path(self.common_dir, self.reference);
        if path.is_dir() {
            // Git leaves empty folders where branches were.
            remove_empty_folders(&path);
        }
        fs::rename(&lock, &path).or_cannot(what)?;
        let folder = path.parent().unwrap_or(self.common_dir);
        if let Err(error) = File::open(folder).and_then(|folder| folder.sync_all()) {
            tracing::warn!(%error, "a branch has moved, and may have moved back after a power cut");
        }
        // Without the record, nothing takes a lock for this one that git has taken by now.
        if let Err(error) = remove_folder(&self.common_dir.join(FOLDER)) {
            tracing::warn!(%error, "the next landing removes the record of a lock");
        }
        Ok(())
    }

    /// Replaces the packed references by `change` of their content, under git's lock of them. Does
    /// nothing if `change` returns `None`.
    pub(super) fn change_packed(&self, change: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Result<()> {
        let path = self.common_dir.join("packed-refs");
        let what = || format!("write {}", path.display());
        let read = || match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            read => read.or_cannot(what),
        };
        if change(&read()?).is_none() {
            return Ok(());
        }
        let folder = self.common_dir.join(FOLDER);
        fs::write(folder.join(PACKED_LOCK), "regatta\n").or_cannot(what)?;
        let lock = packed_lock(self.common_dir);
        take(&folder, PACKED_LOCK, &lock)?;
        if let Some(content) = change(&read()?) {
            let beside = folder.join("new");
            write_synced(&beside, &content).or_cannot(what)?;
            let meta = fs::metadata(&path).or_cannot(what)?;
            fs::set_permissions(&beside, meta.permissions()).or_cannot(what)?;
            fs::rename(&beside, &path).or_cannot(what)?;
        }
        fs::remove_file(&lock).or_cannot(what)
    }
}

impl Drop for RefLock<'_> {
    fn drop(&mut self) {
        if let Err(error) = release_cut_off(self.common_dir) {
            tracing::warn!(%error, "the next landing removes the lock of a branch");
        }
    }
}

/// Returns whether a process that died has left a lock or a part of a pack.
pub(crate) fn is_cut_off(common_dir: &Path) -> bool {
    [FOLDER, PACKS].iter().any(|name| common_dir.join(name).is_dir())
}

/// Removes the locks and the parts of packs that a process left when it died. The caller holds the
/// landing lock of the repository, so that no process is at work on them.
pub(crate) fn release_cut_off(common_dir: &Path) -> Result<()> {
    let folder = common_dir.join(FOLDER);
    let reference = fs::read_to_string(folder.join(NAME)).unwrap_or_default();
    let is_branch = reference.starts_with("refs/") && Reference::is_valid_name(&reference);
    if is_branch || is_index(&reference) {
        let locks =
            [(LOCK, lock_path(common_dir, &reference)), (PACKED_LOCK, packed_lock(common_dir))];
        for (mark, path) in locks {
            if is_own(&folder, mark, &path) {
                fs::remove_file(&path).or_cannot(|| format!("remove {}", path.display()))?;
            }
        }
    }
    if is_branch {
        remove_empty_parents(common_dir, &reference);
    }
    remove_folder(&folder)?;
    remove_folder(&common_dir.join(PACKS))
}

/// Returns whether this is the index of the repository, or that of another working tree of it.
fn is_index(name: &str) -> bool {
    let tree = name.strip_prefix("worktrees/").and_then(|name| name.strip_suffix("/index"));
    let is_of_tree = tree.is_some_and(|tree| !tree.is_empty() && !tree.contains(['/', '\0']));
    name == "index" || (is_of_tree && !matches!(tree, Some("." | "..")))
}

/// Makes the folder in which a new pack is written, on the file system of the others.
pub(crate) fn new_pack_folder(common_dir: &Path) -> Result<PathBuf> {
    let folder = common_dir.join(PACKS);
    remove_folder(&folder)?;
    fs::create_dir(&folder).or_cannot(|| format!("make {}", folder.display()))?;
    Ok(folder)
}

/// Removes the empty folders above a branch that is gone, as git does.
pub(super) fn remove_empty_parents(base: &Path, reference: &str) {
    let mut above = Path::new(reference).ancestors().skip(1);
    // `refs` and `refs/heads` stay; one that is not empty ends it.
    while let Some(folder) = above.next().filter(|folder| folder.components().count() > 2) {
        if fs::remove_dir(base.join(folder)).is_err() {
            break;
        }
    }
}

/// Gives the file `mark` of the record the name `path`, which must not exist: the lock is there with
/// its whole content or not at all.
fn take(folder: &Path, mark: &str, path: &Path) -> Result<()> {
    let what = || format!("take the lock {}", path.display());
    let marked = folder.join(mark);
    let mut tried = 0;
    loop {
        tried += 1;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).or_cannot(what)?;
        }
        match fs::hard_link(&marked, path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if tried >= TRIES {
                    let shown = path.display();
                    let why = format!("another git process holds it; if none runs: rm '{shown}'");
                    return Err(cannot(what(), why));
                }
                thread::sleep(Duration::from_millis(20));
            }
            // Git has removed the empty folder meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound && tried < TRIES => {}
            Err(_no_hard_links) => return copy(folder, mark, path).or_cannot(what),
        }
    }
}

/// Makes a copy of the file `mark` of the record at `path`, which must not exist. Without hard links,
/// the lock may have a part of its content only.
fn copy(folder: &Path, mark: &str, path: &Path) -> std::io::Result<()> {
    fs::write(folder.join(COPIED), "")?;
    let content = fs::read(folder.join(mark))?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(&content)
}

/// Returns whether a lock is that of the record, and not one that git has taken.
fn is_own(folder: &Path, mark: &str, path: &Path) -> bool {
    let marked = folder.join(mark);
    let (Ok(own), Ok(lock)) = (fs::symlink_metadata(&marked), fs::symlink_metadata(path)) else {
        return false;
    };
    let is_same = (own.dev(), own.ino()) == (lock.dev(), lock.ino());
    let is_copy = || {
        let (Ok(own), Ok(lock)) = (fs::read(&marked), fs::read(path)) else { return false };
        own.starts_with(&lock)
    };
    is_same || (folder.join(COPIED).exists() && lock.is_file() && is_copy())
}

fn lock_path(common_dir: &Path, reference: &str) -> PathBuf {
    common_dir.join(format!("{reference}.lock"))
}

fn packed_lock(common_dir: &Path) -> PathBuf {
    common_dir.join("packed-refs.lock")
}

fn write_synced(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Removes a folder if there are only folders in it.
fn remove_empty_folders(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty_folders(&entry.path());
        }
    }
    // One that is not empty stays, and the branch cannot be written then.
    let _stays = fs::remove_dir(folder);
}

fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).or_cannot(|| format!("remove {}", folder.display()))
        }
        _gone => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRANCH: &str = "refs/heads/work";

    /// A git folder with the record of a lock that was copied, for want of hard links.
    fn copied() -> (tempfile::TempDir, PathBuf) {
        let git = tempfile::tempdir().unwrap();
        let folder = git.path().join(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(NAME), BRANCH).unwrap();
        fs::write(folder.join(LOCK), "the new commit\n").unwrap();
        let lock = lock_path(git.path(), BRANCH);
        fs::create_dir_all(lock.parent().unwrap()).unwrap();
        copy(&folder, LOCK, &lock).unwrap();
        (git, lock)
    }

    #[test]
    fn without_hard_links_a_lock_is_copied_and_becomes_the_branch() {
        let (git, lock) = copied();
        assert_eq!(fs::read_to_string(&lock).unwrap(), "the new commit\n");
        let own = RefLock { common_dir: git.path(), reference: BRANCH };
        own.publish().unwrap();
        assert_eq!(fs::read_to_string(git.path().join(BRANCH)).unwrap(), "the new commit\n");
        assert!(!lock.exists() && !is_cut_off(git.path()));
    }

    #[test]
    fn a_copied_lock_of_a_process_that_died_is_removed_also_if_only_a_part_was_written() {
        for written in ["the new commit\n", "the new", ""] {
            let (git, lock) = copied();
            fs::write(&lock, written).unwrap();
            release_cut_off(git.path()).unwrap();
            assert!(!lock.exists() && !is_cut_off(git.path()), "{written}");
        }
    }

    #[test]
    fn a_lock_that_another_git_has_taken_stays_where_locks_are_copied() {
        let (git, lock) = copied();
        fs::write(&lock, "another commit\n").unwrap();
        release_cut_off(git.path()).unwrap();
        assert_eq!(fs::read_to_string(&lock).unwrap(), "another commit\n");
        // Nor is one taken that is there already.
        let folder = git.path().join(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(LOCK), "mine\n").unwrap();
        let refused = copy(&folder, LOCK, &lock).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        // Without the word that it was copied, a lock with the same content is another's.
        let (git, lock) = copied();
        fs::remove_file(git.path().join(FOLDER).join(COPIED)).unwrap();
        release_cut_off(git.path()).unwrap();
        assert!(lock.exists());
    }
}
