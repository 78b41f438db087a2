//! The errors of tool calls. Their messages are written for the model and tell it what to do next.

use std::error::Error;

use engine::ports::{
    ChangeShown, CommandError, MAX_PATH_DEPTH, ToolOutcome, ToolOutput, ViewError,
};
use protocol::{error_chain, quote};

use crate::display;
use crate::encoding::TextEncoding;

/// Why a tool call failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    /// The arguments are invalid.
    #[error("the arguments are not right: {0}")]
    Arguments(String),
    /// A path cannot be used.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A command could not be run.
    #[error("the command could not be run")]
    Command(#[from] CommandError),
    /// An error of one tool only.
    #[error(transparent)]
    Own(Box<dyn Error + Send + Sync>),
    /// A resource of the machine is exhausted, and more has to be said about it.
    #[error("{0}")]
    Exhausted(String),
    /// The call was cancelled.
    #[error("Operation aborted")]
    Aborted,
}

impl ToolError {
    /// Wraps an error of one tool only.
    pub(crate) fn own(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Own(Box::new(error))
    }

    /// Returns the outcome of the failed call.
    pub(crate) fn into_outcome(self) -> ToolOutcome {
        match self.is_exhaustion() {
            true => ToolOutcome::ResourceExhausted(self.message()),
            false => ToolOutcome::Failed(ToolOutput::text(self.message())),
        }
    }

    /// Returns the error without what has changed in a file if it may not be shown.
    pub(crate) fn for_model(self, shown: ChangeShown) -> Self {
        match self {
            Self::File(FileError::ChangedSince { path, change: _ }) if shown == ChangeShown::No => {
                let change = "A rule forbids to show what has changed.".to_owned();
                FileError::ChangedSince { path, change }.into()
            }
            other => other,
        }
    }

    /// Returns whether a resource of the machine is exhausted. The model cannot do anything about
    /// such an error.
    pub(crate) fn is_exhaustion(&self) -> bool {
        matches!(
            self,
            Self::Exhausted(_)
                | Self::Command(CommandError::Resources { .. })
                | Self::Path(PathError::Cannot { source: ViewError::Resources(_), .. })
                | Self::File(FileError::Cannot { source: ViewError::Resources(_), .. })
        )
    }

    /// Returns the message of the error with its causes.
    pub(crate) fn message(&self) -> String {
        error_chain(self)
    }
}

/// The reason why a path cannot be resolved or must not be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    /// The path is empty.
    #[error("the path is empty; `.` is the folder you are in")]
    Empty,
    /// The path contains a NUL.
    #[error("`{0}` is not a path: it contains a NUL byte")]
    Nul(String),
    /// The path is too long.
    #[error("the path is too long: {0} bytes")]
    TooLong(usize),
    /// The path has too many components.
    #[error("the path is too deep: more than {0} folders below each other")]
    TooDeep(usize),
    /// The path leaves the working tree.
    #[error("`{0}` is outside of the working tree; use a path relative to it that stays inside")]
    Outside(String),
    /// A symlink in the path leaves the working tree.
    #[error(
        "`{path}` leads through the symlink `{link}` out of the working tree; only paths that \
         stay inside can be used"
    )]
    LinkOutside {
        /// The path.
        path: String,
        /// The link.
        link: String,
    },
    /// The path is in the user's own checkout.
    #[error("`{path}`: that is the user's own checkout; use the relative path `{inside}`")]
    UserCheckout {
        /// The path.
        path: String,
        /// The relative path to use instead.
        inside: String,
    },
    /// The path has a loop of symlinks.
    #[error("`{0}` leads through too many symlinks")]
    Circle(String),
    /// A component of the path is a file.
    #[error("`{path}` cannot be: `{blocked}` is a file, not a folder")]
    NotFolder {
        /// The path.
        path: String,
        /// That component.
        blocked: String,
    },
    /// The file does not exist.
    #[error("File not found: {path}{hint}")]
    Missing {
        /// The path.
        path: String,
        /// A suggestion of another path.
        hint: String,
    },
    /// The path belongs to git.
    #[error("`{0}` belongs to git and is not written by hand; use git commands in bash")]
    Guarded(String),
    /// The permissions of the file do not allow to change it.
    #[error(
        "`{0}` is read-only; ask the user, or make it writable with bash if that is what is wanted"
    )]
    ReadOnly(String),
    /// The operating system refuses.
    #[error("`{path}` cannot be opened")]
    Cannot {
        /// The path.
        path: String,
        /// The error of the operating system.
        #[source]
        source: ViewError,
    },
}

