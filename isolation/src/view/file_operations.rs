//! The files and folders of a workspace, opened without following symlinks: their metadata, reading
//! regular files, listing and making folders, and the errors of a view.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use engine::ports::{FileKind, FileStat, FileVersion, Listing, ViewError, ViewPath};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, statat};
use rustix::io::Errno;

/// The errors of exhausted resources: processes, memory, descriptors, disk, quota.
const EXHAUSTED: [Errno; 6] =
    [Errno::AGAIN, Errno::NOMEM, Errno::NFILE, Errno::MFILE, Errno::NOSPC, Errno::DQUOT];

/// Converts an error of the system.
pub(super) fn system_error(error: impl Into<std::io::Error>) -> ViewError {
    let error = error.into();
    match Errno::from_io_error(&error) {
        Some(errno) if EXHAUSTED.contains(&errno) => ViewError::Resources(error),
        Some(_) | None => ViewError::Failed(error),
    }
}

/// Converts an error about a resolved path, in which every component existed.
pub(super) fn path_error(error: Errno) -> ViewError {
    match error {
        Errno::NOENT => ViewError::Missing,
        // A folder has become a file or a symlink.
        Errno::LOOP | Errno::NOTDIR => ViewError::Changed,
        other => system_error(other),
    }
}

/// Converts the stat of a file.
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

/// Converts the type of a file.
pub(super) fn kind(file_type: FileType) -> FileKind {
    match file_type {
        FileType::RegularFile => FileKind::Regular,
        FileType::Directory => FileKind::Folder,
        FileType::Symlink => FileKind::Symlink,
        _ => FileKind::Special,
    }
}

/// Returns the stat of the entry `name` of `folder`.
pub(super) fn entry_stat(folder: &OwnedFd, name: &OsStr) -> Result<FileStat, ViewError> {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(path_error)?;
    Ok(file_stat(&stat))
}

/// Opens the file `name` of `folder` for reading.
///
/// Only a regular file is opened: opening a pipe or a device has side effects.
pub(super) fn open_file(folder: &OwnedFd, name: &OsStr) -> Result<(File, FileStat), ViewError> {
    must_be_regular(entry_stat(folder, name)?)?;
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

/// The flags of a folder that is opened for looking up names in it.
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

/// Returns at most `most` entries of a folder.
pub(super) fn list(folder: &OwnedFd, most: usize) -> Result<Listing, ViewError> {
    // The handle is not readable, so the folder is opened again.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder_again = openat(folder, c".", flags, Mode::empty()).map_err(system_error)?;
    let mut names = Vec::new();
    let mut is_cut = false;
    for entry in Dir::new(folder_again).map_err(system_error)? {
        let entry = entry.map_err(system_error)?;
        let kind = match entry.file_type() {
            // Not every file system lists the type. A type that cannot be read stays unknown.
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

/// Makes the folders of `path`, starting in `root`.
pub(super) fn make_folders(root: OwnedFd, path: &ViewPath) -> Result<(), ViewError> {
    let mut here = root;
    for name in path.names() {
        match mkdirat(&here, name, Mode::from_raw_mode(0o777)) {
            // Another program may have made it, in which case it must be a folder and not a
            // symlink.
            Ok(()) | Err(Errno::EXIST) => {
                here = openat(&here, name, FOLDER_HANDLE, Mode::empty()).map_err(path_error)?;
            }
            Err(error) => return Err(system_error(error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_has_run_out_of_is_told_from_what_is_wrong_with_a_file() {
        for errno in EXHAUSTED {
            assert!(matches!(system_error(errno), ViewError::Resources(_)), "{errno}");
        }
        assert!(matches!(system_error(Errno::ACCESS), ViewError::Failed(_)));
        assert!(matches!(path_error(Errno::NOTDIR), ViewError::Changed));
        assert!(matches!(path_error(Errno::NOSPC), ViewError::Resources(_)));
    }
}
