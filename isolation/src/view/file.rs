//! Files of a folder that is a workspace: what they are, and reading regular ones only, whatever
//! stands in their place meanwhile.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;

use engine::ports::{FileKind, FileStat, FileVersion, ViewError};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

use super::error::{path_error, system_error};

/// Returns what a view says of a file with this stat.
#[expect(clippy::useless_conversion, reason = "the types of the fields differ between machines")]
pub(super) fn file_stat(stat: &Stat) -> FileStat {
    let size = u64::try_from(stat.st_size).unwrap_or_default();
    let seconds = i64::from(stat.st_ctime).cast_unsigned();
    let nanos = u64::try_from(stat.st_ctime_nsec).unwrap_or_default();
    FileStat {
        kind: kind(FileType::from_raw_mode(stat.st_mode)),
        size,
        mode: stat.st_mode & 0o7777,
        version: FileVersion([stat.st_dev.into(), stat.st_ino.into(), size, seconds, nanos]),
    }
}

/// Returns what a view calls this type of file.
pub(super) fn kind(file_type: FileType) -> FileKind {
    match file_type {
        FileType::RegularFile => FileKind::Regular,
        FileType::Directory => FileKind::Folder,
        FileType::Symlink => FileKind::Symlink,
        _ => FileKind::Special,
    }
}

/// Returns what the entry `name` of `folder` is.
pub(super) fn stat(folder: &OwnedFd, name: &OsStr) -> Result<FileStat, ViewError> {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(path_error)?;
    Ok(file_stat(&stat))
}

/// Opens the file `name` of `folder` to read it.
///
/// What is not a regular file is not opened at all: opening a pipe or a device does things.
pub(super) fn open(folder: &OwnedFd, name: &OsStr) -> Result<(File, FileStat), ViewError> {
    must_be_regular(stat(folder, name)?)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match openat(folder, name, flags | OFlags::CLOEXEC, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NXIO) => return Err(ViewError::Special),
        Err(error) => return Err(path_error(error)),
    };
    let stat = file_stat(&fstat(&file).map_err(system_error)?);
    must_be_regular(stat)?;
    Ok((File::from(file), stat))
}

fn must_be_regular(stat: FileStat) -> Result<(), ViewError> {
    match stat.kind {
        FileKind::Regular => Ok(()),
        FileKind::Folder => Err(ViewError::Folder),
        FileKind::Symlink => Err(ViewError::Changed),
        FileKind::Special => Err(ViewError::Special),
    }
}
