//! The outcome of a task as a word and a note: `landed`, `conflict`, `failed: timeout`.

use jiff::tz::TimeZone;
use protocol::{Conflict, ConflictReason, Failure, FailureDetail, Landed, Outcome, TaskReport};

use super::kept_files::left_out_note;
use super::landed_text::landed_text;
use super::numbers::date_time;
use super::printable;
use super::task_label::Labels;
use super::terminal::Meaning;
use super::unverified::unverified_text;

/// The outcome of a task as text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OutcomeLine {
    /// The outcome: `landed`, `conflict`, `failed: timeout` and so on.
    pub word: String,
    /// The meaning of the outcome, which determines its colour.
    pub meaning: Meaning,
    /// The branch, the paths in conflict or the message of the failure; printable.
    pub note: String,
}

impl OutcomeLine {
    fn new(word: impl Into<String>, meaning: Meaning, note: impl AsRef<str>) -> Self {
        Self { word: word.into(), meaning, note: printable::one_line(note.as_ref()) }
    }

    /// Adds text, which must be printable, to the note.
    pub fn add_note(&mut self, note: &str) {
        if !self.note.is_empty() {
            self.note.push_str("; ");
        }
        self.note.push_str(note);
    }

    /// Returns an outcome without a note.
    #[must_use]
    pub fn plain(word: &str, meaning: Meaning) -> Self {
        Self::new(word, meaning, "")
    }
}

/// Returns the outcome of a task that ended. `landing` is the result of landing its work, if any;
/// `labels` name the other tasks.
#[must_use]
pub fn outcome_line(
    report: &TaskReport,
    landing: Option<&Landed>,
    labels: Labels<'_>,
) -> OutcomeLine {
    let mut found = outcome_without_notes(report, landing, labels);
    if !report.fallbacks.is_empty() {
        let models: Vec<_> = report.fallbacks.iter().map(|it| it.model.as_str()).collect();
        found.add_note(&printable::one_line(&format!("answered by {}", models.join(", "))));
    }
    let Some(captured) = &report.captured else { return found };
    let holds = captured.holds_uncaptured_files();
    if holds && matches!(found.meaning, Meaning::Good | Meaning::Neutral) {
        let on = if found.note.is_empty() { "" } else { " on " };
        found.note = match landing {
            Some(Landed::Landed { .. }) => format!("the rest has landed{on}{}", found.note),
            _ => String::new(),
        };
        (found.word, found.meaning) = ("kept".to_owned(), Meaning::Kept);
    }
    if let Some(note) = left_out_note(&captured.left_out) {
        found.add_note(&note);
    }
    found
}

fn outcome_without_notes(
    report: &TaskReport,
    landing: Option<&Landed>,
    labels: Labels<'_>,
) -> OutcomeLine {
    let landed = matches!(landing, Some(Landed::Landed { .. }));
    match &report.outcome {
        Outcome::Failed { failure } => {
            let word = format!("failed: {}", failure.class);
            let prefix = if landed { "its work has landed since; " } else { "" };
            let again =
                retry_time_note(failure).map(|again| format!("{again}; ")).unwrap_or_default();
            OutcomeLine::new(word, Meaning::Bad, format!("{prefix}{again}{}", failure.message))
        }
        Outcome::Cancelled => {
            let note = if landed { "its work has landed since" } else { "" };
            OutcomeLine::new("cancelled", Meaning::Bad, note)
        }
        Outcome::Done { .. } => match &report.captured {
            None => OutcomeLine::new("done", Meaning::Good, "in place"),
            Some(captured) if captured.changes.files == 0 => {
                OutcomeLine::new("no change", Meaning::Neutral, "")
            }
            Some(_) => work_outcome(landing, labels),
        },
    }
}

/// Returns when a failed task can be tried again, if that is known.
#[must_use]
pub fn retry_time_note(failure: &Failure) -> Option<String> {
    match &failure.detail {
        Some(FailureDetail::Until { at }) => {
            Some(format!("it may work again at {}", date_time(*at, &TimeZone::system())))
        }
        _ => None,
    }
}

/// Returns the outcome of a task with captured work.
fn work_outcome(landing: Option<&Landed>, labels: Labels<'_>) -> OutcomeLine {
    match landing {
        Some(Landed::Landed { branch, joined }) => {
            OutcomeLine::new("landed", Meaning::Good, landed_text(branch.as_deref(), joined))
        }
        Some(Landed::Unchanged) => OutcomeLine::new("no change", Meaning::Neutral, ""),
        Some(Landed::Conflicted { conflicts }) => {
            OutcomeLine::new("conflict", Meaning::Kept, conflicts_text(conflicts, labels))
        }
        Some(Landed::Unwritten { message }) => OutcomeLine::new("kept", Meaning::Kept, message),
        Some(Landed::Waiting { on }) => {
            let on: Vec<_> = on.iter().map(labels).collect();
            OutcomeLine::new(
                "kept",
                Meaning::Kept,
                format!("builds on {}, which did not land", on.join(", ")),
            )
        }
        Some(Landed::Unverified(unverified)) => {
            OutcomeLine::new("unverified", Meaning::Kept, unverified_text(unverified, labels))
        }
        Some(Landed::TakenBack { left }) => {
            OutcomeLine::new("taken back", Meaning::Kept, left_text(left))
        }
        None => OutcomeLine::new("kept", Meaning::Kept, ""),
    }
}

