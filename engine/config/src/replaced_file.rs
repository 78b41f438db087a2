//! Files that several processes change: each change has a lock, and replaces the file as a whole.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a change waits between two tries to get the lock.
const PAUSE: Duration = Duration::from_millis(20);

/// Takes the lock `lock`, which ends with the file that is returned; `None` if another process holds it for longer
/// than `limit`.
pub(crate) fn lock(lock: &Path, limit: Duration) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false).mode(0o600);
    let lock = options.open(lock)?;
    let until = Instant::now() + limit;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(Some(lock)),
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Writes a new file with the permissions `mode` beside `file`, and puts it into its place. The caller has the lock.
pub(crate) fn replace(file: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let (target, new) = target_and_new(file)?;
    // A process that was killed may have left it; this one has the lock.
    let _left = fs::remove_file(&new);
    let written = OpenOptions::new().write(true).create_new(true).mode(mode).open(&new);
    let written = written.and_then(|mut file| {
        file.set_permissions(Permissions::from_mode(mode))?;
        file.write_all(bytes)?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&new, &target));
    let replaced = replaced.and_then(|()| {
        // The new name is durable with the folder.
        File::open(target.parent().unwrap_or(Path::new("/")))?.sync_all()
    });
    if replaced.is_err() {
        let _gone = fs::remove_file(&new); // it may not have been made
    }
    replaced
}

/// Returns the file that is replaced, and the one by which.
pub(crate) fn target_and_new(file: &Path) -> io::Result<(PathBuf, PathBuf)> {
    // The file may be a link into a folder of settings that the user keeps elsewhere.
    let target = fs::canonicalize(file).unwrap_or_else(|_new| file.to_owned());
    if fs::metadata(&target).is_ok_and(|meta| meta.permissions().readonly()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    let new = target.with_extension(format!("json.{}.new", std::process::id()));
    Ok((target, new))
}
