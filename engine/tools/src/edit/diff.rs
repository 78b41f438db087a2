//! What an edit changed, as a unified diff.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::limits::head;

/// How long a diff is made better.
const PATIENCE: Duration = Duration::from_millis(200);

/// What changed.
pub(super) struct Change {
    /// How many lines are new.
    pub(super) added: usize,
    /// How many lines are gone.
    pub(super) removed: usize,
    /// The first line, counted from 1, that is not what it was.
    pub(super) first: usize,
    hunks: String,
}

impl Change {
    /// Returns the hunks, cut after whole lines to about so many bytes.
    pub(super) fn shortened(&self, bytes: usize) -> String {
        if self.hunks.len() <= bytes {
            return self.hunks.clone();
        }
        let begin = head(&self.hunks, bytes);
        let whole = begin.rfind('\n').map_or(begin, |end| &begin[..=end]);
        format!("{whole}[the rest of the diff is left out]")
    }
}

/// Returns what changed between two texts.
pub(super) fn diff(before: &str, after: &str) -> Change {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(before, after);
    let (mut added, mut removed, mut first) = (0, 0, None);
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => continue,
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
        }
        let line = change.new_index().or(change.old_index()).unwrap_or_default();
        first = first.or(Some(line + 1));
    }
    let hunks = diff.unified_diff().context_radius(3).to_string().replace('\r', "");
    Change { added, removed, first: first.unwrap_or(1), hunks }
}
