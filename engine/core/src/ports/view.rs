//! The port through which tools access the files of a workspace. Paths cannot lead out of its root.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use async_trait::async_trait;

use super::view_batches::{self, FileVisitor, FolderContents, FolderRequest};

/// The maximum number of folders in a path.
pub const MAX_PATH_DEPTH: usize = 128;

/// The maximum number of symlinks to follow for one path.
pub const MAX_SYMLINKS: u32 = 40;

/// The files of one workspace. Each isolation mode supplies its own view, so that tools do not
/// depend on where files are.
///
/// Only [`WorkspaceView::find`] follows symlinks, and only within the tree. All other functions
/// take a path that `find` returned, and fail with [`ViewError::Changed`] if a folder of that path
/// is not a folder any more.
#[async_trait]
pub trait WorkspaceView: Send + Sync {
    /// Returns the absolute path of the root for child processes. Whoever has asked for it may have
    /// started one: what it changes is found only by looking at every file.
    fn process_root(&self) -> &Path;

    /// Converts an absolute path as seen by child processes to a path relative to the root. Returns
    /// `None` if the path is not below the root.
    async fn inside(&self, absolute: &Path) -> Option<PathBuf> {
        absolute.strip_prefix(self.process_root()).ok().map(Path::to_owned)
    }

    /// Resolves a path relative to the root. `..` is the parent of the folder reached so far, also
    /// after a symlink.
    async fn find(&self, path: &Path) -> Result<Found, ViewError>;

    /// Returns the metadata of `path`. A symlink is not followed.
    async fn stat(&self, path: &ViewPath) -> Result<FileStat, ViewError>;

    /// Opens a regular file for reading.
    async fn open(&self, path: &ViewPath) -> Result<Box<dyn ViewFile>, ViewError>;

    /// Returns the entries of a folder, at most `most` of them.
    async fn read_dir(&self, path: &ViewPath, most: usize) -> Result<Listing, ViewError>;

    /// Reads several folders in one step. Returns the result of each of them, in their order, but not of
    /// those behind the one with which there were enough entries.
    async fn read_folders(
        &self,
        folders: &[ViewPath],
        request: FolderRequest,
    ) -> Result<Vec<Result<FolderContents, ViewError>>, ViewError> {
        Ok(view_batches::read_folders(self, folders, request).await)
    }

    /// Visits several regular files in one step, in their order, at most the first `most` bytes of each.
    async fn visit_files(
        &self,
        paths: &[ViewPath],
        most: u64,
        visit: FileVisitor,
    ) -> Result<(), ViewError> {
        view_batches::visit_files(self, paths, most, visit).await;
        Ok(())
    }

    /// Creates a folder and its missing parents. Succeeds if it exists.
    async fn make_folders(&self, path: &ViewPath) -> Result<(), ViewError>;

    /// Replaces the content of a file atomically: a reader sees either the old content or the new.
    /// The folder of the file has to exist. With [`Replace::Exactly`], the file keeps its mode.
    async fn write(
        &self,
        path: &ViewPath,
        bytes: Vec<u8>,
        replace: Replace,
    ) -> Result<(), ViewError>;

    /// Removes a file, a symlink or an empty folder.
    async fn remove(&self, path: &ViewPath) -> Result<(), ViewError>;
}

/// A regular file of a view, open for reading from its start. If the file is replaced in the tree,
/// [`ViewFile::read`] continues to return the old content.
#[async_trait]
pub trait ViewFile: Send + Sync {
    /// Returns the metadata of the file at the time it was opened.
    fn stat(&self) -> FileStat;

    /// Reads the next bytes: up to `most`, and none at the end of the file.
    async fn read(&mut self, most: usize) -> Result<Vec<u8>, ViewError>;
}

/// A path relative to the root of a view: names without `..`. The root is the empty path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ViewPath(PathBuf);

impl ViewPath {
    /// Returns the path if it is relative and contains only names.
    #[must_use]
    pub fn new(path: &Path) -> Option<Self> {
        let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
        // `components` drops trailing slashes and `.`.
        path.components().all(is_name).then(|| Self(path.components().collect()))
    }

    /// Returns the path of the entry `name` in this folder, if `name` is a single name.
    #[must_use]
    pub fn join(&self, name: &OsStr) -> Option<Self> {
        let mut parts = Path::new(name).components();
        let is_name = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
        is_name.then(|| Self(self.0.join(name)))
    }

    /// Returns the parent folder and the last name; `None` for the root.
    #[must_use]
    pub fn split(&self) -> Option<(Self, &OsStr)> {
        Some((Self(self.0.parent()?.to_owned()), self.0.file_name()?))
    }