impl PathError {
    /// Returns the error for a path that the model wrote as `text`.
    pub(crate) fn of(text: &str, error: ViewError) -> Self {
        let path = quote(text);
        match error {
            ViewError::Outside { link: None } => Self::Outside(path),
            ViewError::Outside { link: Some(link) } => {
                Self::LinkOutside { path, link: display::path(link.as_path()) }
            }
            ViewError::Circle => Self::Circle(path),
            ViewError::TooDeep => Self::TooDeep(MAX_PATH_DEPTH),
            ViewError::NotFolder { blocked } => {
                Self::NotFolder { path, blocked: display::path(blocked.as_path()) }
            }
            ViewError::Missing => Self::Missing { path, hint: String::new() },
            source @ (ViewError::Folder
            | ViewError::Special
            | ViewError::Changed
            | ViewError::Resources(_)
            | ViewError::Failed(_)) => Self::Cannot { path, source },
        }
    }
}

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// The path is a folder.
    #[error("`{0}` is a folder; name a file in it")]
    Folder(String),
    /// The file is a device, a pipe or a socket.
    #[error("`{0}` is not a regular file and is not opened")]
    Special(String),
    /// The file is too large.
    #[error("`{path}` is too large for this: {bytes} bytes, at most {most}; use bash")]
    TooLarge {
        /// The file.
        path: String,
        /// Its size.
        bytes: u64,
        /// The largest size allowed.
        most: u64,
    },
    /// The file is binary.
    #[error(
        "`{path}` is a binary file ({bytes} bytes) and is not shown; use bash to look at it, for \
         instance with file, xxd or strings"
    )]
    Binary {
        /// The file.
        path: String,
        /// Its size.
        bytes: u64,
    },
    /// The file is not in the encoding that its byte order mark names.
    #[error(
        "`{0}` is not in the encoding that its byte order mark names, so that an edit would change \
         other parts of it; use bash, for instance sed or iconv"
    )]
    Encoding(String),
    /// The new text has a character that the encoding of the file lacks.
    #[error(
        "`{path}` was not changed: it is in {encoding}, which has no `{letter}`; use bash, for \
         instance iconv, to make it UTF-8 first"
    )]
    Unencodable {
        /// The file.
        path: String,
        /// The character.
        letter: String,
        /// The encoding of the file.
        encoding: &'static str,
    },
    /// The file has changed since the session has seen it.
    #[error(
        "`{path}` was changed by something else since you have seen it, and is as it was after that. {change}\
         \nNow that you know, repeat the call, or change it to what is right now"
    )]
    ChangedSince {
        /// The file.
        path: String,
        /// What has changed.
        change: String,
    },
    /// Another process changed the file during the call.
    #[error("`{0}` was changed by something else at the same time; read it again, then try again")]
    Changed(String),
    /// The operating system refuses.
    #[error("cannot {what} `{path}`")]
    Cannot {
        /// The operation that failed.
        what: &'static str,
        /// The file.
        path: String,
        /// The error of the operating system.
        #[source]
        source: ViewError,
    },
}

impl FileError {
    /// Returns the error that the encoding of the file that is shown as `path` lacks a character.
    pub(crate) fn unencodable(path: &str, letter: char, encoding: TextEncoding) -> Self {
        let (path, letter) = (path.to_owned(), quote(&letter.to_string()));
        Self::Unencodable { path, letter, encoding: encoding.name() }
    }

    /// Returns the error of the operation `what` on the file that is shown as `path`.
    pub(crate) fn of(what: &'static str, path: &str, error: ViewError) -> Self {
        let path = path.to_owned();
        match error {
            ViewError::Folder => Self::Folder(path),
            ViewError::Special => Self::Special(path),
            // The path was resolved successfully before, so the file has changed since then.
            ViewError::Changed
            | ViewError::Missing
            | ViewError::NotFolder { .. }
            | ViewError::Outside { .. }
            | ViewError::Circle
            | ViewError::TooDeep => Self::Changed(path),
            source @ (ViewError::Resources(_) | ViewError::Failed(_)) => {
                Self::Cannot { what, path, source }
            }
        }
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
