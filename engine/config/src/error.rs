//! What can be wrong with settings.

use std::path::PathBuf;

use crate::key::Key;
use crate::origin::Origin;

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The settings file is there but cannot be read.
    #[error("cannot read the settings in {}", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The settings file is larger than any settings are.
    #[error("{} is larger than {limit} bytes, which no settings file is", .file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// How large it may be.
        limit: u64,
    },
    /// The settings file is not text, not YAML, or YAML that does what settings need not do.
    #[error("{}:{line}: {message}", .file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong there.
        message: String,
    },
    /// A value is of the wrong type, or not one that the setting can have.
    #[error("{origin}: `{key}` must be {expected}, not {found}")]
    Value {
        /// Where it was set.
        origin: Origin,
        /// The setting.
        key: Key,
        /// What it may be.
        expected: String,
        /// What it is, shortened.
        found: String,
    },
}

/// A key in the settings file that is none of ours: a warning, because another version may know it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: there is no setting `{key}`{}", .file.display(), hint(*.nearest))]
pub struct UnknownKey {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// The key, shortened.
    pub key: String,
    /// The key that may have been meant.
    pub nearest: Option<Key>,
}

fn hint(nearest: Option<Key>) -> String {
    nearest.map(|key| format!("; did you mean `{key}`?")).unwrap_or_default()
}
