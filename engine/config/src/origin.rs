//! Where a value comes from.

use std::fmt;
use std::path::PathBuf;

/// The layer and the place in it that a value was set in. The later ones of this list win.
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

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("the defaults"),
            Self::User { file, line } => write!(f, "{}:{line}", file.display()),
            Self::Environment { variable } => write!(f, "the variable {variable}"),
            Self::CommandLine { flag } => write!(f, "the option {flag}"),
        }
    }
}

/// A value that knows where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it was set.
    pub origin: Origin,
}
