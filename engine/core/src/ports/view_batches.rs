//! What a view reads of many folders or files at once. A search looks at tens of thousands of files:
//! a step onto another thread for each of them would take longer than the search.

use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;

use super::{FileKind, FileStat, ViewError, ViewFile, ViewPath, WorkspaceView};

/// The name of the files with git's ignore rules.
pub const IGNORE_FILE: &str = ".gitignore";

/// The most bytes of such a file that are read.
pub const MAX_IGNORE_BYTES: usize = 1 << 20;

/// What to read of folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FolderRequest {
    /// The maximum number of entries of one folder.
    pub most: usize,
    /// The number of entries after which no further folder is read.
    pub enough: usize,
    /// Whether the sizes of files are read.
    pub sizes: Sizes,
}

/// Whether the sizes of files are read. Each takes one more step on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// They are not read.
    Skip,
    /// They are read.
    Read,
}

/// The entries of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderContents {
    /// The entries, in the order of the bytes of their names.
    pub entries: Vec<FolderEntry>,
    /// Whether the folder has more entries.
    pub is_cut: bool,
    /// The content of its [`IGNORE_FILE`], if that is a regular file.
    pub ignore_rules: Option<Vec<u8>>,
}

impl FolderContents {
    /// Sorts the entries without regard to case.
    pub fn sort_for_people(&mut self) {
        let lower = |entry: &FolderEntry| entry.name.to_string_lossy().to_lowercase();
        self.entries.sort_by_cached_key(|entry| (lower(entry), entry.name.clone()));
    }
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderEntry {
    /// The name.
    pub name: OsString,
    /// The kind.
    pub kind: FileKind,
    /// The size in bytes of a regular file, if it was read.
    pub size: Option<u64>,
}

/// A regular file that is visited.
pub struct VisitedFile<'a> {
    /// The metadata of the file.
    pub stat: FileStat,
    /// The content of the file, from its start.
    pub content: &'a mut dyn io::Read,
}

/// Takes each file that is visited, with its path, or the error why it cannot be read. It runs where it
/// may block, and says whether to go on.
pub type FileVisitor =
    Box<dyn FnMut(&ViewPath, Result<VisitedFile<'_>, ViewError>) -> ControlFlow<()> + Send>;

/// Reads folders of a view that has nothing better than reading one after the other.
pub(super) async fn read_folders(
    view: &(impl WorkspaceView + ?Sized),
    folders: &[ViewPath],
    request: FolderRequest,
) -> Vec<Result<FolderContents, ViewError>> {
    let (mut read, mut entries) = (Vec::new(), 0);
    for folder in folders {
        let contents = read_folder(view, folder, request).await;
        entries += contents.as_ref().map_or(0, |contents| contents.entries.len());
        read.push(contents);
        if entries >= request.enough {
            break;
        }
    }
    read
}

async fn read_folder(
    view: &(impl WorkspaceView + ?Sized),
    folder: &ViewPath,
    request: FolderRequest,
) -> Result<FolderContents, ViewError> {
    let listing = view.read_dir(folder, request.most).await?;
    let mut contents = FolderContents { is_cut: listing.is_cut, ..FolderContents::default() };
    for (name, kind) in listing.names {
        let path = folder.join(&name).ok_or(ViewError::Missing)?;
        let size = match (request.sizes, kind) {
            (Sizes::Read, FileKind::Regular) => view.stat(&path).await.ok().map(|stat| stat.size),
            (Sizes::Read | Sizes::Skip, _) => None,
        };
        if name == IGNORE_FILE && kind == FileKind::Regular {
            let file = view.open(&path).await;
            contents.ignore_rules = match file {
                Ok(mut file) => file.read(MAX_IGNORE_BYTES).await.ok(),
                Err(_) => None,
            };
        }
        contents.entries.push(FolderEntry { name, kind, size });
    }
    contents.entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(contents)
}

/// Visits files of a view that has nothing better than opening one after the other.
pub(super) async fn visit_files(
    view: &(impl WorkspaceView + ?Sized),
    paths: &[ViewPath],
    most: u64,
    mut visit: FileVisitor,
) {
    for path in paths {
        let flow = match open_and_read(view, path, most).await {
            Ok((file, bytes)) => {
                let stat = file.stat();
                visit(path, Ok(VisitedFile { stat, content: &mut bytes.as_slice() }))
            }
            Err(error) => visit(path, Err(error)),
        };
        if flow.is_break() {
            break;
        }
    }
}

async fn open_and_read(
    view: &(impl WorkspaceView + ?Sized),
    path: &ViewPath,
    most: u64,
) -> Result<(Box<dyn ViewFile>, Vec<u8>), ViewError> {
    let mut file = view.open(path).await?;
    let bytes = file.read(usize::try_from(most).unwrap_or(usize::MAX)).await?;
    Ok((file, bytes))
}
