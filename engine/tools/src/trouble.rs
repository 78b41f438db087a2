//! Why a call did not do what it should. The text is for the model: it says how to go on.

use engine::ports::CommandError;
use rustix::io::Errno;

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

/// What the machine can run out of: processes, memory, descriptors, disk, quota.
const EXHAUSTED: [Errno; 6] =
    [Errno::AGAIN, Errno::NOMEM, Errno::NFILE, Errno::MFILE, Errno::NOSPC, Errno::DQUOT];

impl Trouble {
    /// Returns whether the machine has no more of something, so that trying again is no use.
    pub(crate) fn is_exhaustion(&self) -> bool {
        let errno = match self {
            Self::Command(CommandError::Resources { .. }) => return true,
            Self::Path(PathError::Cannot { source, .. }) => Some(*source),
            Self::File(FileError::Cannot { source, .. }) => Errno::from_io_error(source),
            _ => None,
        };
        errno.is_some_and(|errno| EXHAUSTED.contains(&errno))
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_has_run_out_of_is_told_from_what_is_wrong_with_a_file() {
        let file = |code: i32| {
            let error = std::io::Error::from_raw_os_error(code);
            Trouble::File(FileError::cannot("write", "a", error))
        };
        assert!(file(Errno::NOSPC.raw_os_error()).is_exhaustion());
        assert!(file(Errno::DQUOT.raw_os_error()).is_exhaustion());
        assert!(!file(Errno::ACCESS.raw_os_error()).is_exhaustion());
        assert!(!Trouble::Aborted.is_exhaustion());
    }
}
