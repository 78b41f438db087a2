//! Displays progress as plain lines of text, without a live view.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use protocol::{
    Event, EventKind, Outcome, RepoPath, RunName, SessionEvent, TaskName, TaskReport, Timestamp,
    Totals,
};

use super::conflict_text::conflicts_text;
use super::landed_text::landed_text;
use super::live_frame::{headline, run_conditions};
use super::numbers::{changed_lines, count, duration, elapsed, time_of_day, tokens, usage_text};
use super::printable::one_line;
use super::run_view::RunView;
use super::task_outcome::{OutcomeLine, limit_note, outcome_line, refused_note};
use super::task_view::TaskStage;
use super::terminal::{Meaning, Palette};
use super::unverified::unverified_text;
use crate::args::Verbosity;
use regatta::text::{kept_workspace_note, left_out_note, rescue_line};

/// Formats events as lines such as `12:03:41 auth landed 3 files +41 −7 31s`.
#[derive(Debug)]
pub(super) struct ProgressLines {
    palette: Palette,
    zone: TimeZone,
    verbosity: Verbosity,
    /// When a retry of a task's provider was last displayed.
    retries: BTreeMap<TaskName, Timestamp>,
    /// How many tasks were cancelled of which there is nothing else to say. The end of the run counts them.
    cancelled: usize,
    /// When the last heartbeat was displayed.
    beat: Option<Timestamp>,
}

/// The time between two heartbeats, in milliseconds.
const HEARTBEAT: u64 = 60_000;

/// The shortest time between two lines about retries of the same task, in milliseconds.
const RETRY_INTERVAL: i64 = 60_000;

impl ProgressLines {
    pub(super) fn new(palette: Palette, zone: TimeZone, verbosity: Verbosity) -> Self {
        Self { palette, zone, verbosity, retries: BTreeMap::new(), cancelled: 0, beat: None }
    }

    /// Returns the line that says each minute of a run how many tasks run, wait and have ended.
    pub(super) fn heartbeat(&mut self, run: &RunView, now: Timestamp) -> Option<String> {
        let head = run.head().filter(|_| run.end().is_none())?;
        if elapsed(self.beat.unwrap_or(head.started), now) < HEARTBEAT {
            return None;
        }
        self.beat = Some(now);
        let (running, done) = (run.running().len(), run.ended().all);
        let queued = head.tasks.max(run.rows().len()).saturating_sub(running + done);
        let landing = run.landing().map(|landing| format!(" · {landing}")).unwrap_or_default();
        let at = time_of_day(now, &self.zone);
        Some(format!("{at} {running} running, {queued} queued, {done} done{landing}"))
    }

    /// Returns the text of an event, which is one or two lines, or `None` if the event is not
    /// displayed. The caller has applied the event to `run` already.
    pub(super) fn line(&mut self, run: &RunView, event: &Event) -> Option<String> {
        let at = time_of_day(event.at, &self.zone);
        let said = match &event.kind {
            EventKind::RunStarted { tasks, pass_env, needs, own_needs, verify, .. } => {
                let lines = run_conditions(*tasks, pass_env, (needs, own_needs), verify);
                let lines: String = lines.iter().map(|line| format!("\n{at} {line}")).collect();
                format!("{}{lines}", headline(run.head()?))
            }
            EventKind::Degraded { from, to, why } => fallback_note(from, to, why),
            EventKind::TaskFinished { report, .. } if self.is_only_counted(report) => {
                self.cancelled += 1;
                return None;
            }
            EventKind::TaskFinished { task, report } => {
                format!("{} {}", task, self.ended(report))
            }
            EventKind::LandingWaited
            | EventKind::LandingStarted { .. }
            | EventKind::VerificationStarted { .. } => run.landing()?.to_owned(),
            EventKind::VerificationFinished { number, ms, why, .. } => {
                self.verified(*number, *ms, why.as_deref())
            }
            EventKind::TaskLanded { task, branch, joined } => {
                let TaskStage::Ended { report, .. } = &run.find(task)?.stage else { return None };
                let branch =
                    branch.as_deref().map(|branch| format!(" on branch {}", one_line(branch)));
                let word = self.palette.paint(Meaning::Good, "landed");
                let (task, branch) = (task, branch.unwrap_or_default());
                let joined = joined_note(joined);
                format!("{task} {word}{branch}{}{joined}", change_size(report))
            }
            EventKind::TaskConflicted { task, conflicts } => {
                self.kept("conflict", task.as_str(), &conflicts_text(conflicts))
            }
            EventKind::TaskKept { task, why } => self.kept("kept", task.as_str(), why),
            EventKind::TaskUnverified { task, unverified } => {
                self.kept("unverified", task.as_str(), &unverified_text(unverified))
            }
            EventKind::FileRescued { rescue } => rescue_line(rescue),
            EventKind::RunFinished { totals, .. } => {
                let end = run_end_line(event.run()?, totals);
                match self.cancelled {
                    0 => end,
                    tasks => {
                        format!("{} cancelled before any work\n{at} {end}", count(tasks, "task"))
                    }
                }
            }
            EventKind::ContractReminded { task, complaint } => {
                self.verbose_line(format!("{} was reminded: {}", task, one_line(complaint)))?
            }
            EventKind::TaskStarted { task, .. } => {
                self.verbose_line(format!("{} started", task))?
            }
            EventKind::WorkspaceReady { task, path, ms } => self.verbose_line(format!(
                "{} works in {} ({})",
                task,
                one_line(path),
                duration(*ms)
            ))?,
            EventKind::WorkspaceSetUp { task, ms } => {
                self.verbose_line(format!("{} was set up in {}", task, duration(*ms)))?
            }
            EventKind::TaskCaptured { task, captured } => {
                self.verbose_line(format!("{} captured {}", task, captured.capture))?
            }
            EventKind::SessionEvent { task: Some(task), event: said } => {
                self.session_line(task, task.as_str(), said, event.at)?
            }
            EventKind::ConflictsResolved { .. }
            | EventKind::ResolverFailed { .. }
            | EventKind::TaskQueued { .. }
            | EventKind::TaskProgress { .. }
            | EventKind::SessionEvent { .. }
            | EventKind::TaskYielded { .. } => return None,
        };
        Some(format!("{at} {said}"))
    }

