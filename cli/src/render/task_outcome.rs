//! The outcome of a task as a word and a note: `landed`, `conflict`, `failed: timeout`.

use engine::texts::limit_text;
use jiff::tz::TimeZone;
use protocol::{
    Captured, Failure, FailureClass, FailureDetail, Landed, Outcome, ReachedLimit, TaskReport,
};

use super::conflict_text::{conflicts_text, left_text};
use super::landed_text::landed_text;
use super::numbers::date_time;
use super::printable;
use super::terminal::Meaning;
use super::unverified::unverified_text;
use regatta::text::left_out_note;

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

    /// Returns the outcome with a hint, which must be printable.
    #[must_use]
    pub fn with_hint(mut self, hint: Option<&str>) -> Self {
        if let Some(hint) = hint {
            self.note = hinted(&self.note, hint);
        }
        self
    }

    /// Returns an outcome without a note.
    #[must_use]
    pub fn plain(word: &str, meaning: Meaning) -> Self {
        Self::new(word, meaning, "")
    }
}

/// Returns why a command was not found, with a hint in place of the explanation of its exit code: a line of 80
/// columns has no room for both.
pub(super) fn hinted(why: &str, hint: &str) -> String {
    let said = why.split(" (code ").next().unwrap_or_default();
    format!("{said}; {hint}")
}

/// Returns the outcome of a task that ended. `landing` is the result of landing its work, if any.
#[must_use]
pub fn outcome_line(report: &TaskReport, landing: Option<&Landed>) -> OutcomeLine {
    let mut found = outcome_without_notes(report, landing);
    let captured = report.captured.as_ref();
    let holds = captured.is_some_and(Captured::holds_uncaptured_files);
    if holds && matches!(found.meaning, Meaning::Good | Meaning::Neutral) {
        let on = if found.note.is_empty() { "" } else { " on " };
        found.note = match landing {
            Some(Landed::Landed { .. }) => format!("the rest has landed{on}{}", found.note),
            _ => String::new(),
        };
        (found.word, found.meaning) = ("kept".to_owned(), Meaning::Kept);
    }
    if !report.fallbacks.is_empty() {
        let models: Vec<_> = report.fallbacks.iter().map(|it| it.model.as_str()).collect();
        found.add_note(&printable::one_line(&format!("answered by {}", models.join(", "))));
    }
    report.reached_limit.iter().for_each(|limit| found.add_note(&limit_note(limit)));
    refused_note(report).iter().for_each(|note| found.add_note(note));
    let left_out = captured.and_then(|captured| left_out_note(&captured.left_out));
    left_out.iter().for_each(|note| found.add_note(note));
    found
}

/// Returns the note about a task of which calls were refused.
pub(super) fn refused_note(report: &TaskReport) -> Option<String> {
    match report.refused_calls {
        0 => None,
        1 => Some("1 call refused".to_owned()),
        more => Some(format!("{more} calls refused")),
    }
}

/// Returns the note about a task that was done when it had reached a limit.
pub(super) fn limit_note(limit: &ReachedLimit) -> String {
    format!("at its limit: {}", limit_text(limit))
}

fn outcome_without_notes(report: &TaskReport, landing: Option<&Landed>) -> OutcomeLine {
    let landed = matches!(landing, Some(Landed::Landed { .. }));
    match &report.outcome {
        Outcome::Failed { failure } => {
            let word = format!("failed: {}", class_text(failure.class));
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
            Some(_) => work_outcome(landing),
        },
    }
}

/// Returns the class of a failure in words.
pub(super) fn class_text(class: FailureClass) -> String {
    class.to_string().replace('_', " ")
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
fn work_outcome(landing: Option<&Landed>) -> OutcomeLine {
    match landing {
        Some(Landed::Landed { branch, joined }) => {
            OutcomeLine::new("landed", Meaning::Good, landed_text(branch.as_deref(), joined))
        }
        Some(Landed::Unchanged) => OutcomeLine::new("no change", Meaning::Neutral, ""),
        Some(Landed::Conflicted { conflicts }) => {
            OutcomeLine::new("conflict", Meaning::Kept, conflicts_text(conflicts))
        }
        Some(Landed::Unwritten { message }) => OutcomeLine::new("kept", Meaning::Kept, message),
        Some(Landed::Waiting { on }) => {
            let on: Vec<_> = on.iter().map(ToString::to_string).collect();
            OutcomeLine::new(
                "kept",
                Meaning::Kept,
                format!("builds on {}, which did not land", on.join(", ")),
            )
        }
        Some(Landed::Unverified(unverified)) => {
            OutcomeLine::new("unverified", Meaning::Kept, unverified_text(unverified))
        }
        Some(Landed::TakenBack { left }) => {
            OutcomeLine::new("taken back", Meaning::Kept, left_text(left))
        }
        None => OutcomeLine::new("kept", Meaning::Kept, ""),
    }
}

#[cfg(test)]
mod tests {
    use protocol::{
        CaptureRef, ChangeSummary, Conflict, ConflictReason, LeftOut, LeftOutEntry, LeftOutKind,
        RepoPath, Timestamp,
    };

    use super::*;

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
            reached_limit: None,
            refused_calls: 0,
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
        let note = outcome_line(&report(Outcome::Failed { failure: used_up }, None), None).note;
        assert!(note.starts_with("it may work again at 2026-01-0"), "{note}");
        assert!(note.ends_with("; used up"), "{note}");
        for (report, landing, word, note) in cases {
            let outcome = outcome_line(&report, landing.as_ref());
            assert_eq!((outcome.word.as_str(), outcome.note.as_str()), (word, note));
        }
    }

    #[test]
    fn a_task_that_is_done_at_its_limit_says_which_one() {
        let reached_limit = Some(ReachedLimit::Turns { used: 8, most: 8 });
        let landed = Landed::Landed { branch: Some("regatta/r7k3f/t1".into()), joined: Vec::new() };
        for (files, landing, word, note) in [
            (
                Some(1),
                Some(landed),
                "landed",
                "branch regatta/r7k3f/t1; at its limit: turns 8 of 8",
            ),
            (Some(0), None, "no change", "at its limit: turns 8 of 8"),
            (None, None, "done", "in place; at its limit: turns 8 of 8"),
        ] {
            let report = TaskReport { reached_limit, ..report(done(), files) };
            let outcome = outcome_line(&report, landing.as_ref());
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
            let OutcomeLine { word, note, .. } = outcome_line(report, landing.as_ref());
            format!("{word}: {note}")
        };
        let work = LeftOutKind::Submodule { files: 3 };
        let told = "left out: lib (submodule, 3 files)";
        assert_eq!(word(&with(0, work), None), format!("kept: {told}"));
        let rest = format!("kept: the rest has landed; {told}");
        assert_eq!(word(&with(1, work), Some(landed(None))), rest);
        let rest = format!("kept: the rest has landed on branch b; {told}");
        assert_eq!(word(&with(1, work), Some(landed(Some("b")))), rest);
        let mut at_limit = with(1, work);
        at_limit.reached_limit = Some(ReachedLimit::Turns { used: 8, most: 8 });
        let rest = format!("kept: the rest has landed; at its limit: turns 8 of 8; {told}");
        assert_eq!(word(&at_limit, Some(landed(None))), rest);
        let socket = LeftOutKind::Socket;
        let told = "left out: lib (socket)";
        assert_eq!(word(&with(0, socket), None), format!("no change: {told}"));
        assert_eq!(word(&with(1, socket), Some(landed(None))), format!("landed: {told}"));
    }
}
