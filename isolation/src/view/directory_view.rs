//! The view of a workspace that is a folder of the file system.

use std::fs::File;
use std::io::Read as _;
use std::mem;
use std::os::fd::OwnedFd;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use engine::ports::{
    FileStat, FileVisitor, FolderContents, FolderRequest, Found, Listing, Replace, ViewError,
    ViewFile, ViewPath, WorkspaceView,
};
use rustix::fs::{AtFlags, CWD, Mode, openat, unlinkat};
use rustix::io::Errno;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::batches;
use super::file_operations::{FOLDER_HANDLE, list, make_folders, open_folder};
use super::file_operations::{entry_stat, file_stat, open_file};
use super::file_operations::{path_error, system_error};
use super::replace::replace;
use super::resolve::resolve;
use super::write_record::{WriteRecord, recorded};

/// The most threads that wait for the disk at the same time, for all views that share the bound.
const MAX_DISK_THREADS: usize = 32;

/// The view of a workspace that is a folder.
pub struct DirectoryView {
    root: Arc<Root>,
    disk: DiskThreads,
    /// Records what this view changes, for the capture of the workspace.
    record: Option<Arc<WriteRecord>>,
}

/// The root of the tree. The canonical path is known as well, because a command may print absolute
/// paths that begin with it.
struct Root {
    path: PathBuf,
    canonical: OnceLock<Option<PathBuf>>,
}

/// A bound on the threads that wait for the disk, shared by its clones.
#[derive(Clone)]
pub struct DiskThreads(Arc<Semaphore>);

impl Default for DiskThreads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_DISK_THREADS)))
    }
}

impl DirectoryView {
    /// Returns the view of the folder `root`.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self::sharing(root, DiskThreads::default())
    }

    /// Returns the view of the folder `root`, which shares the bound `disk`.
    #[must_use]
    pub fn sharing(root: PathBuf, disk: DiskThreads) -> Self {
        let root = Arc::new(Root { path: root, canonical: OnceLock::new() });
        Self { root, disk, record: None }
    }

    /// Returns the same view, which records what it changes.
    #[must_use]
    pub(crate) fn recorded(self, record: Arc<WriteRecord>) -> Self {
        Self { record: Some(record), ..self }
    }

    /// Runs `work` on the root, on a thread that may block.
    async fn at_root<T: Send + 'static>(
        &self,
        work: impl FnOnce(OwnedFd) -> Result<T, ViewError> + Send + 'static,
    ) -> Result<T, ViewError> {
        let root = Arc::clone(&self.root);
        self.disk.run(move || work(root.open()?)).await
    }

    /// Runs `work` on the parent folder of `path` and its last name. Fails for the root, which has
    /// neither.
    async fn at_entry<T: Send + 'static>(
        &self,
        path: &ViewPath,
        work: impl FnOnce(&OwnedFd, &std::ffi::OsStr) -> Result<T, ViewError> + Send + 'static,
    ) -> Result<T, ViewError> {
        let path = path.clone();
        self.at_root(move |root| {
            let (folder, name) = path.split().ok_or(ViewError::Folder)?;
            work(&open_folder(root, &folder)?, name)
        })
        .await
    }
}

impl Root {
    fn open(&self) -> Result<OwnedFd, ViewError> {
        // A command of the task may have replaced the root by a symlink.
        openat(CWD, &self.path, FOLDER_HANDLE, Mode::empty()).map_err(system_error)
    }

    fn inside(&self, absolute: &Path) -> Option<PathBuf> {
        if !absolute.is_absolute() {
            return None;
        }
        let below = |root: &Path| absolute.strip_prefix(root).ok().map(Path::to_owned);
        let canonical = || self.canonical.get_or_init(|| self.path.canonicalize().ok()).as_deref();
        below(&self.path).or_else(|| below(canonical()?))
    }
}

impl DiskThreads {
    /// Runs `work`, which waits for the disk, on a thread that may block.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ViewError> + Send + 'static,
    ) -> Result<T, ViewError> {
        let interrupted = || system_error(Errno::INTR);
        let Ok(permit) = Arc::clone(&self.0).acquire_owned().await else {
            return Err(interrupted());
        };
        // Work that has started continues when the call is dropped, and keeps its permit.
        let worked = spawn_blocking(move || {
            let _permit = permit;
            work()
        });
        match worked.await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The runtime is shutting down.
                Err(_) => Err(interrupted()),
            },
        }
    }
}

#[async_trait]
impl WorkspaceView for DirectoryView {
    fn process_root(&self) -> &Path {
        // The caller is about to start a process, which may change anything.
        if let Some(record) = &self.record {
            record.give_up();
        }
        &self.root.path
    }

    async fn inside(&self, absolute: &Path) -> Option<PathBuf> {
        let (absolute, root) = (absolute.to_owned(), Arc::clone(&self.root));
        self.disk.run(move || Ok(root.inside(&absolute))).await.unwrap_or_default()
    }

    async fn find(&self, path: &Path) -> Result<Found, ViewError> {
        let (path, tree_root) = (path.to_owned(), Arc::clone(&self.root));
        self.at_root(move |root| resolve(root, &path, &|target| tree_root.inside(target))).await
    }

    async fn stat(&self, path: &ViewPath) -> Result<FileStat, ViewError> {
        if path.split().is_none() {
            let stat = |root: OwnedFd| rustix::fs::fstat(root).map_err(system_error);
            return self.at_root(move |root| Ok(file_stat(&stat(root)?))).await;
        }
        self.at_entry(path, entry_stat).await
    }

