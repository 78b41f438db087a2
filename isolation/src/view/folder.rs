//! Folders of a folder that is a workspace: opening one by its path, what is in it, making new
//! ones.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use engine::ports::{FileKind, Listing, ViewError, ViewPath};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, statat};
use rustix::io::Errno;

use super::error::{path_error, system_error};
use super::file::kind;

/// A folder that is held to look for things in it.
pub(super) const FOLDER_HANDLE: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens the folder at `path` below `root`. No symlink is followed.
pub(super) fn open_folder(root: OwnedFd, path: &ViewPath) -> Result<OwnedFd, ViewError> {
    let mut here = root;
    for name in path.names() {
        here = openat(&here, name, FOLDER_HANDLE, Mode::empty()).map_err(path_error)?;
    }
    Ok(here)
}

/// Returns what is in a folder, as far as the first `most` names go.
pub(super) fn list(folder: &OwnedFd, most: usize) -> Result<Listing, ViewError> {
    // What is held is not readable: it is opened again.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder_again = openat(folder, c".", flags, Mode::empty()).map_err(system_error)?;
    let mut names = Vec::new();
    let mut is_cut = false;
    for entry in Dir::new(folder_again).map_err(system_error)? {
        let entry = entry.map_err(system_error)?;
        let kind = match entry.file_type() {
            // Not every file system tells. What is gone meanwhile is as unknown as before.
            FileType::Unknown => statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileKind::Special, |stat| kind(FileType::from_raw_mode(stat.st_mode))),
            known => kind(known),
        };
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if names.len() == most {
            is_cut = true;
            break;
        }
        names.push((OsStr::from_bytes(name).to_owned(), kind));
    }
    Ok(Listing { names, is_cut }.sorted())
}

/// Makes the folders of `path`, each in the one before, the first in `root`.
pub(super) fn make_folders(root: OwnedFd, path: &ViewPath) -> Result<(), ViewError> {
    let mut here = root;
    for name in path.names() {
        match mkdirat(&here, name, Mode::from_raw_mode(0o777)) {
            // Somebody else may have made it, in which case it must be a folder and no symlink.
            Ok(()) | Err(Errno::EXIST) => {
                here = openat(&here, name, FOLDER_HANDLE, Mode::empty()).map_err(path_error)?;
            }
            Err(error) => return Err(system_error(error)),
        }
    }
    Ok(())
}
