//! The file of the stored keys: how it is read, locked and replaced.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::time::Duration;

use serde_json::{Map, Value};

use super::{KeyStore, KeyStoreError, other_shape};
use crate::replaced_file;

/// The maximum size of the file, in bytes.
const LARGEST: u64 = 1 << 20;

/// How long a change waits for the lock.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(10);

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
        let lock = replaced_file::lock(&self.file.with_extension(name), limit);
        let lock = lock.map_err(|error| self.io("lock", error))?;
        lock.ok_or_else(|| KeyStoreError::Locked { file: self.file.clone() })
    }

    /// Writes a new file beside the old one and puts it into its place.
    pub(super) fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        replaced_file::replace(&self.file, bytes, 0o600)
    }

    /// Returns an error if the file cannot be replaced.
    pub(super) fn check_replaceable(&self) -> io::Result<()> {
        let (_target, new) = replaced_file::target_and_new(&self.file)?;
        let probe = new.with_extension("probe");
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&probe)?;
        let _gone = fs::remove_file(&probe); // another thread may have removed it
        Ok(())
    }
}
