//! Why a model cannot be used, and what changes that.

use std::fmt;

use crate::error::Error;

/// Why a model cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Obstacle {
    why: String,
    /// What makes the model usable, if something is known to.
    hint: Option<String>,
}

impl Obstacle {
    /// Returns an obstacle that nothing is known to remove.
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), hint: None }
    }

    /// Returns this obstacle with what removes it.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Returns the cause.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// Returns what removes it.
    pub fn remedy(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Adds this cause and its hint to an error.
    pub fn add_to(self, error: Error) -> Error {
        self.hint.into_iter().fold(error.because(self.why), Error::hint)
    }
}

/// Writes both in one line.
impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)?;
        self.hint.iter().try_for_each(|hint| write!(f, ": {hint}"))
    }
}
