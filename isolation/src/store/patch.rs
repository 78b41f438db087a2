//! A capture as text.

use std::path::Path;

use git2::{DiffFormat, DiffOptions, Tree};
use protocol::CaptureRef;

use crate::captures::PathFilter;
use crate::error::{OrCannot, Result};
use crate::store::TaskStore;

/// How many digits of ids a patch has: all, which binary patches need.
const DIGITS: u16 = 40;

impl TaskStore {
    /// Returns a capture as a patch in git's own form.
    pub(crate) fn patch(&self, capture: &CaptureRef, filter: &PathFilter) -> Result<Vec<u8>> {
        let what = || format!("show {capture} of the task store {}", self.path.display());
        self.try_patch(capture, filter).or_cannot(what)
    }

    fn try_patch(
        &self,
        capture: &CaptureRef,
        filter: &PathFilter,
    ) -> std::result::Result<Vec<u8>, git2::Error> {
        let whole = self.git.find_reference(capture.as_str())?.peel_to_tree()?;
        let (base, task) = (self.side(&whole, "base")?, self.side(&whole, "task")?);
        let mut options = DiffOptions::new();
        options.show_binary(true).id_abbrev(DIGITS).old_prefix("a").new_prefix("b");
        if let PathFilter::Below(path) = filter {
            options.pathspec(path.as_bytes()).disable_pathspec_match(true);
        }
        let diff = self.git.diff_tree_to_tree(base.as_ref(), task.as_ref(), Some(&mut options))?;
        let mut text = Vec::new();
        diff.print(DiffFormat::Patch, |_, _, line| {
            // Lines of content come without their sign, everything else as it is.
            if matches!(line.origin(), '+' | '-' | ' ') {
                text.extend(u8::try_from(line.origin()));
            }
            text.extend_from_slice(line.content());
            true
        })?;
        Ok(text)
    }

    /// Returns one half of a capture; none if nothing is on that side.
    fn side(
        &self,
        whole: &Tree<'_>,
        name: &str,
    ) -> std::result::Result<Option<Tree<'_>>, git2::Error> {
        match whole.get_path(Path::new(name)) {
            Ok(entry) => self.git.find_tree(entry.id()).map(Some),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
