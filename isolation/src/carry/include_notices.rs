//! The notices about what the patterns of the file `.worktreeinclude` select.

use engine::ports::Notice;
use engine::texts::counted;

use super::select::{Walk, Why};
use super::wanted::{INCLUDE_FILE, Wanted};
use crate::baseline::{printable, size_text, some_of};
use crate::ignore::IncludePatterns;

/// Returns the notices about what the file selects for `whose` workspaces.
pub(super) fn of(walk: &Walk<'_>, whose: &str) -> Vec<Notice> {
    match walk.wanted {
        Wanted::Patterns(patterns) => {
            let rows = [useless(patterns), carried(walk, patterns, whose), left_out(walk)];
            rows.into_iter().flatten().collect()
        }
        Wanted::Unusable(why) => vec![notice(NOTHING, why)],
        Wanted::Globs(_) | Wanted::Nothing => Vec::new(),
    }
}

/// What is copied if nothing is selected.
const NOTHING: &str = "nothing is copied into the workspaces";

fn notice(to: impl Into<String>, why: impl Into<String>) -> Notice {
    Notice { from: format!("what {INCLUDE_FILE} selects"), to: to.into(), why: why.into() }
}

/// Returns the notice about patterns that can match no path.
fn useless(patterns: &IncludePatterns) -> Option<Notice> {
    let lines: Vec<_> = patterns.useless().iter().map(|line| format!("`{line}`")).collect();
    let why = "they are patterns as in .gitignore, from the root of the repository";
    let to = format!("these of its lines match no path: {}", some_of(&lines));
    (!lines.is_empty()).then(|| notice(to, why))
}

/// Returns the notice about what is copied.
fn carried(walk: &Walk<'_>, patterns: &IncludePatterns, whose: &str) -> Option<Notice> {
    let tops: Vec<String> = walk.sizes.keys().map(|path| printable(path)).collect();
    if !tops.is_empty() {
        let files: usize = walk.carried.folders.values().map(|folder| folder.files.len()).sum();
        let are = if files == 1 { "is" } else { "are" };
        let (files, size) = (counted(files, "ignored file"), size_text(walk.total));
        let to = format!("{files} ({size}) {are} copied into {whose}: {}", some_of(&tops));
        return Some(notice(to, "--no-carry leaves them out"));
    }
    let is_none = walk.too_large.is_empty() && walk.left_behind.is_empty();
    (is_none && patterns.can_select()).then(|| {
        let why = "git ignores no file that its patterns match; in ignored folders, only patterns \
                   with a slash count";
        notice(NOTHING, why)
    })
}

/// Returns the notice about what is selected and too large.
fn left_out(walk: &Walk<'_>) -> Option<Notice> {
    (!walk.too_large.is_empty()).then(|| {
        let to = format!("some of it is not copied: {}", some_of(&walk.too_large));
        notice(to, walk.why.iter().map(Why::text).collect::<Vec<_>>().join(", and "))
    })
}
