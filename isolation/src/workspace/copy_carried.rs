//! Copies carried files: once per run to the run's folder, as they are when the first workspace is
//! made, and from there into each workspace.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, chmodat, mkdirat, openat};
use rustix::io::Errno;

use crate::baseline::{Snapshot, printable, size_text};
use crate::carry::{CARRIED_FILES, Carried};
use crate::error::{OrCannot, Result, cannot};
use crate::tree::{Tree, join};
use crate::workspace::copy_file::FileCopier;
use crate::workspace::copy_threads::{FileWork, in_threads};
use crate::workspace::remove_tree;

/// The number of files that a thread copies at once.
const CHUNK: usize = 32;

/// Copies the carried files from the user's tree to the run's folder. Unlike the files of the
/// snapshot, nobody has another version of them. Returns the path of the copy; `None` if no file is
/// carried.
pub(crate) fn keep_carried(snapshot: &Snapshot) -> Result<Option<PathBuf>> {
    let carried = &snapshot.carried;
    if carried.folders.is_empty() {
        return Ok(None);
    }
    let target = snapshot.context.folder.join(CARRIED_FILES);
    let what = || format!("keep the carried files in {}", target.display());
    // An attempt before this one may have failed.
    remove_tree(&target)?;
    fs::DirBuilder::new().mode(0o700).create(&target).or_cannot(what)?;
    for folder in carried.folders.keys() {
        fs::create_dir_all(target.join(OsStr::from_bytes(folder))).or_cannot(what)?;
    }
    let root = open_folder(&target).or_cannot(what)?;
    let copier = snapshot.pool.copier(&root).or_cannot(what)?;
    let from = &snapshot.context.repo.root;
    copy_files(carried, from, &root, &copier, &AtomicBool::new(false))?;
    Ok(Some(target))
}

/// Copies the carried files from the run's folder to the tree at `root`, with their permissions and
/// times. After `stop` is set, or an error, the rest is missing.
pub(super) fn copy_carried(
    (carried, carried_files): (&Carried, &Path),
    root: &OwnedFd,
    copier: &FileCopier,
    stop: &AtomicBool,
) -> Result<()> {
    make_folders(carried, root)?;
    copy_files(carried, carried_files, root, copier, stop)?;
    close_folders(carried, root)
}

fn open_folder(path: &Path) -> std::result::Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
}

fn copy_files(
    carried: &Carried,
    from: &Path,
    root: &OwnedFd,
    copier: &FileCopier,
    stop: &AtomicBool,
) -> Result<()> {
    let mut chunks = Vec::new();
    let mut files = 0;
    for (folder, found) in &carried.folders {
        let names: Vec<&OsString> = found.files.iter().collect();
        files += names.len();
        chunks.extend(names.chunks(CHUNK).map(|names| (folder.as_slice(), names.to_vec())));
    }
    let job = CarryJob {
        limit: carried.limit,
        from,
        root,
        copier,
        chunks,
        next: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
        stop,
    };
    in_threads(FileWork::Copy(files), &|| job.run())
}

/// Makes every folder that the snapshot does not contain. A folder stays writable until its files
/// are copied.
fn make_folders(carried: &Carried, root: &OwnedFd) -> Result<()> {
    for (path, folder) in &carried.folders {
        let Some(permissions) = folder.permissions else { continue };
        let permissions = Mode::from_raw_mode(permissions | 0o700);
        let made = mkdirat(root, OsStr::from_bytes(path), permissions);
        made.or_cannot(|| format!("make {}", printable(path)))?;
    }
    Ok(())
}

/// Restores the permissions of folders that are not writable.
fn close_folders(carried: &Carried, root: &OwnedFd) -> Result<()> {
    for (path, folder) in &carried.folders {
        let Some(permissions) = folder.permissions.filter(|mode| mode & 0o700 != 0o700) else {
            continue;
        };
        let permissions = Mode::from_raw_mode(permissions);
        let closed = chmodat(root, OsStr::from_bytes(path), permissions, AtFlags::empty());
        closed.or_cannot(|| format!("make {}", printable(path)))?;
    }
    Ok(())
}

/// The state that the threads share.
struct CarryJob<'a> {
    /// The maximum total size in bytes of the files.
    limit: u64,
    /// The root of the tree with the files.
    from: &'a Path,
    root: &'a OwnedFd,
    copier: &'a FileCopier,
    /// Files of one folder each.
    chunks: Vec<(&'a [u8], Vec<&'a OsString>)>,
    next: AtomicUsize,
    /// The number of bytes that were copied.
    bytes: AtomicU64,
    stop: &'a AtomicBool,
}

impl CarryJob<'_> {
    /// Copies files until none is left, a thread has failed or it is time to stop.
    fn run(&self) -> Result<()> {
        let tree = Tree::open_at(self.from)?;
        let mut buffer = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            let Some((folder, names)) = self.chunks.get(next) else { break };
            if let Err(error) = self.chunk(&tree, folder, names, &mut buffer) {
                self.stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    }

    fn chunk(
        &self,
        tree: &Tree,
        folder: &[u8],
        names: &[&OsString],
        buffer: &mut Vec<u8>,
    ) -> Result<()> {
        let from = match tree.open(folder) {
            Ok(from) => from,
            // The user has removed the folder since the run began.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(error) => return Err(error).or_cannot(|| format!("open {}", printable(folder))),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place = if folder.is_empty() { OsStr::new(".") } else { OsStr::from_bytes(folder) };
        let to = openat(self.root, place, flags, Mode::empty());
        let to = to.or_cannot(|| format!("open {} in the workspace", printable(folder)))?;
        for name in names {
            let what = || format!("carry {} into the workspace", printable(&join(folder, name)));
            let copied = self.copier.copy_present(&from, &to, name, buffer).or_cannot(what)?;
            let copied = copied.unwrap_or_default();
            let limit = self.limit;
            if self.bytes.fetch_add(copied, Ordering::Relaxed) + copied > limit {
                let because = format!(
                    "the ignored files to carry have grown beyond {} since the run began",
                    size_text(limit)
                );
                return Err(cannot(what(), because));
            }
        }
        Ok(())
    }
}
