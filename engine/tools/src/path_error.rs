//! Why a path leads nowhere, in words for the model.

use engine::ports::{MAX_PATH_DEPTH, ViewError};
use engine::tools::quote;

use crate::shown;

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
        source: ViewError,
    },
}

impl PathError {
    /// Returns why the path that the model wrote as `text` cannot be followed.
    pub(crate) fn of(text: &str, error: ViewError) -> Self {
        let path = quote(text);
        match error {
            ViewError::Outside { link: None } => Self::Outside(path),
            ViewError::Outside { link: Some(link) } => {
                Self::LinkOutside { path, link: shown::path(link.as_path()) }
            }
            ViewError::Circle => Self::Circle(path),
            ViewError::TooDeep => Self::TooDeep(MAX_PATH_DEPTH),
            ViewError::NotFolder { blocked } => {
                Self::NotFolder { path, blocked: shown::path(blocked.as_path()) }
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
