//! Why a patch is not applied.

use super::hunks::HunkError;
use super::parse::ParseError;
use crate::error::ToolError;

/// Why a patch is not applied. No file is changed, except with [`PatchError::Partly`].
#[derive(Debug, thiserror::Error)]
pub(crate) enum PatchError {
    /// It is not a patch.
    #[error("nothing was changed: {0}")]
    Parse(#[from] ParseError),
    /// A hunk does not apply.
    #[error("nothing was changed: {path}: {error}")]
    Hunk {
        /// The file.
        path: String,
        /// The reason.
        error: HunkError,
    },
    /// A file that would be made is there.
    #[error(
        "nothing was changed: `{0}` exists; use `*** Update File`, or delete it in the patch before"
    )]
    Exists(String),
    /// All files are as they were.
    #[error("nothing was changed: the files are as the patch makes them")]
    NoChange,
    /// A file that would be made is a folder of another one.
    #[error("nothing was changed: `{file}` would be a file, and a folder for `{below}`")]
    FileAndFolder {
        /// The file.
        file: String,
        /// The other one.
        below: String,
    },
    /// What is going to be written cannot be recorded.
    #[error("nothing was changed: what the call does cannot be recorded: {0}")]
    Unrecorded(String),
    /// A file could not be written, and those that had been were taken back.
    #[error("nothing was changed: {0}")]
    TakenBack(String),
    /// The same, but some could not be taken back, because something else has changed them since.
    #[error("{reason}. What was done before was taken back, but not in {}; read it", left.join(", "))]
    Partly {
        /// The files that stay as the patch has made them.
        left: Vec<String>,
        /// The reason.
        reason: String,
    },
}

impl PatchError {
    pub(super) fn hunk(path: &str, error: HunkError) -> Self {
        Self::Hunk { path: path.to_owned(), error }
    }
}

impl From<PatchError> for ToolError {
    fn from(error: PatchError) -> Self {
        Self::own(error)
    }
}