    /// Returns the names of the path, starting at the root.
    pub fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.0.iter()
    }

    /// Returns the path as a relative file system path.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

/// The result of resolving a path. The paths in it contain no symlinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The path is a folder.
    Folder(ViewPath),
    /// The path is neither a folder nor a symlink.
    File {
        /// The resolved path.
        path: ViewPath,
        /// The metadata.
        stat: FileStat,
    },
    /// The path does not exist.
    Missing {
        /// The nearest existing folder.
        above: ViewPath,
        /// The names below that folder that do not exist.
        rest: Vec<OsString>,
    },
}

impl Found {
    /// Returns the path relative to the root. It need not exist.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Folder(path) | Self::File { path, .. } => path.as_path().to_owned(),
            Self::Missing { above, rest } => above.as_path().join(rest.iter().collect::<PathBuf>()),
        }
    }
}

/// The metadata of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// The kind of the file.
    pub kind: FileKind,
    /// The size in bytes.
    pub size: u64,
    /// The permission bits.
    pub mode: u32,
    /// The version of the file, to detect changes.
    pub version: FileVersion,
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A folder.
    Folder,
    /// A symlink.
    Symlink,
    /// A device, a pipe, a socket, or something unknown.
    Special,
}

/// The version of a file. Equal versions mean unchanged content. Versions of different views cannot
/// be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileVersion(pub [u64; 5]);

/// Which file a write may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// Any file or none.
    Any,
    /// No file. If there is one, the write fails with [`ViewError::Changed`].
    Absent {
        /// The permission bits of the new file; the usual ones if left out.
        mode: Option<u32>,
    },
    /// Only the file in this version. Otherwise the write fails with [`ViewError::Changed`].
    Exactly(FileVersion),
}

/// The entries of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The names and kinds of the entries, sorted without regard to case.
    pub names: Vec<(OsString, FileKind)>,
    /// Whether the folder has more entries.
    pub is_cut: bool,
}

impl Listing {
    /// Returns the listing with its names sorted.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.names
            .sort_by_cached_key(|(name, _)| (name.to_string_lossy().to_lowercase(), name.clone()));
        self
    }
}

/// An error of a view.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The path leads out of the root.
    #[error("it is outside of the tree")]
    Outside {
        /// The last symlink that was followed, if any.
        link: Option<ViewPath>,
    },
    /// The symlinks form a cycle.
    #[error("too many symlinks")]
    Circle,
    /// The path has more than [`MAX_PATH_DEPTH`] folders.
    #[error("too many folders below each other")]
    TooDeep,
    /// A part of the path is not a folder.
    #[error("not a folder: {}", .blocked.as_path().display())]
    NotFolder {
        /// The path of that part.
        blocked: ViewPath,
    },
    /// The path does not exist.
    #[error("it does not exist")]
    Missing,
    /// The path is a folder.
    #[error("it is a folder")]
    Folder,
    /// The path is a device, a pipe or a socket.
    #[error("it is not a regular file")]
    Special,
    /// The file was changed by something else.
    #[error("it was changed by something else")]
    Changed,
    /// The system is out of a resource: disk space, memory or file descriptors.
    #[error(transparent)]
    Resources(io::Error),
    /// Another error of the system.
    #[error(transparent)]
    Failed(io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_view_consists_of_names() {
        for bad in ["/", "/a", "..", "a/..", "../a", "./a/../b"] {
            assert_eq!(ViewPath::new(Path::new(bad)), None, "{bad}");
        }
        let path = ViewPath::new(Path::new("a/./b/")).unwrap();
        assert_eq!(path.as_path(), Path::new("a/b"));
        assert_eq!(ViewPath::new(Path::new("")).unwrap(), ViewPath::default());
        let (folder, name) = path.split().unwrap();
        assert_eq!((folder.as_path(), name), (Path::new("a"), OsStr::new("b")));
        assert_eq!(ViewPath::default().split(), None);
        for bad in ["", ".", "..", "a/b", "/"] {
            assert_eq!(path.join(OsStr::new(bad)), None, "{bad}");
        }
        assert_eq!(folder.join(name), Some(path));
    }

    #[test]
    fn names_are_listed_without_regard_to_case() {
        let names = ["b", "A", "a"].map(|name| (OsString::from(name), FileKind::Regular));
        let listed = Listing { names: names.to_vec(), is_cut: false }.sorted().names;
        assert_eq!(listed.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), ["A", "a", "b"]);
    }
}
