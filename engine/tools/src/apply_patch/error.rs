//! Why a patch is not applied.

use super::hunks::HunkError;
use super::parse::ParseError;
use crate::error::ToolError;

/// Why a patch is not applied. No file is changed, except with [`PatchError::Partly`].
#[derive(Debug, thiserror::Error)]
pub(crate) enum PatchError {
    /// It is no patch.
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
    /// A file could not be written when others had been.
    #[error("only {} of the patch was done; then: {reason}", done.join(", "))]
    Partly {
        /// The files that were changed.
        done: Vec<String>,
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
