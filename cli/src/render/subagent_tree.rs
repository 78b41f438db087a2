//! The subagents below a session or the tasks of a run, computed from the events of their runs.

use std::collections::BTreeMap;

use protocol::{
    ChangeSummary, Event, EventKind, Outcome, RunCaller, RunName, SessionId, TaskId, TaskName,
    TaskReport,
};
use serde_json::{Value, json};

use super::numbers::{changed_lines, count, duration, tokens};
use super::printable::one_line;
use super::run_view::RunView;
use super::task_lines::TaskRow;
use super::task_view::{TaskStage, TaskView};
use super::terminal::Meaning;

/// The subagents below a session, or below the tasks of a run, at any depth.
#[derive(Clone, Debug, Default)]
pub struct SubagentTree {
    /// The session whose calls are at the top; `None` below the tasks of a run.
    session: Option<SessionId>,
    /// The tasks that have started, whose agents may call.
    callers: BTreeMap<TaskId, (RunName, TaskName)>,
    /// The runs that have not ended, in the order in which they began.
    runs: Vec<RunBelow>,
}

/// The run of subagents.
#[derive(Clone, Debug)]
struct RunBelow {
    name: RunName,
    /// The task that has called; `None` for the session at the top.
    caller: Option<(RunName, TaskName)>,
    view: RunView,
}

/// How many subagents there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubagentCounts {
    /// Those of the calls that have not returned.
    pub all: usize,
    /// Those that have ended.
    pub ended: usize,
    /// Those that have failed.
    pub failed: usize,
}

/// A subagent that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedSubagent {
    /// What has become of it.
    pub meaning: Meaning,
    /// A line that says so, without the mark before it; printable.
    pub text: String,
}

impl EndedSubagent {
    /// Returns the line with a mark before it.
    #[must_use]
    pub fn line(&self) -> String {
        let mark = match self.meaning {
            Meaning::Good => '✓',
            _failed_or_cancelled => '✗',
        };
        format!("{mark} {}", self.text)
    }
}

impl SubagentTree {
    /// Returns the tree below a session.
    #[must_use]
    pub fn below(session: SessionId) -> Self {
        Self { session: Some(session), ..Self::default() }
    }

    /// Applies an event of any run. Returns the subagent that has ended with it.
    pub fn apply(&mut self, event: &Event) -> Option<EndedSubagent> {
        let run = event.run()?;
        if let EventKind::RunStarted { caller: Some(caller), .. } = &event.kind
            && let Some(caller) = self.caller(caller)
        {
            self.runs.push(RunBelow { name: run.clone(), caller, view: RunView::default() });
        }
        let at = self.runs.iter().position(|below| below.name == *run)?;
        match &event.kind {
            EventKind::TaskStarted { task, id, .. } => self.may_call(*id, run, task),
            EventKind::RunFinished { .. } => {
                self.callers.retain(|_, (of, _)| of != run);
                self.runs.remove(at);
                return None;
            }
            _ => {}
        }
        self.runs[at].view.apply(event);
        let EventKind::TaskFinished { task, report } = &event.kind else { return None };
        let label = match self.task_above(at) {
            Some(above) => format!("{above} › {task}"),
            None => task.to_string(),
        };
        Some(ended(&label, report))
    }

    /// Returns the task of the run above all that the run at this position is below; `None` below a session.
    fn task_above(&self, at: usize) -> Option<&TaskName> {
        let mut below = &self.runs[at];
        loop {
            let (run, task) = below.caller.as_ref()?;
            match self.runs.iter().find(|other| other.name == *run) {
                Some(above) => below = above,
                None => return Some(task),
            }
        }
    }

    /// Applies an event of any run. If it is one of subagents, returns it as JSON, with what has called them: the
    /// session, or `RUN/TASK`. The results of subagents are left out, as that of their call has them.
    pub fn json(&mut self, event: &Event) -> Option<Value> {
        let run = event.run()?;
        let before = self.parent(run);
        let _ended = self.apply(event);
        let parent = before.or_else(|| self.parent(run))?;
        let mut event = serde_json::to_value(event).ok()?;
        event.as_object_mut()?.remove("yield");
        Some(json!({ "type": "subagent_event", "parent": parent, "event": event }))
    }

