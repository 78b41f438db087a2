//! The file of the stored keys: how it is read, locked and replaced.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::{KeyStore, KeyStoreError, other_shape};

/// The maximum size of the file, in bytes.
const LARGEST: u64 = 1 << 20;

/// How long a change waits for the lock.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(10);

/// How long a change waits between two tries to get the lock.
const PAUSE: Duration = Duration::from_millis(20);

/// The permission bits of group and others.
const OTHERS: u32 = 0o077;

/// What is in the file, and what the user should know about it.
type NotedDocument = (Map<String, Value>, Option<String>);

impl KeyStore {
    /// Reads the file; `None` if it does not exist.
    pub(super) fn document(&self) -> Result<Option<NotedDocument>, KeyStoreError> {
        let file = match File::open(&self.file) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.io("read", error)),
        };
        let meta = file.metadata().map_err(|error| self.io("read", error))?;
        if !meta.is_file() {
            return Err(self.refused("is not a file"));
        }
        let note = self.close_to_others(&file, meta.mode());
        let mut bytes = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| self.io("read", error))?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > LARGEST {
            return Err(self.refused("is larger than 1 MiB, which no file of keys is"));
        }
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(document)) => {
                let document = other_shape::converted(document);
                Ok(Some((document.map_err(|why| self.malformed(1, &why))?, note)))
            }
            Ok(_other) => Err(self.malformed(1, "it must be a JSON object")),
            // The text of the error is not used, because it may quote the file.
            Err(error) => Err(self.malformed(error.line().max(1), "it is not valid JSON")),
        }
    }

    /// Removes the access of group and others from the file, and says so.
    fn close_to_others(&self, file: &File, mode: u32) -> Option<String> {
        if mode & OTHERS == 0 {
            return None;
        }
        let shown = self.file.display();
        Some(match file.set_permissions(Permissions::from_mode(mode & 0o7700)) {
            Ok(()) => format!(
                "{shown} could be read by others (mode {:04o}); it is closed to them now",
                mode & 0o7777
            ),
            Err(error) => format!(
                "{shown} can be read by others (mode {:04o}), and that cannot be changed: {error}",
                mode & 0o7777
            ),
        })
    }

    /// Takes the lock of this name, which ends with the file that is returned.
    pub(super) fn lock(&self, name: &str, limit: Duration) -> Result<File, KeyStoreError> {
        let path = self.file.with_extension(name);
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(&path).map_err(|error| self.io("lock", error))?;
        let until = Instant::now() + limit;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(PAUSE)
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(KeyStoreError::Locked { file: self.file.clone() });
                }
                Err(TryLockError::Error(error)) => return Err(self.io("lock", error)),
            }
        }
    }

    /// Writes a new file beside the old one and puts it into its place.
    pub(super) fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let (target, new) = self.files()?;
        // A process that was killed may have left it; this one has the lock.
        let _left = fs::remove_file(&new);
        let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new);
        let written = written.and_then(|mut file| {
            file.set_permissions(Permissions::from_mode(0o600))?;
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

    /// Returns an error if the file cannot be replaced.
    pub(super) fn check_replaceable(&self) -> io::Result<()> {
        let (_target, new) = self.files()?;
        let probe = new.with_extension("probe");
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&probe)?;
        let _gone = fs::remove_file(&probe); // another thread may have removed it
        Ok(())
    }

    /// Returns the file that is replaced, and the one by which.
    fn files(&self) -> io::Result<(PathBuf, PathBuf)> {
        // The file may be a link into a folder of settings that the user keeps elsewhere.
        let target = fs::canonicalize(&self.file).unwrap_or_else(|_new| self.file.clone());
        if fs::metadata(&target).is_ok_and(|meta| meta.permissions().readonly()) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
        }
        let new = target.with_extension(format!("json.{}.new", std::process::id()));
        Ok((target, new))
    }
}
