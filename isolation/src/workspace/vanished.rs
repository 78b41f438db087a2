//! Telling a workspace that its task took away from one that merely cannot be looked at.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use engine::ports::IsolationError;

use crate::error::Result;
use crate::workspace::manifest::tree_of;
use crate::workspace::prepare::{GIT, MARKER};

/// Fails with [`IsolationError::Vanished`] if the copy of the tree is certainly not there any more,
/// and nothing that we did not make has taken its place beside it.
pub(crate) fn must_be_there(folder: &Path) -> Result<()> {
    must_be_there_beside(folder, &[GIT, MARKER])
}

/// The same, where what we made beside the copy has the names in `own`.
pub(crate) fn must_be_there_beside(folder: &Path, own: &[&str]) -> Result<()> {
    let root = tree_of(folder);
    let is_gone =
        matches!(root.symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound);
    if is_gone && holds_only(folder, own) {
        return Err(IsolationError::Vanished { root });
    }
    Ok(())
}

/// Whether a task has put nothing into a workspace's folder. What cannot be looked at may be its
/// work.
fn holds_only(folder: &Path, own: &[&str]) -> bool {
    match fs::read_dir(folder) {
        Ok(mut entries) => entries.all(|entry| {
            entry.is_ok_and(|entry| own.iter().any(|name| entry.file_name() == *name))
        }),
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}
