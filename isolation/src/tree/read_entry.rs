//! Reads one path of a working tree.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use protocol::RepoPath;
use rustix::fs::{
    AtFlags, FileType, Mode as Permissions, OFlags, fstat, openat, readlinkat, statat,
};
use rustix::io::Errno;

use crate::error::{OrCannot, Result};
use crate::file_entry::Mode;
use crate::tree::letter_case::LetterCases;
use crate::tree::open_folder::{Parent, open_folder};

/// How often a path that changes while it is read is read again.
const TRIES: u32 = 8;

/// A working tree: the user's, or a workspace's.
pub(crate) struct Tree {
    root: PathBuf,
    fd: OwnedFd,
    cases: LetterCases,
}

/// The metadata by which an unchanged file is recognized without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// The size in bytes.
    pub(crate) size: u64,
    /// The time of the last modification, in nanoseconds since 1970.
    pub(crate) mtime_ns: i64,
    /// The time of the last status change, in nanoseconds since 1970.
    pub(crate) ctime_ns: i64,
    /// The inode.
    pub(crate) ino: u64,
    /// The file type and permissions.
    pub(crate) mode: u32,
}

impl Stat {
    /// Converts the system's stat.
    pub(crate) fn of(stat: &rustix::fs::Stat) -> Self {
        let nanoseconds = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000) + rest;
        Self {
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            mtime_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec.cast_signed()),
            ctime_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec.cast_signed()),
            ino: stat.st_ino,
            mode: stat.st_mode,
        }
    }

    /// Returns its mode in git, if git knows this type of file.
    pub(crate) fn kind(&self) -> Option<Mode> {
        match FileType::from_raw_mode(self.mode) {
            FileType::RegularFile => Some(Mode::of_file(self.mode)),
            FileType::Symlink => Some(Mode::Link),
            _ => None,
        }
    }
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TreeEntry {
    /// Nothing.
    Missing,
    /// Nothing, because this part of the path is a file, a symlink or a special file.
    Blocked(RepoPath),
    /// A file.
    File {
        /// Whether it is executable.
        mode: Mode,
        /// Its bytes.
        bytes: Vec<u8>,
        /// Its stat, which was the same before and after reading.
        stat: Stat,
    },
    /// A symlink.
    Link {
        /// Its target.
        target: Vec<u8>,
        /// Its stat, which was the same before and after reading.
        stat: Stat,
    },
    /// A folder.
    Folder,
    /// A socket, a pipe or a device.
    Special,
}

impl Tree {
    /// Opens the tree at `root`.
    pub(crate) fn open_at(root: &Path) -> Result<Self> {
        let fd = open_folder(root).or_cannot(|| format!("open {}", root.display()))?;
        Ok(Self { root: root.to_path_buf(), fd, cases: LetterCases::default() })
    }

    /// Returns the root's path.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the descriptor of the root.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(super) fn cases(&self) -> &LetterCases {
        &self.cases
    }

    /// Returns what is at `path`, with its whole content. An entry whose name differs in case, which
    /// some file systems take for the same, is not at the path.
    pub(crate) fn read_entry(&self, path: &RepoPath) -> Result<TreeEntry> {
        match self.parent(path)? {
            Parent::Missing => Ok(TreeEntry::Missing),
            Parent::Blocked(by) => Ok(TreeEntry::Blocked(by)),
            Parent::Folder { .. } if self.twin(path)?.is_some() => Ok(TreeEntry::Missing),
            Parent::Folder { fd, name } => read_entry_in(&fd, &name)
                .or_cannot(|| format!("read {path} in {}", self.root.display())),
        }
    }
}

/// Returns what is at `name` in the folder `fd`, with its whole content.
pub(crate) fn read_entry_in(fd: &OwnedFd, name: &OsStr) -> io::Result<TreeEntry> {
    let mut tried = 0;
    loop {
        tried += 1;
        let look = if tried == 1 { Look::AtName } else { Look::Opened };
        match try_read_entry(fd, name, look) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::AGAIN) && tried < TRIES => {}
            end => return end,
        }
    }
}

