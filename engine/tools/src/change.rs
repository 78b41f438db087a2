//! The change of a text file, as a unified diff.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::display::head;

/// How long the diff algorithm may search for a shorter diff.
const TIMEOUT: Duration = Duration::from_millis(200);

/// The change of a text.
pub(crate) struct Change {
    /// The number of added lines.
    pub(crate) added: usize,
    /// The number of removed lines.
    pub(crate) removed: usize,
    /// The first changed line, counted from 1.
    pub(crate) first: usize,
    hunks: String,
}

impl Change {
    /// Returns the hunks, cut after whole lines to about `bytes` bytes.
    pub(crate) fn shortened(&self, bytes: usize) -> String {
        if self.hunks.len() <= bytes {
            return self.hunks.clone();
        }
        let begin = head(&self.hunks, bytes);
        let whole = begin.rfind('\n').map_or(begin, |end| &begin[..=end]);
        format!("{whole}[the rest of the diff is left out]")
    }
}

/// Returns the change between two texts.
pub(crate) fn diff(before: &str, after: &str) -> Change {
    let diff = TextDiff::configure().timeout(TIMEOUT).diff_lines(before, after);
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