    async fn open(&self, path: &ViewPath) -> Result<Box<dyn ViewFile>, ViewError> {
        let opened = self.at_entry(path, |folder, name| {
            let (file, stat) = open_file(folder, name)?;
            let ahead = read(&file, READ_AHEAD)?;
            Ok((file, stat, ahead))
        });
        let (file, stat, ahead) = opened.await?;
        let is_whole = ahead.len() < READ_AHEAD;
        Ok(Box::new(OpenFile {
            file: Arc::new(file),
            stat,
            ahead,
            is_whole,
            disk: self.disk.clone(),
        }))
    }

    async fn read_dir(&self, path: &ViewPath, most: usize) -> Result<Listing, ViewError> {
        let path = path.clone();
        self.at_root(move |root| list(&open_folder(root, &path)?, most)).await
    }

    async fn read_folders(
        &self,
        folders: &[ViewPath],
        request: FolderRequest,
    ) -> Result<Vec<Result<FolderContents, ViewError>>, ViewError> {
        let folders = folders.to_vec();
        self.at_root(move |root| Ok(batches::read_folders(&root, &folders, request))).await
    }

    async fn visit_files(
        &self,
        paths: &[ViewPath],
        most: u64,
        visit: FileVisitor,
    ) -> Result<(), ViewError> {
        let paths = paths.to_vec();
        self.at_root(move |root| batches::visit_files(&root, &paths, most, visit)).await
    }

    async fn make_folders(&self, path: &ViewPath) -> Result<(), ViewError> {
        let (path, record) = (path.clone(), self.record.clone());
        self.at_root(move |root| recorded(record.as_ref(), &path, || make_folders(root, &path)))
            .await
    }

    async fn write(
        &self,
        path: &ViewPath,
        bytes: Vec<u8>,
        which: Replace,
    ) -> Result<(), ViewError> {
        let (changed, record) = (path.clone(), self.record.clone());
        self.at_entry(path, move |folder, name| {
            recorded(record.as_ref(), &changed, || replace(folder, name, &bytes, which))
        })
        .await
    }

    async fn remove(&self, path: &ViewPath) -> Result<(), ViewError> {
        let (changed, record) = (path.clone(), self.record.clone());
        self.at_entry(path, move |folder, name| {
            let file = || unlinkat(folder, name, AtFlags::empty());
            // That a folder was removed is not recorded.
            match recorded(record.as_ref(), &changed, file) {
                Err(Errno::ISDIR | Errno::PERM) => {
                    unlinkat(folder, name, AtFlags::REMOVEDIR).map_err(path_error)
                }
                removed => removed.map_err(entry_error),
            }
        })
        .await
    }
}

/// Returns the error about an entry itself, not about a folder on the way to it.
fn entry_error(error: Errno) -> ViewError {
    match error {
        Errno::NOENT => ViewError::Missing,
        other => system_error(other),
    }
}

/// How many bytes of a file are read when it is opened: most files have no more, and each further
/// step waits for a thread.
const READ_AHEAD: usize = 64 << 10;

/// An open regular file.
struct OpenFile {
    file: Arc<File>,
    stat: FileStat,
    /// What was read from the file and not asked for yet.
    ahead: Vec<u8>,
    /// Whether that is the rest of the file.
    is_whole: bool,
    disk: DiskThreads,
}

#[async_trait]
impl ViewFile for OpenFile {
    fn stat(&self) -> FileStat {
        self.stat
    }

    async fn read(&mut self, most: usize) -> Result<Vec<u8>, ViewError> {
        if self.is_whole || most <= self.ahead.len() {
            let rest = self.ahead.split_off(most.min(self.ahead.len()));
            return Ok(mem::replace(&mut self.ahead, rest));
        }
        let file = Arc::clone(&self.file);
        let mut bytes = mem::take(&mut self.ahead);
        let more = self.disk.run(move || {
            read(&file, most - bytes.len()).map(|more| {
                bytes.extend(more);
                bytes
            })
        });
        more.await
    }
}

/// Reads the next bytes of a file: `most`, or fewer at its end.
fn read(file: &File, most: usize) -> Result<Vec<u8>, ViewError> {
    let mut bytes = Vec::new();
    file.take(most as u64).read_to_end(&mut bytes).map_err(system_error)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    async fn a_file_is_read_whole_in_pieces_of_any_length() {
        let folder = tempfile::tempdir().unwrap();
        let view = DirectoryView::new(folder.path().to_owned());
        for size in [0, 1, READ_AHEAD - 1, READ_AHEAD, READ_AHEAD + 1, 3 * READ_AHEAD + 17] {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            std::fs::write(folder.path().join("a"), &bytes).unwrap();
            for most in [1_000, READ_AHEAD, READ_AHEAD + 1, 10 * READ_AHEAD] {
                let path = ViewPath::new(Path::new("a")).unwrap();
                let mut file = view.open(&path).await.unwrap();
                let mut read = Vec::new();
                loop {
                    let piece = file.read(most).await.unwrap();
                    if piece.is_empty() {
                        break;
                    }
                    read.extend(piece);
                    assert!(read.len().is_multiple_of(most) || read.len() == size);
                }
                assert_eq!(read, bytes, "{size} by {most}");
            }
        }
    }
}
