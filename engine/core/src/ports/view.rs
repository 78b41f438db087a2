//! How tools see a workspace: files and folders below a root that cannot be left.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use async_trait::async_trait;

/// How many folders a path may have below each other.
pub const MAX_PATH_DEPTH: usize = 128;

/// How many symlinks are followed on the way to one file.
pub const MAX_SYMLINKS: u32 = 40;

/// A view of one workspace. A backend supplies it, so that no tool depends on where files are.
///
/// Only [`WorkspaceView::find`] follows symlinks, and none that leads out of the tree. All other
/// functions take the path that it returned, and fail with [`ViewError::Changed`] where a folder
/// of that path is not a folder any more.
#[async_trait]
pub trait WorkspaceView: Send + Sync {
    /// Returns where child processes see the root of the same tree.
    fn process_root(&self) -> &Path;

    /// Returns the rest of an absolute path that processes see below the root.
    async fn inside(&self, absolute: &Path) -> Option<PathBuf> {
        absolute.strip_prefix(self.process_root()).ok().map(Path::to_owned)
    }

    /// Follows a path from the root. It is relative; `..` is the folder above the one that was
    /// reached, also behind a symlink.
    async fn find(&self, path: &Path) -> Result<Found, ViewError>;

    /// Returns what stands at `path`. A symlink is not followed.
    async fn stat(&self, path: &ViewPath) -> Result<FileStat, ViewError>;

    /// Opens a regular file to read it.
    async fn open(&self, path: &ViewPath) -> Result<Box<dyn ViewFile>, ViewError>;

    /// Returns what is in a folder, as far as the first `most` names go.
    async fn read_dir(&self, path: &ViewPath, most: usize) -> Result<Listing, ViewError>;

    /// Makes a folder, and those above it that are missing. Succeeds if it is there.
    async fn make_folders(&self, path: &ViewPath) -> Result<(), ViewError>;

    /// Makes `bytes` the content of the file at `path` at one moment: who reads it finds the old
    /// content or the new, and never a part. The folder of the file must be there. The mode of a
    /// file that `replace` names is kept.
    async fn write(
        &self,
        path: &ViewPath,
        bytes: Vec<u8>,
        replace: Replace,
    ) -> Result<(), ViewError>;

    /// Gives the file or the folder at `from` the path `to`. A file at `to` is replaced.
    async fn rename(&self, from: &ViewPath, to: &ViewPath) -> Result<(), ViewError>;

    /// Removes a file, a symlink or an empty folder.
    async fn remove(&self, path: &ViewPath) -> Result<(), ViewError>;
}

/// A regular file of a view, opened to be read from its beginning. What replaces it in the tree
/// does not change what is read.
#[async_trait]
pub trait ViewFile: Send + Sync {
    /// Returns what the file was when it was opened.
    fn stat(&self) -> FileStat;

    /// Reads the next bytes: `most` of them, or fewer at the end of the file, after which there
    /// are none.
    async fn read(&mut self, most: usize) -> Result<Vec<u8>, ViewError>;
}

/// A path below the root of a view: names only, no `..`. The root is the empty path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ViewPath(PathBuf);

impl ViewPath {
    /// Returns the path if it is relative and consists of names.
    #[must_use]
    pub fn new(path: &Path) -> Option<Self> {
        let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
        // Its components leave out what means nothing: slashes at the end and dots.
        path.components().all(is_name).then(|| Self(path.components().collect()))
    }

    /// Returns the path of the entry `name` of this folder, if that is a name.
    #[must_use]
    pub fn join(&self, name: &OsStr) -> Option<Self> {
        let mut parts = Path::new(name).components();
        let is_name = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
        is_name.then(|| Self(self.0.join(name)))
    }

    /// Returns the folder of this path and its name in it; nothing for the root.
    #[must_use]
    pub fn split(&self) -> Option<(Self, &OsStr)> {
        Some((Self(self.0.parent()?.to_owned()), self.0.file_name()?))
    }

    /// Returns its names, the first in the root.
    pub fn names(&self) -> impl Iterator<Item = &OsStr> {
        self.0.iter()
    }

    /// Returns it as a relative path of the file system.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

/// What a path leads to. No path in it goes through a symlink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A folder.
    Folder(ViewPath),
    /// Something that is neither a folder nor a symlink.
    File {
        /// Its path.
        path: ViewPath,
        /// What it is.
        stat: FileStat,
    },
    /// Nothing.
    Missing {
        /// The nearest folder that exists.
        above: ViewPath,
        /// The names below it that do not exist.
        rest: Vec<OsString>,
    },
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// What kind of entry it is.
    pub kind: FileKind,
    /// Its size in bytes.
    pub size: u64,
    /// Its permission bits.
    pub mode: u32,
    /// The state it is in.
    pub version: FileVersion,
}

/// The kind of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A folder.
    Folder,
    /// A symlink.
    Symlink,
    /// A device, a pipe or a socket; or it could not be told.
    Special,
}

/// What distinguishes one state of a file from another. Only the view that made it can compare it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileVersion(pub [u64; 5]);

/// Which file may be replaced by a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// Whatever is there, or nothing.
    Any,
    /// The file in this state; anything else is [`ViewError::Changed`].
    Exactly(FileVersion),
}

/// What is in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The names with what they are, sorted without regard to case.
    pub names: Vec<(OsString, FileKind)>,
    /// Whether there are more than were read.
    pub is_cut: bool,
}

impl Listing {
    /// Returns it with its names sorted.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.names
            .sort_by_cached_key(|(name, _)| (name.to_string_lossy().to_lowercase(), name.clone()));
        self
    }
}

/// Why a view could not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The path leads out of the tree.
    #[error("it is outside of the tree")]
    Outside {
        /// The last symlink that was followed, if any was.
        link: Option<ViewPath>,
    },
    /// Its symlinks lead in a circle.
    #[error("too many symlinks")]
    Circle,
    /// It goes through more than [`MAX_PATH_DEPTH`] folders.
    #[error("too many folders below each other")]
    TooDeep,
    /// It goes through something that is not a folder.
    #[error("not a folder: {}", .blocked.as_path().display())]
    NotFolder {
        /// What is in its way.
        blocked: ViewPath,
    },
    /// Nothing is there.
    #[error("it does not exist")]
    Missing,
    /// It is a folder.
    #[error("it is a folder")]
    Folder,
    /// It is a device, a pipe or a socket.
    #[error("it is not a regular file")]
    Special,
    /// It is not what it was.
    #[error("it was changed by something else")]
    Changed,
    /// The machine has no more of something: disk, memory, descriptors.
    #[error(transparent)]
    Resources(io::Error),
    /// The system refused for another reason.
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