    /// Returns what has called the subagents of a run.
    fn parent(&self, run: &RunName) -> Option<String> {
        let below = self.runs.iter().find(|below| below.name == *run)?;
        match (&below.caller, self.session) {
            (Some((run, task)), _) => Some(format!("{run}/{task}")),
            (None, session) => session.map(|session| session.uuid()),
        }
    }

    /// Notes that the agent of a task may call.
    pub(super) fn may_call(&mut self, id: TaskId, run: &RunName, task: &TaskName) {
        self.callers.insert(id, (run.clone(), task.clone()));
    }

    /// Returns the task that a call comes from, and no task for the session at the top; `None` for others.
    fn caller(&self, caller: &RunCaller) -> Option<Option<(RunName, TaskName)>> {
        if self.session == Some(caller.session) {
            return Some(None);
        }
        let (_, task) = caller.task?;
        self.callers.get(&task).cloned().map(Some)
    }

    /// Returns how many subagents there are.
    #[must_use]
    pub fn counts(&self) -> SubagentCounts {
        let of = |below: &RunBelow| {
            let ended = below.view.ended();
            let all = below.view.head().map_or(0, |head| head.tasks);
            SubagentCounts { all, ended: ended.all, failed: ended.failed }
        };
        self.runs.iter().map(of).fold(SubagentCounts::default(), |sum, one| SubagentCounts {
            all: sum.all + one.all,
            ended: sum.ended + one.ended,
            failed: sum.failed + one.failed,
        })
    }

    /// Returns the subagents that have not ended, each followed by its own.
    #[must_use]
    pub fn rows(&self) -> Vec<TaskRow<'_>> {
        let mut rows = Vec::new();
        self.add_below(None, 0, &mut rows);
        rows
    }

    /// Returns these tasks of a run, each followed by its subagents that have not ended.
    pub(super) fn below_tasks<'a>(
        &'a self,
        run: &RunName,
        tasks: impl Iterator<Item = &'a TaskView>,
    ) -> Vec<TaskRow<'a>> {
        let mut rows = Vec::new();
        for task in tasks {
            rows.push(TaskRow { task, depth: 0 });
            self.add_below(Some((run, &task.name)), 1, &mut rows);
        }
        rows
    }

    fn add_below<'a>(
        &'a self,
        caller: Option<(&RunName, &TaskName)>,
        depth: usize,
        rows: &mut Vec<TaskRow<'a>>,
    ) {
        let is_its =
            |below: &&RunBelow| below.caller.as_ref().map(|(run, task)| (run, task)) == caller;
        for below in self.runs.iter().filter(is_its) {
            let open = below.view.rows().iter();
            for task in open.filter(|task| !matches!(task.stage, TaskStage::Ended { .. })) {
                rows.push(TaskRow { task, depth });
                if task.is_running() {
                    self.add_below(Some((&below.name, &task.name)), depth + 1, rows);
                }
            }
        }
    }
}

/// Returns what has become of a subagent.
fn ended(label: &str, report: &TaskReport) -> EndedSubagent {
    let (meaning, how) = match &report.outcome {
        Outcome::Done { .. } => (Meaning::Good, None),
        Outcome::Failed { failure } => {
            (Meaning::Bad, Some(format!("failed: {}: {}", failure.class, failure.cause())))
        }
        Outcome::Cancelled => (Meaning::Kept, Some("cancelled".to_owned())),
    };
    let changes = report.captured.as_ref().map(|captured| captured.changes);
    let changes = changes.filter(|changes| changes.files > 0).map(|changes: ChangeSummary| {
        format!("{} {}", count(changes.files, "file"), changed_lines(changes))
    });
    let used = report.usage.map(|usage| usage.tokens()).filter(|used| *used > 0);
    let used = used.map(|used| format!("{} tokens", tokens(used)));
    let parts = [Some(label.to_owned()), how, Some(duration(report.ms)), used, changes];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    EndedSubagent { meaning, text: one_line(&parts.join(" · ")) }
}

#[cfg(test)]
mod tests;
