//! The stored API keys and logins: `auth.json` in the folder of the user's settings, which only the
//! user can read. A change is made under a lock and replaces the file at once, so that it is never
//! torn.

mod key_file;
mod login;
mod other_shape;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use self::key_file::MAX_WAIT;
pub use self::login::{LoginLock, LoginTokens};
use crate::data_paths::make_private;
use crate::secret::{KeyError, Secret, api_key};

/// The name of a key that was stored without one.
pub const DEFAULT_KEY: &str = "default";

/// The stored keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyStore {
    file: PathBuf,
}

/// One stored key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKey {
    /// The provider.
    pub provider: String,
    /// The name of the key, which is unique for its provider.
    pub name: String,
    /// The key, or the token that a login has brought.
    pub key: Secret,
    /// What else the login has brought, if it is from one.
    pub login: Option<LoginTokens>,
}

/// What was found in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredKeys {
    /// The keys, in the order in which they were stored.
    pub keys: Vec<StoredKey>,
    /// What the user should know about the file.
    pub note: Option<String>,
}

/// Why the stored keys cannot be read or changed. No message contains a key.
#[derive(Debug, thiserror::Error)]
pub enum KeyStoreError {
    /// The file cannot be read, written, or locked.
    #[error("cannot {what} {}", .file.display())]
    Io {
        /// What failed.
        what: &'static str,
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The file is not what this program writes. It is left as it is.
    #[error("{}:{line}: {message}; the file is unchanged", .file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The mistake.
        message: String,
    },
    /// The file belongs to another user, or is not a file, or cannot be written.
    #[error("{} {why}", .file.display())]
    Refused {
        /// The file.
        file: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// Another process holds the lock.
    #[error("another process has been changing {} for {} seconds", .file.display(), MAX_WAIT.as_secs())]
    Locked {
        /// The file.
        file: PathBuf,
    },
    /// The text is not a key.
    #[error("this is not an API key: {0}")]
    Key(#[from] KeyError),
    /// The name of a key has characters that are not allowed.
    #[error("a key is named by up to 40 letters, digits, `.`, `_` and `-`")]
    Name,
}

impl KeyStore {
    /// Returns the keys stored in `file`, which need not exist.
    #[must_use]
    pub fn new(file: PathBuf) -> Self {
        Self { file }
    }

    /// Returns the file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Reads the keys. A file that others can read is closed to them, with a note.
    ///
    /// # Errors
    /// The file cannot be read, or is not what this program writes.
    pub fn read(&self) -> Result<StoredKeys, KeyStoreError> {
        let Some((document, note)) = self.document()? else { return Ok(StoredKeys::default()) };
        Ok(StoredKeys { keys: self.keys_of(&document)?, note })
    }

    /// Stores a key. One of the same provider and name is replaced.
    ///
    /// # Errors
    /// The text is not a key, or the file cannot be changed. It is then as it was.
    pub fn store(&self, provider: &str, name: &str, key: &str) -> Result<(), KeyStoreError> {
        let key = api_key(key)?;
        let entry = json!({ "provider": provider, "name": name, "key": key.expose() });
        self.put(provider, name, entry)
    }

    fn put(&self, provider: &str, name: &str, entry: Value) -> Result<(), KeyStoreError> {
        if !is_key_name(name) {
            return Err(KeyStoreError::Name);
        }
        self.change(|entries| {
            let same = entries.iter_mut().find(|entry| is_key(entry, provider, Some(name)));
            match same {
                Some(same) => *same = entry,
                None => entries.push(entry),
            }
            1
        })
        .map(drop)
    }

    /// Removes the key of this name, or all keys of the provider. Returns how many there were.
    ///
    /// # Errors
    /// The file cannot be changed. It is then as it was.
    pub fn remove(&self, provider: &str, name: Option<&str>) -> Result<usize, KeyStoreError> {
        if !self.file.try_exists().unwrap_or(true) {
            return Ok(0);
        }
        self.change(|entries| {
            let before = entries.len();
            entries.retain(|entry| !is_key(entry, provider, name));
            before - entries.len()
        })
    }

    /// Checks that the file can be changed.
    ///
    /// # Errors
    /// It cannot.
    pub fn check_writable(&self) -> Result<(), KeyStoreError> {
        self.make_folder()?;
        self.check_replaceable().map_err(|source| self.io("write", source))
    }

    /// Changes the list of keys under the lock. `change` returns how many keys it has changed; the
    /// file is not written if that is none.
    fn change(
        &self,
        change: impl FnOnce(&mut Vec<Value>) -> usize,
    ) -> Result<usize, KeyStoreError> {
        self.make_folder()?;
        let _lock = self.lock("json.lock", MAX_WAIT)?;
        let mut document = match self.document()? {
            Some((document, _note)) => document,
            None => Map::from_iter([("version".to_owned(), json!(1))]),
        };
        self.keys_of(&document)?;
        let mut entries = match document.remove("keys") {
            Some(Value::Array(entries)) => entries,
            _ => Vec::new(),
        };
        let changed = change(&mut entries);
        document.insert("keys".to_owned(), Value::Array(entries));
        if changed > 0 {
            let text = format!("{:#}\n", Value::Object(document));
            self.replace(text.as_bytes()).map_err(|source| self.io("write", source))?;
        }
        Ok(changed)
    }

    fn keys_of(&self, document: &Map<String, Value>) -> Result<Vec<StoredKey>, KeyStoreError> {
        let version = document.get("version").and_then(Value::as_u64);
        if version != Some(1) {
            return Err(self.malformed(
                1,
                "`version` must be 1; a later version of Regatta may have written it",
            ));
        }
        let entries = match document.get("keys") {
            Some(Value::Array(entries)) => entries.as_slice(),
            None => &[],
            Some(_other) => return Err(self.malformed(1, "`keys` must be a list")),
        };
        let key = |(at, entry): (usize, &Value)| {
            let text = |name: &str| entry.get(name).and_then(Value::as_str);
            let key = text("key").or_else(|| text("access"));
            let wrong = |why: &str| self.malformed(1, &format!("`keys[{at}]`: {why}"));
            let (Some(provider), Some(name), Some(key)) = (text("provider"), text("name"), key)
            else {
                return Err(wrong("`provider`, `name` and `key` or `access` must be texts"));
            };
            let key = api_key(key).map_err(|error| wrong(&error.to_string()))?;
            let login = LoginTokens::of_entry(entry).map_err(wrong)?;
            Ok(StoredKey { provider: provider.to_owned(), name: name.to_owned(), key, login })
        };
        entries.iter().enumerate().map(key).collect()
    }

    fn make_folder(&self) -> Result<(), KeyStoreError> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        make_private(folder).map_err(|source| self.io("make the folder of", source))
    }

    fn io(&self, what: &'static str, source: io::Error) -> KeyStoreError {
        KeyStoreError::Io { what, file: self.file.clone(), source }
    }

    fn refused(&self, why: &'static str) -> KeyStoreError {
        KeyStoreError::Refused { file: self.file.clone(), why }
    }

    fn malformed(&self, line: usize, message: &str) -> KeyStoreError {
        KeyStoreError::Malformed { file: self.file.clone(), line, message: message.to_owned() }
    }
}

/// Returns whether an entry is the key of this provider and name, or any key of the provider.
fn is_key(entry: &Value, provider: &str, name: Option<&str>) -> bool {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    text("provider") == Some(provider) && name.is_none_or(|name| text("name") == Some(name))
}

/// Returns whether a key can have this name.
#[must_use]
pub fn is_key_name(name: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
    (1..=40).contains(&name.len()) && name.chars().all(allowed)
}

#[cfg(test)]
mod tests;