/// Returns the paths that were left where work was taken back, as one line; empty if there are none.
#[must_use]
pub fn left_text(left: &[Conflict]) -> String {
    const NAMED: usize = 3;
    if left.is_empty() {
        return String::new();
    }
    let mut paths: Vec<String> = left
        .iter()
        .take(NAMED)
        .map(|conflict| printable::one_line(&conflict.path.to_string()))
        .collect();
    if left.len() > NAMED {
        paths.push(format!("and {} more", left.len() - NAMED));
    }
    format!("all but {}", paths.join(", "))
}

/// Returns the paths of conflicts, each with the other task, as one line.
#[must_use]
pub fn conflicts_text(conflicts: &[Conflict], labels: Labels<'_>) -> String {
    const NAMED: usize = 3;
    let text = |conflict| conflict_text(conflict, labels);
    let mut parts: Vec<String> = conflicts.iter().take(NAMED).map(text).collect();
    if conflicts.len() > NAMED {
        parts.push(format!("and {} more", conflicts.len() - NAMED));
    }
    parts.join("; ")
}

fn conflict_text(conflict: &Conflict, labels: Labels<'_>) -> String {
    let path = printable::one_line(&conflict.path.to_string());
    if let (ConflictReason::MissingCommit, Some(theirs)) = (conflict.reason, &conflict.theirs) {
        let commit = printable::one_line(&theirs.oid);
        return format!(
            "{path}, whose repository lacks the commit {commit}: fetch it there, or `--clean` lands \
             the rest"
        );
    }
    match other_side_text(conflict, labels) {
        Some(other) => format!("{path}, with {other}"),
        None => format!("{path}, {}", reason_text(conflict.reason)),
    }
}

/// Returns whose change a conflict is with: another task's, or one in the user's tree. `None` if the
/// work itself cannot be written.
#[must_use]
pub fn other_side_text(conflict: &Conflict, labels: Labels<'_>) -> Option<String> {
    if let Some(other) = &conflict.with {
        return Some(labels(other));
    }
    match conflict.reason {
        ConflictReason::Content
        | ConflictReason::Binary
        | ConflictReason::BothAdded
        | ConflictReason::ChangedAndRemoved
        | ConflictReason::Kind
        | ConflictReason::Mode
        | ConflictReason::TooLarge
        | ConflictReason::RenamedTwice
        | ConflictReason::RenamedAndRemoved
        | ConflictReason::SameName
        | ConflictReason::FolderSplit
        | ConflictReason::InTheWay => Some("an edit in your tree since the run began".to_owned()),
        ConflictReason::Uncommitted
        | ConflictReason::Submodule
        | ConflictReason::MissingCommit
        | ConflictReason::Untracked
        | ConflictReason::NotCheckedOut
        | ConflictReason::Filter
        | ConflictReason::Encoding
        | ConflictReason::Contested
        | ConflictReason::Case
        | ConflictReason::GitmodulesLink
        | ConflictReason::Unwritable
        | ConflictReason::Setup => None,
    }
}