/// The largest file that is read. Its bytes are held in memory.
const LARGEST: u64 = 2 << 30;

/// Which stat a file must have before and after it is read.
#[derive(Clone, Copy)]
enum Look {
    /// That of its name.
    AtName,
    /// That of the file which was opened.
    Opened,
}

/// Reads the entry once. Fails with `EAGAIN` if it changed meanwhile.
fn try_read_entry(fd: &OwnedFd, name: &OsStr, look: Look) -> io::Result<TreeEntry> {
    let before = match statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Stat::of(&stat),
        Err(Errno::NOENT) => return Ok(TreeEntry::Missing),
        Err(error) => return Err(error.into()),
    };
    match FileType::from_raw_mode(before.mode) {
        FileType::Directory => Ok(TreeEntry::Folder),
        FileType::Symlink => {
            let target = readlinkat(fd, name, Vec::new()).map_err(changed)?.into_bytes();
            let after = Stat::of(&statat(fd, name, AtFlags::SYMLINK_NOFOLLOW).map_err(changed)?);
            same(before, after)?;
            Ok(TreeEntry::Link { target, stat: before })
        }
        FileType::RegularFile => {
            // It may have become a pipe meanwhile, which must not block.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let file = openat(fd, name, flags, Permissions::empty()).map_err(changed)?;
            let file = File::from(file);
            // The name may be that of another file by now, and some file systems give a file another
            // inode at each look: then what is opened counts.
            let before = match look {
                Look::AtName => before,
                Look::Opened => Stat::of(&fstat(&file)?),
            };
            if FileType::from_raw_mode(before.mode) != FileType::RegularFile {
                return Err(Errno::AGAIN.into());
            }
            let bytes = read_whole(&file, before)?;
            Ok(TreeEntry::File { mode: Mode::of_file(before.mode), bytes, stat: before })
        }
        _ => Ok(TreeEntry::Special),
    }
}

/// Returns the permissions and the content of an open file. Returns `None` if it is not the one that
/// is at `name` in the folder `fd`, or if it changes meanwhile.
pub(crate) fn read_open(
    fd: &OwnedFd,
    name: &OsStr,
    file: &File,
) -> io::Result<Option<(Mode, Vec<u8>)>> {
    let there = match statat(fd, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Stat::of(&stat),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match read_whole(file, there) {
        Ok(bytes) => Ok(Some((Mode::of_file(there.mode), bytes))),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a file that was `before` when it was looked at. Fails with `EAGAIN` if it is another one, or
/// has changed.
fn read_whole(file: &File, before: Stat) -> io::Result<Vec<u8>> {
    // The system may promise more memory than it has.
    if before.size > LARGEST {
        return Err(Errno::FBIG.into());
    }
    let mut bytes = Vec::new();
    let size = usize::try_from(before.size).unwrap_or(usize::MAX);
    bytes.try_reserve_exact(size).map_err(|_| Errno::NOMEM)?;
    bytes.resize(size, 0);
    file.read_exact_at(&mut bytes, 0).map_err(ended_early)?;
    // A file that has grown has another size now.
    same(before, Stat::of(&fstat(file)?))?;
    Ok(bytes)
}

/// Converts the errors of a path that has changed since it was examined to `EAGAIN`.
fn changed(error: Errno) -> Errno {
    match error {
        Errno::NOENT | Errno::LOOP | Errno::INVAL | Errno::NXIO => Errno::AGAIN,
        other => other,
    }
}

/// Converts the error of a file that has become shorter, or is not a regular file any more, to `EAGAIN`.
fn ended_early(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::NotSeekable => Errno::AGAIN.into(),
        _ => error,
    }
}

fn same(before: Stat, after: Stat) -> io::Result<()> {
    if before == after { Ok(()) } else { Err(Errno::AGAIN.into()) }
}
