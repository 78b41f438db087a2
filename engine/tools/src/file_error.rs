//! Why a file cannot be read or written, in words for the model.

use engine::ports::ViewError;

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// It is a folder.
    #[error("`{0}` is a folder; name a file in it")]
    Folder(String),
    /// It is a device, a pipe or a socket.
    #[error("`{0}` is no regular file and is not opened")]
    Special(String),
    /// It is too large.
    #[error("`{path}` is too large for this: {bytes} bytes, at most {most}; use bash")]
    TooLarge {
        /// The file.
        path: String,
        /// How large it is.
        bytes: u64,
        /// How large it may be.
        most: u64,
    },
    /// It is no text.
    #[error(
        "`{path}` is a binary file ({bytes} bytes) and is not shown; use bash to look at it, for \
         instance with file, xxd or strings"
    )]
    Binary {
        /// The file.
        path: String,
        /// How large it is.
        bytes: u64,
    },
    /// It is text of another encoding.
    #[error(
        "`{0}` is not UTF-8, so that an edit would change other parts of it; use bash, for \
         instance sed or iconv"
    )]
    Encoding(String),
    /// Somebody else has changed it.
    #[error("`{0}` was changed by something else at the same time; read it again, then try again")]
    Changed(String),
    /// The system says no.
    #[error("cannot {what} `{path}`")]
    Cannot {
        /// What was attempted.
        what: &'static str,
        /// The file.
        path: String,
        /// What the system said.
        #[source]
        source: ViewError,
    },
}

impl FileError {
    /// Returns why `what` could not be done to the file that is shown as `path`.
    pub(crate) fn of(what: &'static str, path: &str, error: ViewError) -> Self {
        let path = path.to_owned();
        match error {
            ViewError::Folder => Self::Folder(path),
            ViewError::Special => Self::Special(path),
            // The path was followed before; it is not what it was then.
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
