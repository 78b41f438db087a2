//! Why a path or a file cannot be had, in words for the model.

use rustix::io::Errno;

/// Why a path leads nowhere, or where it must not.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    /// There is no path.
    #[error("the path is empty; `.` is the folder you are in")]
    Empty,
    /// It is none.
    #[error("`{0}` is no path: it has a NUL in it")]
    Nul(String),
    /// It is too long.
    #[error("the path is too long: {0} bytes")]
    TooLong(usize),
    /// It goes through too many folders.
    #[error("the path is too deep: more than {0} folders below each other")]
    TooDeep(usize),
    /// It leaves the working tree.
    #[error("`{0}` is outside of the working tree; use a path relative to it that stays inside")]
    Outside(String),
    /// A symlink on its way leaves the working tree.
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
    /// It is one of the user's own checkout.
    #[error("`{path}`: that is the user's own checkout; use the relative path `{inside}`")]
    UserCheckout {
        /// The path.
        path: String,
        /// What to write instead.
        inside: String,
    },
    /// Its symlinks lead in a circle.
    #[error("`{0}` leads through too many symlinks")]
    Circle(String),
    /// It goes through something that is no folder.
    #[error("`{path}` cannot be: `{blocked}` is a file and no folder")]
    NotFolder {
        /// The path.
        path: String,
        /// What is in its way.
        blocked: String,
    },
    /// Nothing is there.
    #[error("File not found: {path}{hint}")]
    Missing {
        /// The path.
        path: String,
        /// What was perhaps meant.
        hint: String,
    },
    /// It is git's.
    #[error("`{0}` belongs to git and is not written by hand; use git commands in bash")]
    Guarded(String),
    /// The system says no.
    #[error("`{path}` cannot be opened")]
    Cannot {
        /// The path.
        path: String,
        /// What the system said.
        #[source]
        source: Errno,
    },
}

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
        source: std::io::Error,
    },
}

impl FileError {
    /// Returns the error of an attempt that the system refused.
    pub(crate) fn cannot(what: &'static str, path: &str, error: impl Into<std::io::Error>) -> Self {
        Self::Cannot { what, path: path.to_owned(), source: error.into() }
    }
}
