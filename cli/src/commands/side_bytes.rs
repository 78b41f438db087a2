//! The contents of the sides of a conflict, for what writes its file.

use protocol::{Conflict, ConflictHunk, ConflictReason, Side};

use super::context::CommandContext;
use regatta::error::Error;

/// The three sides of a conflict as git has them, in UTF-8, and what the file begins as.
pub(super) struct SideBytes {
    pub(super) base: Option<Vec<u8>>,
    pub(super) ours: Vec<u8>,
    pub(super) theirs: Vec<u8>,
    pub(super) marked: Vec<u8>,
    /// The places at which both sides changed the same lines.
    pub(super) hunks: Vec<ConflictHunk>,
}

/// Returns why nothing can write the file of a conflict.
pub(super) fn no_sides(conflict: &Conflict) -> &'static str {
    if conflict.reason == ConflictReason::Uncommitted {
        return "it has a change that is not committed; commit that, or choose --ours";
    }
    "it is not a conflict of the content of a file; choose --ours or --theirs"
}

/// Returns the two sides of a conflict of the content of a file; `None` if it is another one.
pub(super) fn sides_of(conflict: &Conflict) -> Option<(&Side, &Side)> {
    let is_of_content = matches!(
        conflict.reason,
        ConflictReason::Content
            | ConflictReason::Binary
            | ConflictReason::BothAdded
            | ConflictReason::Mode
            | ConflictReason::Setup
            | ConflictReason::TooLarge
            | ConflictReason::Untracked
            | ConflictReason::NotCheckedOut
    );
    let is_file = |side: &Side| side.mode & 0o170_000 == 0o100_000;
    let sides = conflict.ours.as_ref().zip(conflict.theirs.as_ref());
    sides.filter(|(ours, theirs)| is_of_content && is_file(ours) && is_file(theirs))
}

impl SideBytes {
    /// Reads the sides; `None` if the conflict is not one of the content of a file.
    pub(super) fn read(
        context: &CommandContext,
        conflict: &Conflict,
    ) -> Result<Option<Self>, Error> {
        let Some((ours, theirs)) = sides_of(conflict) else { return Ok(None) };
        let content = |oid: &str| -> Result<Vec<u8>, Error> {
            let bytes = context.captured.content(oid)?;
            Ok(context.captured.text(&conflict.path, bytes))
        };
        let base = conflict.base.as_ref().map(|base| content(&base.oid)).transpose()?;
        let (ours, theirs) = (content(&ours.oid)?, content(&theirs.oid)?);
        let marked = context.captured.marked_text(&context.root, conflict)?;
        let marked = marked.unwrap_or_else(|| ours.clone());
        let hunks = context.captured.conflict_hunks(conflict)?;
        Ok(Some(Self { base, ours, theirs, marked, hunks }))
    }

    /// Returns the base, which is empty if there is none, and the two sides.
    pub(super) fn texts(&self) -> [&[u8]; 3] {
        [self.base.as_deref().unwrap_or_default(), &self.ours, &self.theirs]
    }
}
