//! Reads many folders, or many files, in one step on a thread that may block.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};

use engine::ports::{
    FileKind, FileVisitor, FolderContents, FolderEntry, FolderRequest, IGNORE_FILE,
    MAX_IGNORE_BYTES, Sizes, ViewError, ViewPath, VisitedFile,
};

use super::file_operations::{entry_stat, list, open_file, open_folder, system_error};

/// Reads folders below `root`, until there are enough entries.
pub(super) fn read_folders(
    root: &OwnedFd,
    folders: &[ViewPath],
    request: FolderRequest,
) -> Vec<Result<FolderContents, ViewError>> {
    let (mut read, mut entries) = (Vec::new(), 0);
    for folder in folders {
        let contents = below(root, folder).and_then(|folder| contents(&folder, request));
        entries += contents.as_ref().map_or(0, |contents| contents.entries.len());
        read.push(contents);
        if entries >= request.enough {
            break;
        }
    }
    read
}

/// Visits files below `root`, until `visit` has enough.
pub(super) fn visit_files(
    root: &OwnedFd,
    paths: &[ViewPath],
    most: u64,
    mut visit: FileVisitor,
) -> Result<(), ViewError> {
    // The files of a folder come one after the other.
    let mut last: Option<(ViewPath, OwnedFd)> = None;
    for path in paths {
        let Some((folder, name)) = path.split() else { continue };
        let opened = match &last {
            Some((known, handle)) if *known == folder => open_file(handle, name),
            _ => below(root, &folder).and_then(|handle| {
                let opened = open_file(&handle, name);
                last = Some((folder, handle));
                opened
            }),
        };
        let flow = match opened {
            Ok((file, stat)) => {
                visit(path, Ok(VisitedFile { stat, content: &mut file.take(most) }))
            }
            Err(error @ ViewError::Resources(_)) => return Err(error),
            Err(error) => visit(path, Err(error)),
        };
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

fn below(root: &OwnedFd, folder: &ViewPath) -> Result<OwnedFd, ViewError> {
    open_folder(root.as_fd().try_clone_to_owned().map_err(system_error)?, folder)
}

fn contents(folder: &OwnedFd, request: FolderRequest) -> Result<FolderContents, ViewError> {
    let listing = list(folder, request.most)?;
    let entries = listing.names.into_iter().map(|(name, kind)| {
        let size = match (request.sizes, kind) {
            (Sizes::Read, FileKind::Regular) => entry_stat(folder, &name).ok(),
            (Sizes::Read | Sizes::Skip, _) => None,
        };
        FolderEntry { name, kind, size: size.map(|stat| stat.size) }
    });
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let has_rules = |entry: &FolderEntry| {
        entry.kind == FileKind::Regular && entry.name.as_os_str() == IGNORE_FILE
    };
    let ignore_rules = match entries.iter().any(has_rules) {
        true => open_file(folder, IGNORE_FILE.as_ref()).ok(),
        false => None,
    };
    let ignore_rules = ignore_rules.and_then(|(file, _)| beginning(file).ok());
    Ok(FolderContents { entries, is_cut: listing.is_cut, ignore_rules })
}

fn beginning(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_IGNORE_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
