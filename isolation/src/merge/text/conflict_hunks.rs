//! The conflicts of a text, each with the lines of the three versions.

use std::ops::Range;

use protocol::ConflictHunk;

use super::lines::Lines;
use super::merge_text::{ConflictedText, Take};

/// The number of unchanged lines before and after a conflict.
const CONTEXT: usize = 3;

impl ConflictedText<'_> {
    /// Returns the conflicts in the order of the text.
    pub(crate) fn conflict_hunks(&self) -> Vec<ConflictHunk> {
        let versions = &self.versions;
        let conflicts = self.hunks.iter().filter(|hunk| hunk.take == Take::Conflict);
        let hunks = conflicts.map(|hunk| {
            let (start, end) = (hunk.ours.start, hunk.ours.end);
            let last = versions.ours.texts.len();
            ConflictHunk {
                line: start + 1,
                before: lines(&versions.ours, start.saturating_sub(CONTEXT)..start),
                base: lines(&versions.base, hunk.base.clone()),
                ours: lines(&versions.ours, hunk.ours.clone()),
                theirs: lines(&versions.theirs, hunk.theirs.clone()),
                after: lines(&versions.ours, end..(end + CONTEXT).min(last)),
            }
        });
        hunks.collect()
    }
}

fn lines(version: &Lines<'_>, range: Range<usize>) -> Vec<Vec<u8>> {
    version.texts.get(range).unwrap_or_default().iter().map(|line| line.to_vec()).collect()
}
