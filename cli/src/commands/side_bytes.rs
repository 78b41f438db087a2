//! The contents of the sides of a conflict, for what writes its file.

use protocol::{Conflict, ConflictHunk, ConflictReason};

use super::context::CommandContext;
use regatta::error::Error;
use regatta::runs::sides_of;

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

impl SideBytes {
    /// Reads the sides; `None` if the conflict is not one of the content of a file.
    pub(super) fn read(
        context: &CommandContext,
        conflict: &Conflict,
    ) -> Result<Option<Self>, Error> {
        let Some((ours, theirs)) = sides_of(conflict) else { return Ok(None) };
        let content = |oid: &str| -> Result<Vec<u8>, Error> {
            let bytes = context.runs.captured.content(oid)?;
            Ok(context.runs.captured.text(&conflict.path, bytes))
        };
        let base = conflict.base.as_ref().map(|base| content(&base.oid)).transpose()?;
        let (ours, theirs) = (content(&ours.oid)?, content(&theirs.oid)?);
        let marked = context.runs.captured.marked_text(&context.runs.root, conflict)?;
        let marked = marked.unwrap_or_else(|| ours.clone());
        let hunks = context.runs.captured.conflict_hunks(conflict)?;
        Ok(Some(Self { base, ours, theirs, marked, hunks }))
    }

    /// Returns the base, which is empty if there is none, and the two sides.
    pub(super) fn texts(&self) -> [&[u8]; 3] {
        [self.base.as_deref().unwrap_or_default(), &self.ours, &self.theirs]
    }
}
