//! The change of a text file, as a unified diff.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::display::head;
use crate::encoding::TextEncoding;
use crate::seen_files::Before;

/// How long the diff algorithm may search for a shorter diff.
pub(crate) const TIMEOUT: Duration = Duration::from_millis(200);

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

/// How many lines of the change of a file are shown to a session that has not seen it, and how many bytes.
const SHOWN_LINES: usize = 200;
const SHOWN_BYTES: usize = 16 << 10;

/// Returns how a file has changed from what a session has seen to `content`.
pub(crate) fn change_since(before: Before, content: Vec<u8>) -> String {
    let after = TextEncoding::decode(content).filter(|(_, text)| !text.contains('\0'));
    let before = match before {
        Before::Known(before) => TextEncoding::decode(before),
        Before::Forgotten => None,
    };
    match (before, after) {
        (Some((_, before)), Some((_, after))) => {
            let hunks = diff(&before, &after).hunks;
            let count = hunks.lines().count();
            let shown: String = hunks.split_inclusive('\n').take(SHOWN_LINES).collect();
            let shown = head(&shown, SHOWN_BYTES);
            let is_whole = shown.len() == hunks.len();
            let rest = if is_whole { "" } else { "\n[the rest of the diff is left out]" };
            format!("What has changed ({count} lines of diff):\n\n{}{rest}\n", shown.trim_end())
        }
        (_, Some(_)) => "What it was before is not known any more; read it.".to_owned(),
        (_, None) => "It is a binary file now.".to_owned(),
    }
}

/// Returns the change between two texts.
pub(crate) fn diff(before: &str, after: &str) -> Change {
    // A byte order mark that stays is not shown, as it cannot be seen.
    let (before, after) = match (before.strip_prefix('\u{feff}'), after.strip_prefix('\u{feff}')) {
        (Some(before), Some(after)) => (before, after),
        _ => (before, after),
    };
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
