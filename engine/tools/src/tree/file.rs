//! Reading files of the tree: regular ones only, whatever stands in their place meanwhile.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;

use super::error::FileError;

/// What distinguishes one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
    /// Its permissions.
    pub(super) mode: u32,
}

/// Returns what distinguishes the file with this stat.
#[expect(clippy::useless_conversion, reason = "the types of the fields differ between machines")]
pub(crate) fn seen(stat: &Stat) -> Seen {
    Seen {
        device: stat.st_dev.into(),
        inode: stat.st_ino.into(),
        size: size(stat),
        changed: (stat.st_ctime.into(), i64::try_from(stat.st_ctime_nsec).unwrap_or_default()),
        mode: stat.st_mode & 0o7777,
    }
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

/// Opens the file `name` of `folder`, which was seen as `stat`. Errors call it `path`.
///
/// What was no regular file is not opened at all: opening a pipe or a device does things.
pub(crate) fn open_file(
    folder: &OwnedFd,
    name: &OsStr,
    stat: &Stat,
    path: &str,
) -> Result<(File, Stat), FileError> {
    let special = || FileError::Special(path.to_owned());
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(special());
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match openat(folder, name, flags | OFlags::CLOEXEC, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::LOOP | Errno::NXIO) => return Err(special()),
        Err(error) => return Err(FileError::cannot("open", path, error)),
    };
    let stat = fstat(&file).map_err(|error| FileError::cannot("look at", path, error))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(special());
    }
    Ok((File::from(file), stat))
}

/// Reads a file that has at most `most` bytes. Errors call it `path`.
pub(crate) fn read_whole(
    file: &mut File,
    stat: &Stat,
    most: u64,
    path: &str,
) -> Result<Vec<u8>, FileError> {
    let too_large = |bytes| FileError::TooLarge { path: path.to_owned(), bytes, most };
    if size(stat) > most {
        return Err(too_large(size(stat)));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size(stat)).unwrap_or_default());
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| FileError::cannot("read", path, error))?;
    // It has grown meanwhile.
    if bytes.len() as u64 > most {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}
