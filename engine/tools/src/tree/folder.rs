//! Folders of the tree: what is in one, and making those that a new file needs.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, statat};
use rustix::io::Errno;

use super::walk::HELD;

/// What is in a folder.
pub(crate) struct Listing {
    /// The names, in the order in which people look for them, with what they are.
    pub(crate) names: Vec<(OsString, FileType)>,
    /// Whether there are more than were looked at.
    pub(crate) is_cut: bool,
}

/// Returns what is in a folder, as far as the first `most` names go.
pub(crate) fn list(folder: &OwnedFd, most: usize) -> Result<Listing, Errno> {
    // What is held is not readable: it is opened again.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut names = Vec::new();
    let mut is_cut = false;
    for entry in Dir::new(openat(folder, c".", flags, Mode::empty())?)? {
        let entry = entry?;
        let kind = match entry.file_type() {
            // Not every file system tells. What is gone meanwhile is as unknown as before.
            FileType::Unknown => statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            known => known,
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
    names.sort_by_cached_key(|(name, _)| (name.to_string_lossy().to_lowercase(), name.clone()));
    Ok(Listing { names, is_cut })
}

/// Makes the folders `names`, each in the one before, the first in `folder`, and returns the last.
pub(crate) fn make_folders(folder: OwnedFd, names: &[OsString]) -> Result<OwnedFd, Errno> {
    let mut here = folder;
    for name in names {
        match mkdirat(&here, name, Mode::from_raw_mode(0o777)) {
            // Somebody else may have made it, in which case it must be a folder and no symlink.
            Ok(()) | Err(Errno::EXIST) => here = openat(&here, name, HELD, Mode::empty())?,
            Err(error) => return Err(error),
        }
    }
    Ok(here)
}
