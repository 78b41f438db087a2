//! Why a call did not do what it should. The text is for the model: it says how to go on.

use engine::ports::CommandError;

use crate::edit::EditError;
use crate::tree::{FileError, PathError};

/// Why a call did not do what it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// The arguments are not what they should be.
    #[error("the arguments are not right: {0}")]
    Arguments(String),
    /// A path leads nowhere, or where it must not.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// An edit does not fit its file.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A command could not be run.
    #[error("the command could not be run")]
    Command(#[from] CommandError),
    /// What was asked for lies beyond the end.
    #[error("offset {offset} is beyond the end of {path}, which has {total} lines")]
    BeyondEnd {
        /// The file.
        path: String,
        /// The line that was asked for.
        offset: u64,
        /// How many there are.
        total: u64,
    },
    /// What was asked for lies deeper in a file than is looked.
    #[error(
        "line {offset} of {path} is deeper in it than read looks ({megabytes} MB); use bash, for \
         instance: sed -n '{offset},+200p' FILE"
    )]
    TooDeep {
        /// The file.
        path: String,
        /// The line that was asked for.
        offset: u64,
        /// How far read looks.
        megabytes: u64,
    },
    /// What is yielded is not one thing.
    #[error("{0}")]
    Yield(&'static str),
    /// It was stopped.
    #[error("Operation aborted")]
    Aborted,
}

impl Trouble {
    /// Returns what went wrong, with its causes.
    pub(crate) fn told(&self) -> String {
        let mut told = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let text = error.to_string();
            if !told.ends_with(&text) {
                told.push_str(": ");
                told.push_str(&text);
            }
            cause = error.source();
        }
        told
    }
}