    /// Returns the line of an event of a task's session.
    fn session_line(
        &mut self,
        task: &TaskName,
        label: &str,
        event: &SessionEvent,
        now: Timestamp,
    ) -> Option<String> {
        Some(match event {
            SessionEvent::AutoRetryStart { delay_ms, error_message, .. } => {
                if !self.is_due(task, now) {
                    return None;
                }
                let (wait, why) = (duration(*delay_ms), one_line(error_message));
                format!("{label} waits {wait} for its provider: {why}")
            }
            SessionEvent::ToolUnavailable { tool_name, error_message } => {
                let (tool, why) = (one_line(tool_name), one_line(error_message));
                format!("note: {label} works without the tool `{tool}`: {why}")
            }
            SessionEvent::Notice { message } => format!("note: {label}: {}", one_line(message)),
            _ => return None,
        })
    }

    fn verified(&self, number: usize, ms: u64, why: Option<&str>) -> String {
        let took = duration(ms);
        match why {
            None => format!("verification {number} passed in {took}"),
            Some(why) => {
                let word = self.palette.paint(Meaning::Bad, "failed");
                format!("verification {number} {word} in {took}: {}", one_line(why))
            }
        }
    }

    fn kept(&self, word: &str, label: &str, why: &str) -> String {
        format!("{label} {}: {}", self.palette.paint(Meaning::Kept, word), one_line(why))
    }

    /// Returns `said` if `--verbose` was given, otherwise `None`.
    fn verbose_line(&self, said: String) -> Option<String> {
        (self.verbosity == Verbosity::Verbose).then_some(said)
    }

    /// Returns whether a retry of a task's provider is displayed, and records that it is. With
    /// `--verbose` each is displayed, else at most one per task and minute.
    fn is_due(&mut self, task: &TaskName, now: Timestamp) -> bool {
        let young = self
            .retries
            .get(task)
            .is_some_and(|last| now.as_millisecond() - last.as_millisecond() < RETRY_INTERVAL);
        if young && self.verbosity != Verbosity::Verbose {
            return false;
        }
        self.retries.insert(task.clone(), now);
        true
    }

    /// Returns whether a task was cancelled before it did anything. Ctrl-C ends hundreds of these at once.
    fn is_only_counted(&self, report: &TaskReport) -> bool {
        self.verbosity != Verbosity::Verbose
            && report.outcome == Outcome::Cancelled
            && (report.ms, &report.captured, report.usage) == (0, &None, None)
    }

