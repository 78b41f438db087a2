//! Copies the snapshot and the carried files into a workspace, folder by folder.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use engine::failpoint;
use protocol::RepoPath;
use rustix::fs::{AtFlags, CWD, Mode as Permissions, OFlags, chmodat, mkdirat, openat};
use rustix::io::Errno;

use crate::baseline::{ContentLocation, ContentReader, Folder, FrozenEntry, Snapshot};
use crate::carry::Carried;
use crate::error::{OrCannot, Result};
use crate::file_entry::Mode;
use crate::nested::write_links;
use crate::tree::{Tree, join};
use crate::workspace::copy_carried::copy_carried;
use crate::workspace::copy_file::{Copied, FileCopier};
use crate::workspace::copy_threads::{FileWork, in_threads};

/// Fills the empty folder `target` with the snapshot and carried files, which are given with the
/// run's copy of them.
///
/// # Errors
/// Something cannot be copied, or `stop` says that the copy is not needed any more. It is set after
/// any other error.
pub(crate) fn copy_tree(
    snapshot: &Snapshot,
    target: &Path,
    carried: Option<(&Carried, &Path)>,
    stop: &AtomicBool,
) -> Result<()> {
    let what = || format!("copy the working tree to {}", target.display());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = openat(CWD, target, flags, Permissions::empty()).or_cannot(what)?;
    let copier = snapshot.pool.copier(&root).or_cannot(what)?;
    make_folders(snapshot, &root).or_cannot(what)?;
    let folders: Vec<(&Vec<u8>, &Folder)> =
        snapshot.table.folders.iter().filter(|(_, folder)| !folder.files.is_empty()).collect();
    let files: usize = folders.iter().map(|(_, folder)| folder.files.len()).sum();
    let job = CopyJob { snapshot, root, copier: &copier, folders, next: AtomicUsize::new(0), stop };
    in_threads(FileWork::Copy(files), &|| job.run())?;
    if let Some(carried) = carried {
        copy_carried(carried, &job.root, &copier, stop)?;
    }
    if stop.load(Ordering::Relaxed) {
        return Err("it is not needed any more").or_cannot(what);
    }
    write_links(&job.root, &snapshot.nested)?;
    close_folders(snapshot, &job.root).or_cannot(what)
}

/// Makes every folder of the snapshot. A folder stays writable until its files are copied.
fn make_folders(snapshot: &Snapshot, root: &OwnedFd) -> std::result::Result<(), Errno> {
    for (path, folder) in snapshot.table.folders.iter().filter(|(path, _)| !path.is_empty()) {
        let permissions = Permissions::from_raw_mode(folder.permissions | 0o700);
        mkdirat(root, OsStr::from_bytes(path), permissions)?;
    }
    Ok(())
}

/// Restores the permissions of folders that are not writable.
fn close_folders(snapshot: &Snapshot, root: &OwnedFd) -> std::result::Result<(), Errno> {
    for (path, folder) in snapshot.table.folders.iter().filter(|(path, _)| !path.is_empty()) {
        if folder.permissions & 0o700 != 0o700 {
            let permissions = Permissions::from_raw_mode(folder.permissions);
            chmodat(root, OsStr::from_bytes(path), permissions, AtFlags::empty())?;
        }
    }
    Ok(())
}

/// The state that the threads share.
struct CopyJob<'a> {
    snapshot: &'a Snapshot,
    root: OwnedFd,
    copier: &'a FileCopier,
    folders: Vec<(&'a Vec<u8>, &'a Folder)>,
    next: AtomicUsize,
    stop: &'a AtomicBool,
}

impl CopyJob<'_> {
    /// Copies one folder after the other, until none is left, a thread has failed or it is time to
    /// stop: then the last one is not complete.
    fn run(&self) -> Result<()> {
        let mut files = FrozenFiles::open(self.snapshot, self.copier)?;
        while !self.stop.load(Ordering::Relaxed) {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            let Some((path, folder)) = self.folders.get(next) else { break };
            if let Err(error) = self.folder(&mut files, path, folder) {
                self.stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    }

    fn folder(&self, files: &mut FrozenFiles<'_>, path: &[u8], folder: &Folder) -> Result<()> {
        let printable = || format!("copy {}", Path::new(OsStr::from_bytes(path)).display());
        failpoint!(self.snapshot.context.faults, "prepare.copy").or_cannot(printable)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place = if path.is_empty() { OsStr::new(".") } else { OsStr::from_bytes(path) };
        let to = openat(&self.root, place, flags, Permissions::empty()).or_cannot(printable)?;
        let from = files.open_folder(path)?;
        for (name, frozen) in &folder.files {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            files.copy(from.as_ref(), &to, (path, name), frozen)?;
        }
        Ok(())
    }
}

/// Copies files of the snapshot one by one. Each thread has its own.
pub(crate) struct FrozenFiles<'a> {
    snapshot: &'a Snapshot,
    copier: &'a FileCopier,
    tree: Tree,
    /// The reader of blobs and pins, opened when the first file needs it.
    bytes: Option<ContentReader>,
    buffer: Vec<u8>,
}

impl<'a> FrozenFiles<'a> {
    /// Opens the user's tree.
    pub(crate) fn open(snapshot: &'a Snapshot, copier: &'a FileCopier) -> Result<Self> {
        let tree = Tree::open_at(&snapshot.context.repo.root)?;
        Ok(Self { snapshot, copier, tree, bytes: None, buffer: Vec::new() })
    }

    /// Opens a folder of the user's. Returns `None` if it is gone: then every file in it is restored
    /// from its blob or pin.
    pub(crate) fn open_folder(&self, path: &[u8]) -> Result<Option<OwnedFd>> {
        match self.tree.open(path) {
            Ok(from) => Ok(Some(from)),
            Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => Err(Errno::MFILE)
                .or_cannot(|| format!("copy {}", Path::new(OsStr::from_bytes(path)).display())),
            Err(_) => Ok(None),
        }
    }

    /// Copies one file or symlink to the folder `to`. `from` is the user's folder with its path.
    pub(crate) fn copy(
        &mut self,
        from: Option<&OwnedFd>,
        to: &OwnedFd,
        (folder, name): (&[u8], &OsStr),
        frozen: &FrozenEntry,
    ) -> Result<()> {
        let what =
            || format!("copy {}", Path::new(OsStr::from_bytes(&join(folder, name))).display());
        if let Some(from) = from
            && matches!(frozen.source, ContentLocation::Blob(_) | ContentLocation::Crlf(_))
            && frozen.mode != Mode::Link
        {
            let copied = self.copier.copy(from, to, name, frozen, &mut self.buffer);
            if copied.or_cannot(what)? == Copied::Whole {
                return Ok(());
            }
        }
        let bytes = self.restore(folder, name, frozen)?;
        self.copier.write(to, name, frozen, &bytes).or_cannot(what)
    }

    fn restore(&mut self, folder: &[u8], name: &OsStr, frozen: &FrozenEntry) -> Result<Vec<u8>> {
        let bytes = match &mut self.bytes {
            Some(bytes) => bytes,
            none => none.insert(ContentReader::open(self.snapshot)?),
        };
        let path = RepoPath::new(join(folder, name))
            .ok_or("a path in it is none")
            .or_cannot(|| "read the baseline")?;
        bytes.of(&path, frozen)
    }
}
