//! Puts new bytes in the place of a file at one moment: whoever reads it finds the old ones or the
//! new ones, and never a part.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use protocol::temporary_name;
use rustix::fs::{AtFlags, Mode, OFlags, fchmod, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::error::FileError;
use super::file::{Seen, seen};

/// Distinguishes the files that are being made by this process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Makes `bytes` the content of the file `name` of `folder`. If it was `before`, it must still be
/// that, and its permissions are kept. Errors call it `path`.
pub(crate) fn replace(
    folder: &OwnedFd,
    name: &OsStr,
    bytes: &[u8],
    before: Option<Seen>,
    path: &str,
) -> Result<(), FileError> {
    let cannot = |error: std::io::Error| FileError::cannot("write", path, error);
    let (temporary, file) = create(folder).map_err(|error| cannot(error.into()))?;
    let exchanged = fill(file, bytes, before).map_err(cannot).and_then(|()| {
        if before.is_some_and(|before| !still(folder, name, before)) {
            return Err(FileError::Changed(path.to_owned()));
        }
        renameat(folder, &temporary, folder, name).map_err(|error| cannot(error.into()))
    });
    if exchanged.is_err() {
        // What is left of it then is a stray file; the error that is told is the first.
        let _stray = unlinkat(folder, &temporary, AtFlags::empty());
    }
    exchanged
}

/// Whether the file is as it was seen.
fn still(folder: &OwnedFd, name: &OsStr, before: Seen) -> bool {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| seen(&stat) == before)
}

fn create(folder: &OwnedFd) -> Result<(String, File), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = temporary_name(std::process::id(), number);
        match openat(folder, &name, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => return Ok((name, File::from(file))),
            // Left there by a process before us.
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
}

fn fill(mut file: File, bytes: &[u8], before: Option<Seen>) -> std::io::Result<()> {
    file.write_all(bytes)?;
    if let Some(before) = before {
        fchmod(&file, Mode::from_raw_mode(before.mode))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{CWD, stat};

    use super::*;

    #[test]
    fn a_file_that_was_changed_meanwhile_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        fs::write(&path, "old").unwrap();
        let before = seen(&stat(&path).unwrap());
        let folder = openat(CWD, place.path(), OFlags::PATH, Mode::empty()).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        let refused = replace(&folder, OsStr::new("a"), b"ours", Some(before), "a").unwrap_err();
        assert!(matches!(refused, FileError::Changed(_)), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        fs::remove_file(&path).unwrap();
        let refused = replace(&folder, OsStr::new("a"), b"ours", Some(before), "a").unwrap_err();
        assert!(matches!(refused, FileError::Changed(_)), "{refused}");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn who_reads_finds_the_old_or_the_new_whole() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        let contents = ["a".repeat(1 << 20), "b".repeat(1 << 20)];
        fs::write(&path, &contents[0]).unwrap();
        let folder = openat(CWD, place.path(), OFlags::PATH, Mode::empty()).unwrap();
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                for content in contents.iter().cycle().take(40) {
                    replace(&folder, OsStr::new("a"), content.as_bytes(), None, "a").unwrap();
                }
            });
            while !writing.is_finished() {
                let read = fs::read_to_string(&path).unwrap();
                assert!(contents.contains(&read), "{} bytes", read.len());
            }
        });
    }
}