    /// Returns the outcome of a task before its landing is known.
    fn ended(&self, report: &TaskReport) -> String {
        let mut ended = match &report.outcome {
            Outcome::Done { .. } => {
                let mut done = OutcomeLine::plain("done", Meaning::Neutral);
                report.reached_limit.iter().for_each(|limit| done.add_note(&limit_note(limit)));
                refused_note(report).iter().for_each(|note| done.add_note(note));
                done
            }
            Outcome::Failed { .. } | Outcome::Cancelled => outcome_line(report, None),
        };
        if let Some(captured) = &report.captured {
            // The line of a failed or cancelled task contains the note on left out files already.
            let left_out = matches!(report.outcome, Outcome::Done { .. })
                .then(|| left_out_note(&captured.left_out));
            for note in
                [left_out.flatten(), kept_workspace_note(&captured.left_out)].iter().flatten()
            {
                ended.add_note(note);
            }
        }
        let OutcomeLine { word, meaning, note } = ended;
        let note = if note.is_empty() { note } else { format!("  {note}") };
        let spent = report.usage.map(|usage| format!(" {} tokens", tokens(usage.tokens())));
        let word = self.palette.paint(meaning, &word);
        format!("{word}{}{}{note}", change_size(report), spent.unwrap_or_default())
    }
}

/// Returns the line about the end of a run.
pub(super) fn run_end_line(run: &RunName, totals: &Totals) -> String {
    let spent = totals.usage.map(|usage| format!(" · {}", usage_text(usage)));
    format!("run {run} ended after {}{}", duration(totals.ms), spent.unwrap_or_default())
}

/// Returns a note about a fallback from `from` to `to`, with the reason if there is one.
pub fn fallback_note(from: &str, to: &str, why: &str) -> String {
    let why = if why.is_empty() { String::new() } else { format!(" ({})", one_line(why)) };
    format!("note: {}: {}{why}", one_line(from), one_line(to))
}

/// Returns the size of a task's change and the duration of the task, with a space before them.
fn change_size(report: &TaskReport) -> String {
    let changes = report.captured.as_ref().map(|captured| captured.changes);
    let changes = changes.map(|changes| match (changes.files, &report.outcome) {
        (0, Outcome::Done { .. }) => " no change".to_owned(),
        (0, Outcome::Failed { .. } | Outcome::Cancelled) => String::new(),
        (files, _) => format!(" {} {}", count(files, "file"), changed_lines(changes)),
    });
    format!("{} {}", changes.unwrap_or_default(), duration(report.ms))
}
fn joined_note(joined: &[RepoPath]) -> String {
    match joined.is_empty() {
        true => String::new(),
        false => format!(", {}", one_line(&landed_text(None, joined))),
    }
}

#[cfg(test)]
mod tests {
    use protocol::{EventScope, ExitCode};

    use super::super::test_terminal::run_started;
    use super::*;

    fn lines(verbosity: Verbosity) -> Vec<String> {
        let mut view = RunView::default();
        let mut lines = ProgressLines::new(Palette::Plain, TimeZone::UTC, verbosity);
        let cancelled = |at: u64| {
            let report = TaskReport {
                outcome: Outcome::Cancelled,
                captured: None,
                // The last one had begun.
                ms: if at == 199 { 1500 } else { 0 },
                setup_ms: None,
                usage: None,
                fallbacks: Vec::new(),
                turns: None,
                reached_limit: None,
                refused_calls: 0,
                timings: None,
            };
            let task = format!("t{at}").parse().unwrap();
            EventKind::TaskFinished { task, report: Box::new(report) }
        };
        let totals = Totals { cancelled: 200, ms: 2000, ..Totals::default() };
        let end = EventKind::RunFinished { totals, exit_code: ExitCode::Interrupted };
        let kinds =
            std::iter::once(run_started(200, 4)).chain((0..200).map(cancelled)).chain([end]);
        let said = kinds.filter_map(|kind| {
            let scope = Some(EventScope::Run("r7k3f".parse().unwrap()));
            let event = Event { seq: 1, at: Timestamp::from_millisecond(0), scope, kind };
            view.apply(&event);
            lines.line(&view, &event)
        });
        said.flat_map(|said| said.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn tasks_that_are_cancelled_before_they_begin_are_one_line_at_the_end() {
        let quiet = lines(Verbosity::Normal);
        assert_eq!(
            quiet[1..],
            [
                "00:00:00 t199 cancelled 1.5s",
                "00:00:00 199 tasks cancelled before any work",
                "00:00:00 run r7k3f ended after 2.0s",
            ]
        );
        assert_eq!(lines(Verbosity::Verbose).len(), 1 + 200 + 1);
    }
}
