//! What a call of `grep` shows.

use engine::ports::{ToolOutput, ViewPath};
use serde_json::json;

use super::arguments::{GrepArguments, MAX_MATCHES};
use super::file_search::{FileLines, Found, JobLimits, LineKind};
use crate::display::{SEARCH_BYTES, SEARCH_COLUMNS};
use crate::search_place::limit_notice;

/// The results of a call.
pub(super) struct Report {
    limit: u64,
    skip: u64,
    /// What is shown between lines that do not follow each other.
    gap: &'static str,
    /// The results of the jobs; its files have the lines of matches that are shown.
    total: Found,
    /// What was left out.
    pub(super) notices: Vec<String>,
}

impl Report {
    pub(super) fn new(arguments: &GrepArguments) -> Self {
        let (limit, skip) = (arguments.limit(), arguments.skip());
        let gap = if arguments.has_context() { "\n--" } else { "" };
        Self { limit, skip, gap, total: Found::default(), notices: Vec::new() }
    }

    /// Returns whether matches are skipped that were not found yet.
    pub(super) fn skips(&self) -> bool {
        self.total.matches < self.skip
    }

    /// Returns whether there are more matches than are shown.
    pub(super) fn is_full(&self) -> bool {
        self.total.is_full
    }

    /// Returns what the next job skips and shows.
    pub(super) fn job(&self) -> JobLimits {
        let skip = self.skip.saturating_sub(self.total.matches);
        let shown = self.total.matches.saturating_sub(self.skip);
        JobLimits { skip, show: self.limit.saturating_sub(shown) }
    }

    /// Adds what a job has found, unless the jobs before it have filled the report.
    pub(super) fn add(&mut self, found: Found) {
        if self.total.is_full {
            return;
        }
        let before = self.total.matches;
        for FileLines { path, mut lines } in found.files {
            lines.iter_mut().for_each(|line| line.of += before);
            self.total.files.push(FileLines { path, lines });
        }
        self.total.matches += found.matches;
        self.total.is_full = found.is_full || self.total.matches > self.skip + self.limit;
        self.total.searched += found.searched;
        self.total.binary += found.binary;
        self.total.too_large += found.too_large;
        self.total.unreadable += found.unreadable;
        self.total.is_long |= found.is_long;
    }

    /// Returns the output; `seen` formats a path.
    pub(super) fn output(self, seen: &dyn Fn(&ViewPath) -> String) -> ToolOutput {
        let Self { limit, skip, gap, total, notices: mut left_out } = self;
        let shown = Shown::of(&total.files, total.matches.min(skip + limit), gap, seen);
        let mut notices = Vec::new();
        let more = total.is_full || shown.is_cut;
        let count = shown.last.map_or(0, |last| last - skip);
        if more {
            notices.push(limit_notice("matches", count, limit, MAX_MATCHES, skip));
        }
        if total.is_long {
            notices.push(format!("Some lines truncated to {SEARCH_COLUMNS} chars"));
        }
        notices.append(&mut left_out);
        for (count, why) in [
            (
                total.too_large,
                "searched in part or not at all, because they or their lines are too large",
            ),
            (total.unreadable, "that cannot be read"),
        ] {
            if count > 0 {
                notices.push(format!("Files {why}: {count}"));
            }
        }
        if total.binary > 0 {
            notices.push(format!("Binary files that were not searched: {}", total.binary));
        }
        let mut text = match (count, total.matches, total.searched) {
            (0, 0, 0) => "No matches found: there is no file to search".to_owned(),
            (0, 0, _) => "No matches found".to_owned(),
            (0, matches, _) => format!("No more matches: there are {matches}"),
            _ => shown.text,
        };
        if !notices.is_empty() {
            text.push_str(&format!("\n\n[{}]", notices.join(". ")));
        }
        let details = json!({ "matches": count, "files": shown.files, "truncated": more });
        ToolOutput::text(text).with_details(details)
    }
}

/// The lines as they are shown.
struct Shown {
    text: String,
    /// The number of files.
    files: u64,
    /// The number of the last match.
    last: Option<u64>,
    /// Whether lines are left out.
    is_cut: bool,
}

impl Shown {
    /// Formats the lines of the matches up to the number `most`.
    fn of(files: &[FileLines], most: u64, gap: &str, seen: &dyn Fn(&ViewPath) -> String) -> Self {
        let mut shown = Self { text: String::new(), files: 0, last: None, is_cut: false };
        for FileLines { path, lines } in files {
            let mut before = None;
            for line in lines.iter().filter(|line| line.of <= most) {
                let is_next_match = shown.last != Some(line.of);
                if is_next_match && shown.text.len() > SEARCH_BYTES {
                    shown.is_cut = true;
                    return shown;
                }
                match before {
                    None => {
                        let blank = if shown.text.is_empty() { "" } else { "\n\n" };
                        shown.text.push_str(&format!("{blank}{}", seen(path)));
                        shown.files += 1;
                    }
                    Some(before) if line.number > before + 1 => shown.text.push_str(gap),
                    Some(_) => {}
                }
                let mark = if line.kind == LineKind::Match { ':' } else { '-' };
                shown.text.push_str(&format!("\n{}{mark}{}", line.number, line.text));
                before = Some(line.number);
                if line.kind == LineKind::Match {
                    shown.last = Some(line.of);
                }
            }
        }
        shown
    }
}
