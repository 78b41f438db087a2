//! Replaces the content of a file atomically: a reader sees the old content or the new, never a
//! part.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::ports::{Replace, ViewError};
use protocol::temporary_name;
use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, fchmod, openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;

use super::file_operations::entry_stat;
use super::file_operations::system_error;

/// Numbers the temporary files of this process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Makes `bytes` the content of the file `name` of `folder`. If an exact version is to be replaced,
/// its permissions are kept.
pub(super) fn replace(
    folder: &OwnedFd,
    name: &OsStr,
    bytes: &[u8],
    replace: Replace,
) -> Result<(), ViewError> {
    let mode = mode_of(folder, name, replace)?;
    let (temporary, file) = create(folder).map_err(system_error)?;
    let exchanged = fill(file, bytes, mode).and_then(|()| {
        mode_of(folder, name, replace)?;
        match replace {
            Replace::Absent { .. } => rename_to_nothing(folder, &temporary, name),
            Replace::Any | Replace::Exactly(_) => {
                renameat(folder, &temporary, folder, name).map_err(system_error)
            }
        }
    });
    if exchanged.is_err() {
        // If the removal fails, the temporary file stays, and the first error is returned.
        let _stray = unlinkat(folder, &temporary, AtFlags::empty());
    }
    exchanged
}

/// Returns the permissions that the file gets, if they are not the usual ones. Fails if the file is not
/// the one to replace.
fn mode_of(folder: &OwnedFd, name: &OsStr, replace: Replace) -> Result<Option<Mode>, ViewError> {
    match (replace, entry_stat(folder, name)) {
        (Replace::Any, _) => Ok(None),
        (Replace::Absent { mode }, Err(ViewError::Missing)) => Ok(mode.map(Mode::from_raw_mode)),
        (Replace::Exactly(version), Ok(stat)) if stat.version == version => {
            Ok(Some(Mode::from_raw_mode(stat.mode)))
        }
        (Replace::Absent { .. }, Err(error)) => Err(error),
        (Replace::Absent { .. }, Ok(_)) | (Replace::Exactly(_), Ok(_) | Err(_)) => {
            Err(ViewError::Changed)
        }
    }
}

/// Renames a file unless there is one with that name.
fn rename_to_nothing(folder: &OwnedFd, from: &str, to: &OsStr) -> Result<(), ViewError> {
    match renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        Err(Errno::EXIST) => Err(ViewError::Changed),
        // The file system cannot look and rename in one step. It was looked just now.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            renameat(folder, from, folder, to).map_err(system_error)
        }
        renamed => renamed.map_err(system_error),
    }
}

fn create(folder: &OwnedFd) -> Result<(String, File), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = temporary_name(std::process::id(), number);
        match openat(folder, &name, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => return Ok((name, File::from(file))),
            // An earlier process has left a temporary file with this name.
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
}

fn fill(mut file: File, bytes: &[u8], mode: Option<Mode>) -> Result<(), ViewError> {
    file.write_all(bytes).map_err(system_error)?;
    if let Some(mode) = mode {
        fchmod(&file, mode).map_err(system_error)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::CWD;

    use super::*;

    fn held(path: &std::path::Path) -> OwnedFd {
        openat(CWD, path, OFlags::PATH, Mode::empty()).unwrap()
    }

    #[test]
    fn a_file_that_was_changed_meanwhile_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        fs::write(&path, "old").unwrap();
        let (folder, name) = (held(place.path()), OsStr::new("a"));
        let before = Replace::Exactly(entry_stat(&folder, name).unwrap().version);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        let system_error = replace(&folder, name, b"ours", before).unwrap_err();
        assert!(matches!(system_error, ViewError::Changed), "{system_error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        fs::remove_file(&path).unwrap();
        let system_error = replace(&folder, name, b"ours", before).unwrap_err();
        assert!(matches!(system_error, ViewError::Changed), "{system_error}");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_has_appeared_meanwhile_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let (folder, name) = (held(place.path()), OsStr::new("a"));
        let absent = Replace::Absent { mode: Some(0o751) };
        replace(&folder, name, b"first", absent).unwrap();
        assert_eq!(entry_stat(&folder, name).unwrap().mode & 0o777, 0o751);
        let refused = replace(&folder, name, b"second", absent).unwrap_err();
        assert!(matches!(refused, ViewError::Changed), "{refused}");
        // One that appears after the last look.
        fs::write(place.path().join("temporary"), "third").unwrap();
        let refused = rename_to_nothing(&folder, "temporary", name).unwrap_err();
        assert!(matches!(refused, ViewError::Changed), "{refused}");
        assert_eq!(fs::read_to_string(place.path().join("a")).unwrap(), "first");
    }

    #[test]
    fn who_reads_finds_the_old_or_the_new_whole() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        let contents = ["a".repeat(1 << 20), "b".repeat(1 << 20)];
        fs::write(&path, &contents[0]).unwrap();
        let folder = held(place.path());
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                for content in contents.iter().cycle().take(40) {
                    replace(&folder, OsStr::new("a"), content.as_bytes(), Replace::Any).unwrap();
                }
            });
            while !writing.is_finished() {
                let read = fs::read_to_string(&path).unwrap();
                assert!(contents.contains(&read), "{} bytes", read.len());
            }
        });
    }
}
