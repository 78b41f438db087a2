//! Why a call did not do what it should. The text is for the model: it says how to go on.

use std::error::Error;

use engine::ports::{CommandError, ToolOutcome, ToolOutput, ViewError};

use crate::file_error::FileError;
use crate::path_error::PathError;

/// Why a call did not do what it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    /// The arguments are not what they should be.
    #[error("the arguments are not right: {0}")]
    Arguments(String),
    /// A path leads nowhere, or where it must not.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A command could not be run.
    #[error("the command could not be run")]
    Command(#[from] CommandError),
    /// What only one tool can say.
    #[error(transparent)]
    Own(Box<dyn Error + Send + Sync>),
    /// It was stopped.
    #[error("Operation aborted")]
    Aborted,
}

impl ToolError {
    /// Returns the error of one tool that is none of the others.
    pub(crate) fn own(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Own(Box::new(error))
    }

    /// Returns what came of the call that this ended.
    pub(crate) fn into_outcome(self) -> ToolOutcome {
        match self.is_exhaustion() {
            true => ToolOutcome::ResourceExhausted(self.message()),
            false => ToolOutcome::Failed(ToolOutput::text(self.message())),
        }
    }

    /// Returns whether the machine has no more of something, so that trying again is no use.
    fn is_exhaustion(&self) -> bool {
        matches!(
            self,
            Self::Command(CommandError::Resources { .. })
                | Self::Path(PathError::Cannot { source: ViewError::Resources(_), .. })
                | Self::File(FileError::Cannot { source: ViewError::Resources(_), .. })
        )
    }

    /// Returns what went wrong, with its causes.
    pub(crate) fn message(&self) -> String {
        let mut message = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !message.ends_with(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            cause = error.source();
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_has_run_out_of_ends_the_session_and_nothing_else_does() {
        let full = || std::io::Error::from_raw_os_error(28);
        let file = |source| ToolError::from(FileError::of("write", "a", source));
        let exhausted = file(ViewError::Resources(full())).into_outcome();
        let text = "cannot write `a`: No space left on device (os error 28)".to_owned();
        assert_eq!(exhausted, ToolOutcome::ResourceExhausted(text.clone()));
        let failed = file(ViewError::Failed(full())).into_outcome();
        assert_eq!(failed, ToolOutcome::Failed(ToolOutput::text(text)));
        let failed = ToolError::Aborted.into_outcome();
        assert_eq!(failed, ToolOutcome::Failed(ToolOutput::text("Operation aborted")));
    }
}
