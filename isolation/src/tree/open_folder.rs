//! Opens folders of a working tree, component by component, without following a symlink.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use protocol::RepoPath;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, openat, openat2, statat};
use rustix::io::Errno;

use crate::error::{OrCannot, Result};
use crate::tree::Tree;

/// The folder that contains a path.
pub(crate) enum Parent {
    /// The folder exists.
    Folder {
        /// The folder.
        fd: OwnedFd,
        /// The last component of the path.
        name: OsString,
    },
    /// The folder, or one above it, is missing.
    Missing,
    /// Something that is not a folder is at this path.
    Blocked(RepoPath),
}

/// Splits a path into its folder, which is empty for the root, and its last component.
pub(crate) fn split(path: &RepoPath) -> (&[u8], &OsStr) {
    let bytes = path.as_bytes();
    let (folder, name) = match bytes.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&bytes[..slash], &bytes[slash + 1..]),
        None => (&b""[..], bytes),
    };
    (folder, OsStr::from_bytes(name))
}

/// Opens the root folder of a tree. Its path is canonical, but a task may have replaced the last
/// component by a symlink.
pub(super) fn open_folder(path: &Path) -> std::result::Result<OwnedFd, Errno> {
    openat(CWD, path, FOLDER.union(OFlags::NOFOLLOW), Mode::empty())
}

/// Opens the folder `name` in the folder `fd`, unless it is a symlink or no folder.
pub(crate) fn open_below(fd: impl AsFd, name: &OsStr) -> std::result::Result<OwnedFd, Errno> {
    openat(fd, name, FOLDER.union(OFlags::NOFOLLOW), Mode::empty())
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Tree {
    /// Opens the folder that contains `path`.
    pub(crate) fn parent(&self, path: &RepoPath) -> Result<Parent> {
        let what = || format!("open the folder of {path} in {}", self.root().display());
        let (folder, name) = split(path);
        match self.open(folder) {
            Ok(fd) => Ok(Parent::Folder { fd, name: name.to_owned() }),
            Err(Errno::NOENT) => Ok(Parent::Missing),
            Err(Errno::NOTDIR | Errno::LOOP) => self.blocked(path).or_cannot(what),
            Err(error) => Err(error).or_cannot(what),
        }
    }

    /// Opens a folder below the root; the root itself if `folder` is empty.
    pub(crate) fn open(&self, folder: &[u8]) -> std::result::Result<OwnedFd, Errno> {
        let folder = if folder.is_empty() { &b"."[..] } else { folder };
        let within =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(self.fd(), OsStr::from_bytes(folder), FOLDER, Mode::empty(), within) {
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => self.open_by_steps(folder),
            // A concurrent rename in the path makes the kernel give up.
            Err(Errno::AGAIN) => self.open_by_steps(folder),
            opened => opened,
        }
    }

    /// Does the same as [`Self::open`] without `openat2`, which old kernels and some sandboxes
    /// lack.
    fn open_by_steps(&self, folder: &[u8]) -> std::result::Result<OwnedFd, Errno> {
        let mut here = open_below(self.fd(), OsStr::new("."))?;
        for component in folder.split(|byte| *byte == b'/').filter(|component| component != b".") {
            here = open_below(&here, OsStr::from_bytes(component))?;
        }
        Ok(here)
    }

    /// Finds the first component on the way to `path` that is not a folder.
    fn blocked(&self, path: &RepoPath) -> std::result::Result<Parent, Errno> {
        let mut folders: Vec<RepoPath> = path.folders().collect();
        folders.reverse();
        let mut here = open_below(self.fd(), OsStr::new("."))?;
        for folder in folders {
            let name = folder.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            let name = OsStr::from_bytes(name);
            match statat(&here, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => return Ok(Parent::Missing),
                Err(error) => return Err(error),
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::Directory => {
                    return Ok(Parent::Blocked(folder));
                }
                Ok(_) => here = open_below(&here, name)?,
            }
        }
        // It has become a folder since.
        Err(Errno::AGAIN)
    }
}