/// Describes the reason of a conflict in a few words.
#[must_use]
pub fn reason_text(reason: ConflictReason) -> &'static str {
    match reason {
        ConflictReason::Content => "both changed the same lines",
        ConflictReason::Binary => "both changed a binary file",
        ConflictReason::BothAdded => "both added it, differently",
        ConflictReason::ChangedAndRemoved => "one changed it, the other removed it",
        ConflictReason::Kind => "one changed its type",
        ConflictReason::Mode => "both added it, one of them executable",
        ConflictReason::Submodule => "a submodule is there, or above it",
        ConflictReason::MissingCommit => "its repository there lacks the commit that the task left",
        ConflictReason::Untracked => "a file of yours that git does not track is there",
        ConflictReason::NotCheckedOut => "git tracks it, and it is not checked out",
        ConflictReason::InTheWay => "one has a file where the other has a folder",
        ConflictReason::TooLarge => "both changed a file that is too large to merge by lines",
        ConflictReason::RenamedTwice => "both renamed it, to different names",
        ConflictReason::RenamedAndRemoved => "one renamed it, the other removed it",
        ConflictReason::SameName => "different files would get this name",
        ConflictReason::FolderSplit => "its folder was renamed to several places",
        ConflictReason::Case => "another name there differs only in case",
        ConflictReason::GitmodulesLink => "git refuses a symlink with this name",
        ConflictReason::Setup => "it changed the same lines as its set-up, which does not land",
        ConflictReason::Uncommitted => "it has a change that is not committed",
        ConflictReason::Filter => "a filter program would have to run to commit it",
        ConflictReason::Encoding => "it cannot be converted from its encoding to commit it",
        ConflictReason::Unwritable => "it could not be written",
        ConflictReason::Contested => {
            "another program had it open for writing, or changed it meanwhile"
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{
        CaptureRef, Captured, ChangeSummary, FailureClass, LeftOut, LeftOutEntry, LeftOutKind,
        RepoPath, Timestamp,
    };

    use super::*;

    const NAMES: Labels<'_> = &|task| task.to_string();

    fn report(outcome: Outcome, files: Option<u64>) -> TaskReport {
        let capture = CaptureRef::of(&"r7k3f".parse().unwrap(), &"t1".parse().unwrap(), 1);
        let changes = |files| ChangeSummary { files, added: 1, removed: 0 };
        let captured = files.map(|files| Captured::whole(capture, changes(files)));
        TaskReport {
            outcome,
            captured,
            ms: 10,
            setup_ms: None,
            usage: None,
            fallbacks: Vec::new(),
            turns: None,
            timings: None,
        }
    }

    fn done() -> Outcome {
        Outcome::Done { value: serde_json::Value::Null }
    }

    #[test]
    fn each_end_has_its_word() {
        let conflict = Conflict {
            path: RepoPath::new("src/config.rs").unwrap(),
            reason: ConflictReason::Content,
            base: None,
            ours: None,
            theirs: None,
            with: Some("auth".parse().unwrap()),
            renamed: None,
        };
        let failed =
            Outcome::Failed { failure: Failure::new(FailureClass::Timeout, "30m\u{1b}[2J passed") };
        let cases = [
            (
                report(done(), Some(1)),
                Some(Landed::Landed { branch: None, joined: Vec::new() }),
                "landed",
                "",
            ),
            (
                report(done(), Some(1)),
                Some(Landed::Landed {
                    branch: Some("regatta/r7k3f/t1".into()),
                    joined: Vec::new(),
                }),
                "landed",
                "branch regatta/r7k3f/t1",
            ),
            (report(done(), Some(0)), Some(Landed::Unchanged), "no change", ""),
            (
                report(done(), Some(1)),
                Some(Landed::Conflicted { conflicts: vec![conflict] }),
                "conflict",
                "src/config.rs, with auth",
            ),
            (
                report(done(), Some(1)),
                Some(Landed::Waiting { on: vec!["a".parse().unwrap()] }),
                "kept",
                "builds on a, which did not land",
            ),
            (report(done(), Some(1)), None, "kept", ""),
            (report(done(), None), None, "done", "in place"),
            (report(failed, Some(1)), None, "failed: timeout", "30m passed"),
            (report(Outcome::Cancelled, None), None, "cancelled", ""),
        ];
        let at = Timestamp::from_millisecond(1_767_323_045_678);
        let used_up = Failure::new(FailureClass::Quota, "used up");
        let used_up = used_up.with(FailureDetail::Until { at });
        let note =
            outcome_line(&report(Outcome::Failed { failure: used_up }, None), None, NAMES).note;
        assert!(note.starts_with("it may work again at 2026-01-0"), "{note}");
        assert!(note.ends_with("; used up"), "{note}");
        for (report, landing, word, note) in cases {
            let outcome = outcome_line(&report, landing.as_ref(), NAMES);
            assert_eq!((outcome.word.as_str(), outcome.note.as_str()), (word, note));
        }
    }

    #[test]
    fn files_that_are_left_out_make_a_task_kept_and_others_are_noted() {
        let with = |files, kind: LeftOutKind| {
            let mut report = report(done(), Some(files));
            let entry = LeftOutEntry { path: "lib".to_owned(), kind };
            let left_out =
                LeftOut { entries: vec![entry], total: 1, files: kind.files(), workspace: None };
            report.captured = report.captured.map(|whole| Captured { left_out, ..whole });
            report
        };
        let landed = |branch: Option<&str>| Landed::Landed {
            branch: branch.map(str::to_owned),
            joined: Vec::new(),
        };
        let word = |report: &TaskReport, landing: Option<Landed>| {
            let OutcomeLine { word, note, .. } = outcome_line(report, landing.as_ref(), NAMES);
            format!("{word}: {note}")
        };
        let work = LeftOutKind::Submodule { files: 3 };
        let told = "left out: lib (submodule, 3 files)";
        assert_eq!(word(&with(0, work), None), format!("kept: {told}"));
        let rest = format!("kept: the rest has landed; {told}");
        assert_eq!(word(&with(1, work), Some(landed(None))), rest);
        let rest = format!("kept: the rest has landed on branch b; {told}");
        assert_eq!(word(&with(1, work), Some(landed(Some("b")))), rest);
        let socket = LeftOutKind::Socket;
        let told = "left out: lib (socket)";
        assert_eq!(word(&with(0, socket), None), format!("no change: {told}"));
        assert_eq!(word(&with(1, socket), Some(landed(None))), format!("landed: {told}"));
    }
}
