//! Conflicts as text: their paths, what each is with, and its reason.

use protocol::{Conflict, ConflictParties, ConflictReason, RenamedFile};

use super::printable;

/// Returns the paths that were left where work was taken back, as one line; empty if there are none.
#[must_use]
pub fn left_text(left: &[Conflict]) -> String {
    const NAMED: usize = 3;
    if left.is_empty() {
        return String::new();
    }
    let mut paths: Vec<String> = left.iter().take(NAMED).map(left_file).collect();
    if left.len() > NAMED {
        paths.push(format!("and {} more", left.len() - NAMED));
    }
    format!("all but {}", paths.join(", "))
}

/// Returns the path of a file that is left where work was taken back, and the one that it had before the
/// work if that renamed it.
#[must_use]
pub fn left_file(conflict: &Conflict) -> String {
    let Some(RenamedFile { from, ours, theirs }) = &conflict.renamed else {
        return printable::one_line(&conflict.path.to_string());
    };
    let now = ours.as_ref().unwrap_or(from);
    let before = theirs.as_ref().filter(|before| *before != now);
    let before = before.map(|before| format!(" (renamed from {before})")).unwrap_or_default();
    printable::one_line(&format!("{now}{before}"))
}

/// Returns the paths of conflicts, each with the other task, as one line.
#[must_use]
pub fn conflicts_text(conflicts: &[Conflict]) -> String {
    const NAMED: usize = 3;
    let text = |conflict| conflict_text(conflict);
    let mut parts: Vec<String> = conflicts.iter().take(NAMED).map(text).collect();
    if conflicts.len() > NAMED {
        parts.push(format!("and {} more", conflicts.len() - NAMED));
    }
    parts.join("; ")
}

fn conflict_text(conflict: &Conflict) -> String {
    let path = printable::one_line(&conflict.path.to_string());
    if let (ConflictReason::MissingCommit, Some(theirs)) = (conflict.reason, &conflict.theirs) {
        let commit = printable::one_line(&theirs.oid);
        return format!(
            "{path}, whose repository lacks the commit {commit}: fetch it there, or `--clean` lands \
             the rest"
        );
    }
    match other_side_text(conflict) {
        Some(other) => format!("{path}, with {other}"),
        None => format!("{path}, {}", reason_text(conflict.reason)),
    }
}

/// Returns whose change a conflict is with: another task's, or one in the user's tree. `None` if the
/// work itself cannot be written.
#[must_use]
pub fn other_side_text(conflict: &Conflict) -> Option<String> {
    if let Some(other) = &conflict.with {
        return Some(other.to_string());
    }
    match conflict.reason.parties() {
        ConflictParties::Versions | ConflictParties::Names => {
            Some("an edit in your tree since the run began".to_owned())
        }
        ConflictParties::NamesInCase | ConflictParties::Place => None,
    }
}

/// Describes the reason of a conflict in a few words.
#[must_use]
pub fn reason_text(reason: ConflictReason) -> &'static str {
    match reason {
        ConflictReason::Content => "both changed the same lines",
        ConflictReason::Binary => "both changed a binary file",
        ConflictReason::BothAdded => "both added it with different content",
        ConflictReason::ChangedAndRemoved => "one changed it, the other removed it",
        ConflictReason::Kind => "one changed its type",
        ConflictReason::Mode => "both added it, one of them executable",
        ConflictReason::Submodule => "it is inside a submodule, or is one",
        ConflictReason::MissingCommit => "the submodule's repository lacks the commit of the task",
        ConflictReason::Untracked => "an untracked file of yours has this path",
        ConflictReason::NotCheckedOut => "git tracks it, and it is not checked out",
        ConflictReason::InTheWay => "one has a file where the other has a folder",
        ConflictReason::TooLarge => "both changed a file that is too large to merge by lines",
        ConflictReason::RenamedTwice => "both renamed it, to different names",
        ConflictReason::RenamedAndRemoved => "one renamed it, the other removed it",
        ConflictReason::SameName => "different files would get this name",
        ConflictReason::FolderSplit => "its folder was renamed to several places",
        ConflictReason::Case => "another file has a name that differs only in case",
        ConflictReason::GitmodulesLink => "git refuses a symlink with this name",
        ConflictReason::Setup => "it changed the same lines as its set-up, which does not land",
        ConflictReason::Uncommitted => "it has a change that is not committed",
        ConflictReason::Filter => "git would run a filter program to commit it",
        ConflictReason::Encoding => "it cannot be converted from its encoding to commit it",
        ConflictReason::Unwritable => "it could not be written",
        ConflictReason::Contested => "another program had the file open for writing, or changed it",
    }
}
