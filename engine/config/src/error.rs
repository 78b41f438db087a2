//! The errors of settings, and the origin of a value, which they quote.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::key::Key;
use crate::mistake::Mistake;

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The settings file exists but cannot be read.
    #[error("cannot read the settings in {}", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The settings file of a project is a symlink that leads out of its repository.
    #[error("{} leads out of the repository, so it is not read", .file.display())]
    Outside {
        /// The file.
        file: PathBuf,
    },
    /// The settings file is larger than the limit.
    #[error("{} is larger than {limit} bytes, which no settings file is", .file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
        /// The largest size allowed.
        limit: u64,
    },
    /// The settings file is not UTF-8, not YAML, or YAML beyond the limits for settings.
    #[error("{}:{mistake}", .file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The mistake.
        mistake: Mistake,
    },
    /// A key that may stand for rules for calls of tools is unknown.
    #[error(transparent)]
    UnknownRules(UnknownKey),
    /// A rule for calls of tools is none.
    #[error("{origin}: `{key}`: {error}")]
    Rule {
        /// Where it was set.
        origin: Origin,
        /// The setting.
        key: Key,
        /// What is wrong with it.
        error: protocol::RuleError,
    },
    /// A value is invalid for its setting.
    #[error("{origin}: `{key}` must be {expected}, not {found}")]
    Value {
        /// Where it was set.
        origin: Origin,
        /// The setting.
        key: Key,
        /// A description of valid values.
        expected: String,
        /// The value, shortened.
        found: String,
    },
}

/// An unknown key in the settings file. It is only a warning, because another version may know it, unless it
/// may stand for rules for calls of tools.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: there is no setting `{key}`{}", .file.display(), hint(*.nearest))]
pub struct UnknownKey {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// The key, shortened.
    pub key: String,
    /// The most similar known key or group of keys.
    pub nearest: Option<&'static str>,
}

fn hint(nearest: Option<&'static str>) -> String {
    nearest.map(|key| format!("; did you mean `{key}`?")).unwrap_or_default()
}

/// Where a value was set: the layer and the place in it. Later variants override earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The defaults.
    BuiltIn,
    /// The user's settings file.
    User {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// The settings file of the project.
    Project {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// The environment.
    Environment {
        /// The variable.
        variable: String,
    },
    /// The command line.
    CommandLine {
        /// The option, as it was typed: `--jobs`.
        flag: String,
    },
}

impl Origin {
    /// Returns the root of the project whose settings file has the value.
    #[must_use]
    pub fn project_root(&self) -> Option<&Path> {
        match self {
            Self::Project { file, .. } => file.parent()?.parent(),
            Self::BuiltIn
            | Self::User { .. }
            | Self::Environment { .. }
            | Self::CommandLine { .. } => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("the defaults"),
            Self::User { file, line } | Self::Project { file, line } => {
                write!(f, "{}:{line}", file.display())
            }
            Self::Environment { variable } => write!(f, "the variable {variable}"),
            Self::CommandLine { flag } => write!(f, "the option {flag}"),
        }
    }
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it was set.
    pub origin: Origin,
}
