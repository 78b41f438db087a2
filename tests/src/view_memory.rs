//! A view of a workspace that is in memory: what a backend without a folder would supply.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use engine::ports::{
    FileKind, FileStat, FileVersion, Found, Listing, MAX_PATH_DEPTH, MAX_SYMLINKS, Replace,
    ViewError, ViewFile, ViewPath, WorkspaceView,
};

/// The longest name there is in a folder.
const LONGEST_NAME: usize = 255;

/// A tree in memory. Its clones are one.
#[derive(Clone)]
pub struct MemoryView {
    root: PathBuf,
    tree: Arc<Mutex<Tree>>,
}

#[derive(Default)]
struct Tree {
    /// What there is, by its path; the root is not in it.
    entries: BTreeMap<ViewPath, Entry>,
    /// Counts the changes.
    changes: u64,
}

#[derive(Clone)]
enum Entry {
    Folder,
    File { bytes: Arc<Vec<u8>>, mode: u32, version: u64 },
    Symlink(PathBuf),
    Pipe,
}

impl MemoryView {
    /// Returns an empty tree whose root processes would see at `root`.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self { root, tree: Arc::default() }
    }

    /// Makes a file, with its folders.
    pub fn put(&self, path: &ViewPath, bytes: &[u8], mode: u32) {
        let mut tree = self.tree();
        tree.make_folders_of(path);
        tree.set_file(path, bytes.to_vec(), mode);
    }

    /// Makes a folder, with those above it.
    pub fn put_folder(&self, path: &ViewPath) {
        let mut tree = self.tree();
        tree.make_folders_of(path);
        tree.entries.insert(path.clone(), Entry::Folder);
    }

    /// Makes a symlink.
    pub fn put_symlink(&self, path: &ViewPath, target: &Path) {
        self.tree().entries.insert(path.clone(), Entry::Symlink(target.to_owned()));
    }

    /// Makes a pipe.
    pub fn put_pipe(&self, path: &ViewPath) {
        self.tree().entries.insert(path.clone(), Entry::Pipe);
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tree {
    fn make_folders_of(&mut self, path: &ViewPath) {
        let mut here = path.clone();
        while let Some((folder, _)) = here.split() {
            if folder.split().is_some() {
                self.entries.insert(folder.clone(), Entry::Folder);
            }
            here = folder;
        }
    }

    fn set_file(&mut self, path: &ViewPath, bytes: Vec<u8>, mode: u32) {
        self.changes += 1;
        let entry = Entry::File { bytes: Arc::new(bytes), mode, version: self.changes };
        self.entries.insert(path.clone(), entry);
    }

    fn get(&self, path: &ViewPath) -> Option<Entry> {
        match path.split() {
            None => Some(Entry::Folder),
            Some(_) => self.entries.get(path).cloned(),
        }
    }

    fn stat(&self, path: &ViewPath) -> Result<FileStat, ViewError> {
        if path.split().is_some() {
            self.must_have_parent(path)?;
        }
        self.get(path).map(|entry| entry.stat()).ok_or(ViewError::Missing)
    }

    /// Checks that the path is one of folders.
    fn must_be_folder(&self, path: &ViewPath) -> Result<(), ViewError> {
        let mut here = ViewPath::default();
        for name in path.names() {
            here = here.join(name).ok_or(ViewError::Missing)?;
            match self.get(&here) {
                Some(Entry::Folder) => {}
                Some(Entry::File { .. } | Entry::Symlink(_) | Entry::Pipe) => {
                    return Err(ViewError::Changed);
                }
                None => return Err(ViewError::Missing),
            }
        }
        Ok(())
    }

    fn must_have_parent(&self, path: &ViewPath) -> Result<(), ViewError> {
        let (folder, name) = path.split().ok_or(ViewError::Folder)?;
        must_be_short(name)?;
        self.must_be_folder(&folder)
    }

    fn is_empty(&self, folder: &ViewPath) -> bool {
        !self.entries.keys().any(|path| path.split().is_some_and(|(above, _)| above == *folder))
    }

    /// Follows `path`, whose symlinks to below `root` lead inside.
    fn find(&self, path: &Path, root: &Path) -> Result<Found, ViewError> {
        if path.is_absolute() {
            return Err(ViewError::Outside { link: None });
        }
        let (mut here, mut left) = (ViewPath::default(), steps(path));
        let (mut link, mut followed) = (None, 0);
        while let Some(step) = left.pop_front() {
            if step == ".." {
                let Some((above, _)) = here.split() else {
                    return Err(ViewError::Outside { link });
                };
                here = above;
                continue;
            }
            must_be_short(&step)?;
            let path = here.join(&step).ok_or(ViewError::Missing)?;
            match self.get(&path) {
                None => return missing(here, step, left),
                Some(Entry::Folder) if here.names().count() == MAX_PATH_DEPTH => {
                    return Err(ViewError::TooDeep);
                }
                Some(Entry::Folder) => here = path,
                Some(Entry::Symlink(target)) => {
                    followed += 1;
                    if followed > MAX_SYMLINKS {
                        return Err(ViewError::Circle);
                    }
                    link = Some(path);
                    let mut ahead = match target.strip_prefix(root) {
                        Ok(below) => {
                            here = ViewPath::default();
                            steps(below)
                        }
                        Err(_) if target.is_absolute() => {
                            return Err(ViewError::Outside { link });
                        }
                        Err(_) => steps(&target),
                    };
                    ahead.append(&mut left);
                    left = ahead;
                }
                Some(file) if left.is_empty() => {
                    return Ok(Found::File { path, stat: file.stat() });
                }
                Some(_) => return Err(ViewError::NotFolder { blocked: path }),
            }
        }
        Ok(Found::Folder(here))
    }
}

impl Entry {
    fn stat(&self) -> FileStat {
        let stat = |kind, size, mode, version| {
            let version = FileVersion([version, 0, 0, 0, 0]);
            FileStat { kind, size, mode, version }
        };
        match self {
            Self::Folder => stat(FileKind::Folder, 0, 0o755, 0),
            Self::File { bytes, mode, version } => {
                stat(FileKind::Regular, bytes.len() as u64, *mode, *version)
            }
            Self::Symlink(_) => stat(FileKind::Symlink, 0, 0o777, 0),
            Self::Pipe => stat(FileKind::Special, 0, 0o644, 0),
        }
    }
}

fn steps(path: &Path) -> VecDeque<OsString> {
    let step = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(step).collect()
}

fn missing(above: ViewPath, step: OsString, left: VecDeque<OsString>) -> Result<Found, ViewError> {
    if left.iter().any(|step| step == "..") {
        return Err(ViewError::Missing);
    }
    let rest: Vec<_> = std::iter::once(step).chain(left).collect();
    match above.names().count() + rest.len() > MAX_PATH_DEPTH + 1 {
        true => Err(ViewError::TooDeep),
        false => Ok(Found::Missing { above, rest }),
    }
}

fn must_be_short(name: &OsStr) -> Result<(), ViewError> {
    match name.len() > LONGEST_NAME {
        true => Err(ViewError::Failed(io::Error::from_raw_os_error(36))), // ENAMETOOLONG
        false => Ok(()),
    }
}

#[async_trait]
impl WorkspaceView for MemoryView {
    fn process_root(&self) -> &Path {
        &self.root
    }

    async fn find(&self, path: &Path) -> Result<Found, ViewError> {
        self.tree().find(path, &self.root)
    }

    async fn stat(&self, path: &ViewPath) -> Result<FileStat, ViewError> {
        self.tree().stat(path)
    }

    async fn open(&self, path: &ViewPath) -> Result<Box<dyn ViewFile>, ViewError> {
        let tree = self.tree();
        let stat = tree.stat(path)?;
        match tree.get(path) {
            Some(Entry::File { bytes, .. }) => Ok(Box::new(MemoryFile { bytes, stat, at: 0 })),
            Some(Entry::Folder) => Err(ViewError::Folder),
            Some(Entry::Pipe) => Err(ViewError::Special),
            Some(Entry::Symlink(_)) => Err(ViewError::Changed),
            None => Err(ViewError::Missing),
        }
    }

    async fn read_dir(&self, path: &ViewPath, most: usize) -> Result<Listing, ViewError> {
        let tree = self.tree();
        tree.must_be_folder(path)?;
        let inside = tree.entries.iter().filter_map(|(entry, what)| {
            let (folder, name) = entry.split()?;
            (folder == *path).then(|| (name.to_owned(), what.stat().kind))
        });
        let mut names: Vec<_> = inside.collect();
        let is_cut = names.len() > most;
        names.truncate(most);
        Ok(Listing { names, is_cut }.sorted())
    }

    async fn make_folders(&self, path: &ViewPath) -> Result<(), ViewError> {
        let mut tree = self.tree();
        let mut here = ViewPath::default();
        for name in path.names() {
            must_be_short(name)?;
            here = here.join(name).ok_or(ViewError::Missing)?;
            match tree.must_be_folder(&here) {
                Err(ViewError::Missing) => {
                    tree.entries.insert(here.clone(), Entry::Folder);
                }
                there => there?,
            }
        }
        Ok(())
    }

    async fn write(
        &self,
        path: &ViewPath,
        bytes: Vec<u8>,
        replace: Replace,
    ) -> Result<(), ViewError> {
        let mut tree = self.tree();
        tree.must_have_parent(path)?;
        let stat = tree.stat(path);
        let mode = match replace {
            Replace::Any => 0o644,
            Replace::Absent { mode } => match &stat {
                Err(ViewError::Missing) => mode.unwrap_or(0o644),
                Ok(_) => return Err(ViewError::Changed),
                Err(_) => return stat.map(drop),
            },
            Replace::Exactly(version) => match &stat {
                Ok(stat) if stat.version == version => stat.mode,
                Ok(_) | Err(_) => return Err(ViewError::Changed),
            },
        };
        if stat.is_ok_and(|stat| stat.kind == FileKind::Folder) {
            return Err(ViewError::Failed(io::ErrorKind::IsADirectory.into()));
        }
        tree.set_file(path, bytes, mode);
        Ok(())
    }

    async fn remove(&self, path: &ViewPath) -> Result<(), ViewError> {
        let mut tree = self.tree();
        tree.must_have_parent(path)?;
        if tree.stat(path)?.kind == FileKind::Folder && !tree.is_empty(path) {
            return Err(ViewError::Failed(io::ErrorKind::DirectoryNotEmpty.into()));
        }
        tree.entries.remove(path);
        Ok(())
    }
}

struct MemoryFile {
    bytes: Arc<Vec<u8>>,
    stat: FileStat,
    at: usize,
}

#[async_trait]
impl ViewFile for MemoryFile {
    fn stat(&self) -> FileStat {
        self.stat
    }

    async fn read(&mut self, most: usize) -> Result<Vec<u8>, ViewError> {
        let end = self.bytes.len().min(self.at.saturating_add(most));
        let read = self.bytes[self.at..end].to_vec();
        self.at = end;
        Ok(read)
    }
}
