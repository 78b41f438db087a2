//! Lists one folder of a working tree, with the stat of each entry.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use protocol::RepoPath;
use rustix::fs::{AtFlags, Dir, FileType, Mode, chmodat, statat};
use rustix::io::Errno;

use crate::error::{OrCannot, Result};
use crate::tree::{Parent, Stat, Tree};

/// A folder and its entries.
pub(crate) struct FolderListing {
    /// The descriptor of the folder.
    pub(crate) fd: OwnedFd,
    /// The entries with names that git accepts, sorted by name.
    pub(crate) entries: Vec<ListedEntry>,
    /// Whether the folder is the root of a repository of its own.
    pub(crate) repository: RepositoryRoot,
    /// The names that git does not accept, except for `.git` itself.
    pub(crate) invalid_names: Vec<OsString>,
}

impl FolderListing {
    /// Returns the stat of `name` in the folder, if it still exists.
    pub(crate) fn stat(&self, name: &OsStr) -> std::result::Result<Option<Stat>, Errno> {
        match statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Stat::of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Whether a folder is the root of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepositoryRoot {
    /// The folder has a `.git` entry.
    Yes,
    /// The folder has no `.git` entry.
    No,
}

/// One entry of a folder.
pub(crate) struct ListedEntry {
    /// Its name.
    pub(crate) name: OsString,
    /// Its stat.
    pub(crate) stat: Stat,
}

impl ListedEntry {
    /// Returns whether the entry is a folder.
    pub(crate) fn is_folder(&self) -> bool {
        FileType::from_raw_mode(self.stat.mode) == FileType::Directory
    }
}

impl Tree {
    /// Lists the folder at `folder`, which is empty for the root. Returns `None` if it does not
    /// exist any more or is not a folder any more.
    pub(crate) fn list(&self, folder: &[u8]) -> Result<Option<FolderListing>> {
        self.list_without(folder, &|_| false)
    }

    /// Lists a folder like [`Self::list`], but without the entries whose names are `known`: their
    /// stats are not read.
    fn list_without(
        &self,
        folder: &[u8],
        known: &dyn Fn(&OsStr) -> bool,
    ) -> Result<Option<FolderListing>> {
        let printable = || self.root().join(OsStr::from_bytes(folder)).display().to_string();
        let fd = match self.open(folder) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(error) => return Err(error).or_cannot(|| format!("open {}", printable())),
        };
        list(fd, known).map(Some).or_cannot(|| format!("list {}", printable()))
    }
}

/// The permissions that an owner needs to read a folder or a file.
const READABLE: u32 = 0o500;

impl Tree {
    /// Lists a folder of a workspace, without the entries whose names are `known`. If the permissions
    /// of the folder forbid listing, makes the folder readable for its owner first.
    pub(crate) fn list_readable(
        &self,
        folder: &[u8],
        known: &dyn Fn(&OsStr) -> bool,
    ) -> Result<Option<FolderListing>> {
        let shut = matches!(self.open(folder), Err(Errno::ACCESS));
        if shut && let Some(path) = RepoPath::new(folder) {
            self.make_readable(&path)?;
        }
        self.list_without(folder, known)
    }

    /// Returns the stat of the file `name` in a folder, if it exists.
    pub(crate) fn stat_below(
        &self,
        folder: &[u8],
        name: &OsStr,
    ) -> std::result::Result<Option<Stat>, Errno> {
        match statat(&self.open(folder)?, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Stat::of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a folder of a workspace. If its permissions forbid that, makes it readable for its owner
    /// first.
    pub(crate) fn open_readable(&self, folder: &[u8]) -> Result<OwnedFd> {
        let what = || format!("open {}", self.root().join(OsStr::from_bytes(folder)).display());
        match (self.open(folder), RepoPath::new(folder)) {
            (Err(Errno::ACCESS), Some(path)) => {
                self.make_readable(&path)?;
                self.open(folder).or_cannot(what)
            }
            (opened, _) => opened.or_cannot(what),
        }
    }

    /// Makes the entry at `path` readable for its owner. A symlink is left alone.
    pub(crate) fn make_readable(&self, path: &RepoPath) -> Result<()> {
        let what = || format!("read {path} in {}", self.root().display());
        let Parent::Folder { fd, name } = self.parent(path)? else { return Ok(()) };
        let stat = statat(&fd, &name, AtFlags::SYMLINK_NOFOLLOW).or_cannot(what)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Ok(());
        }
        let mode = Mode::from_raw_mode(stat.st_mode & 0o7777 | READABLE);
        chmodat(&fd, &name, mode, AtFlags::empty()).or_cannot(what)
    }
}

fn list(fd: OwnedFd, known: &dyn Fn(&OsStr) -> bool) -> std::result::Result<FolderListing, Errno> {
    let mut listing = FolderListing {
        fd,
        entries: Vec::new(),
        repository: RepositoryRoot::No,
        invalid_names: Vec::new(),
    };
    for entry in Dir::read_from(&listing.fd)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") || known(OsStr::from_bytes(name)) {
            continue;
        }
        if name == b".git" {
            listing.repository = RepositoryRoot::Yes;
        } else if RepoPath::new(name).is_none() {
            listing.invalid_names.push(OsString::from_vec(name.to_vec()));
        } else {
            match statat(&listing.fd, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => listing.entries.push(ListedEntry {
                    name: OsString::from_vec(name.to_vec()),
                    stat: Stat::of(&stat),
                }),
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error),
            }
        }
    }
    listing.entries.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(listing)
}

/// Returns the path of `name` in `folder`, which is empty for the root.
pub(crate) fn join(folder: &[u8], name: &OsStr) -> Vec<u8> {
    if folder.is_empty() {
        name.as_bytes().to_vec()
    } else {
        [folder, b"/", name.as_bytes()].concat()
    }
}
