//! The state of a run, computed from its events, which the renderer displays.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{
    Captured, Event, EventKind, ExitCode, IsolationMode, LandTime, Landed, MergeMode, Outcome,
    Phase, RunName, SessionEvent, TaskName, TaskReport, Timestamp, Totals, Usage,
};
use serde_json::Value;

use super::answer::{Answer, AnswerPart};
use super::subagent_tree::{EndedSubagent, SubagentTree};
use super::task_view::{ProgressReport, RunningTask, TaskStage, TaskView};

/// The state of a run.
#[derive(Clone, Debug, Default)]
pub struct RunView {
    head: Option<RunInfo>,
    rows: Vec<TaskView>,
    indices: BTreeMap<TaskName, usize>,
    running: BTreeSet<usize>,
    ended: EndCounts,
    landing: Option<String>,
    subagents: SubagentTree,
    end: Option<(Totals, ExitCode)>,
}

/// How many tasks have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndCounts {
    /// The number of tasks that have ended, with any outcome.
    pub all: usize,
    /// The number of tasks that failed.
    pub failed: usize,
    /// The number of tasks that were cancelled.
    pub cancelled: usize,
}

/// The facts of a run that do not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    /// The name of the run.
    pub run: RunName,
    /// What `--label` calls it.
    pub label: Option<String>,
    /// The number of tasks in the run.
    pub tasks: usize,
    /// How many tasks run at the same time.
    pub jobs: usize,
    /// How tasks are isolated.
    pub isolation: IsolationMode,
    /// How the work of tasks is merged.
    pub merge: MergeMode,
    /// The branch of the user that the work is committed to, if there is one.
    pub onto: Option<String>,
    /// When the work of a task lands.
    pub land: LandTime,
    /// The run that this one retries, if it does.
    pub retry_of: Option<RunName>,
    /// The globs of the files that are carried into each workspace.
    pub carried: Vec<String>,
    /// The commands that set each workspace up.
    pub setups: Vec<String>,
    /// When the run began.
    pub started: Timestamp,
}

impl RunInfo {
    /// Returns the facts of a run that has started.
    fn of(event: &Event) -> Option<Self> {
        let EventKind::RunStarted {
            label,
            tasks,
            jobs,
            isolation,
            merge,
            onto,
            land,
            retry_of,
            needs,
            ..
        } = &event.kind
        else {
            return None;
        };
        Some(Self {
            run: event.run().cloned()?,
            label: label.clone(),
            tasks: *tasks,
            jobs: *jobs,
            isolation: *isolation,
            merge: *merge,
            onto: onto.clone(),
            land: *land,
            retry_of: retry_of.clone(),
            carried: needs.carry.clone(),
            setups: needs.setup.clone(),
            started: event.at,
        })
    }
}

impl RunView {
    /// Applies an event.
    pub fn apply(&mut self, event: &Event) {
        match &event.kind {
            EventKind::RunStarted { .. } => {
                let Some(info) = RunInfo::of(event) else { return };
                self.head = Some(info);
            }
            EventKind::TaskQueued { task, title, model, .. } => {
                let index = self.row(task);
                let row = &mut self.rows[index];
                row.title.clone_from(title);
                row.model.clone_from(model);
            }
            EventKind::TaskStarted { task, id, .. } => {
                if let Some(run) = event.run() {
                    self.subagents.may_call(*id, run, task);
                }
                self.enter(task, event.at, Phase::Preparing);
            }
            EventKind::WorkspaceReady { task, .. } | EventKind::WorkspaceSetUp { task, .. } => {
                self.enter(task, event.at, Phase::Working);
            }
            EventKind::TaskProgress { task, phase, line, tool, tokens, .. } => {
                let (line, tool) = (line.as_ref(), tool.as_ref());
                let progress = ProgressReport { phase: *phase, line, tool, tokens: *tokens };
                self.run(task, event.at, |running| running.update(&progress));
            }
            EventKind::SessionEvent { task: Some(task), event: session_event } => {
                self.on_session_event(task, event.at, session_event);
            }
            EventKind::SessionEvent { task: None, .. } => {} // of a session without a task
            EventKind::TaskFinished { task, report } => self.finish(task, report),
            EventKind::LandingWaited => {
                self.landing =
                    Some("waits: another engine starts or lands a run in this repository".into());
            }
            EventKind::VerificationStarted { number, tasks } => {
                self.landing = Some(verifies(*number, tasks.len()));
            }
            EventKind::VerificationFinished { .. } => {}
            EventKind::LandingStarted { tasks } => {
                self.landing =
                    Some(format!("landing the work of {}", super::count(*tasks, "task")));
            }
            EventKind::TaskLanded { task, branch, joined } => {
                let (branch, joined) = (branch.clone(), joined.clone());
                self.land(task, Landed::Landed { branch, joined });
            }
            EventKind::TaskConflicted { task, conflicts } => {
                self.land(task, Landed::Conflicted { conflicts: conflicts.clone() });
            }
            EventKind::TaskKept { task, why } => {
                self.land(task, Landed::Unwritten { message: why.clone() });
            }
            EventKind::TaskUnverified { task, unverified } => {
                self.land(task, Landed::Unverified(unverified.clone()));
            }
            EventKind::ConflictsResolved { landing } => {
                self.land(&landing.task, landing.landed.clone());
            }
            EventKind::RunFinished { totals, exit_code } => {
                self.end = Some((totals.clone(), *exit_code));
            }
            EventKind::Degraded { .. }
            | EventKind::ResolverFailed { .. }
            | EventKind::FileRescued { .. }
            | EventKind::TaskYielded { .. }
            | EventKind::ContractReminded { .. } => {}
            EventKind::TaskCaptured { task, captured } => self.capture(task, captured),
        }
    }

    /// Applies an event of another run, which may be one of subagents. Returns the task of it that has ended.
    pub fn apply_below(&mut self, event: &Event) -> Option<EndedSubagent> {
        self.subagents.apply(event)
    }

    /// Returns the subagents of the tasks.
    #[must_use]
    pub fn subagents(&self) -> &SubagentTree {
        &self.subagents
    }

    /// Returns the facts of the run, once it has started.
    #[must_use]
    pub fn head(&self) -> Option<&RunInfo> {
        self.head.as_ref()
    }

    /// Returns all tasks, in the order in which they were queued.
    #[must_use]
    pub fn rows(&self) -> &[TaskView] {
        &self.rows
    }

    /// Returns the running tasks, in the order in which they were queued.
    pub fn running(&self) -> impl ExactSizeIterator<Item = &TaskView> {
        self.running.iter().map(|index| &self.rows[*index])
    }

    /// Returns a task by its name.
    #[must_use]
    pub fn find(&self, task: &TaskName) -> Option<&TaskView> {
        self.indices.get(task).map(|index| &self.rows[*index])
    }

    /// Returns how many tasks have ended.
    #[must_use]
    pub fn ended(&self) -> EndCounts {
        self.ended
    }

    /// Returns the usage of all models so far, or `None` if no model was used.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        let used = self.rows.iter().filter_map(|row| row.used);
        used.reduce(|one, other| one + other).filter(|used| used.tokens() > 0)
    }

    /// Returns the state of the landing, once there is one.
    #[must_use]
    pub fn landing(&self) -> Option<&str> {
        self.landing.as_deref()
    }

    /// Returns the result of the run, once it has ended.
    #[must_use]
    pub fn end(&self) -> Option<&(Totals, ExitCode)> {
        self.end.as_ref()
    }

    fn row(&mut self, task: &TaskName) -> usize {
        if let Some(index) = self.indices.get(task) {
            return *index;
        }
        self.rows.push(TaskView {
            name: task.clone(),
            title: String::new(),
            model: None,
            used: None,
            stage: TaskStage::Queued,
            answer: None,
        });
        self.indices.insert(task.clone(), self.rows.len() - 1);
        self.rows.len() - 1
    }

    fn enter(&mut self, task: &TaskName, at: Timestamp, phase: Phase) {
        self.run(task, at, |running| running.phase = phase);
    }

    fn on_session_event(&mut self, task: &TaskName, at: Timestamp, session_event: &SessionEvent) {
        if self.run(task, at, |running| running.on_session_event(at, session_event)) {
            let index = self.row(task);
            self.rows[index].add_usage(session_event);
        }
    }

    /// Changes the state of a running task. Events of a task that has ended are ignored.
    fn run(
        &mut self,
        task: &TaskName,
        at: Timestamp,
        change: impl FnOnce(&mut RunningTask),
    ) -> bool {
        let index = self.row(task);
        let stage = &mut self.rows[index].stage;
        if *stage == TaskStage::Queued {
            *stage = TaskStage::Running(RunningTask::from(at, Phase::Preparing));
            self.running.insert(index);
        }
        match stage {
            TaskStage::Running(running) => change(running),
            TaskStage::Queued | TaskStage::Ended { .. } => return false,
        }
        true
    }

    fn finish(&mut self, task: &TaskName, report: &TaskReport) {
        let index = self.row(task);
        self.running.remove(&index);
        self.rows[index].used = report.usage.or(self.rows[index].used);
        let part = match self.head.as_ref().map(|head| head.tasks) {
            Some(1) => AnswerPart::Whole,
            Some(_) | None => AnswerPart::Beginning,
        };
        self.rows[index].answer = match &report.outcome {
            Outcome::Done { value } => Answer::of(value, part),
            Outcome::Failed { .. } | Outcome::Cancelled => None,
        };
        let before = std::mem::replace(
            &mut self.rows[index].stage,
            TaskStage::Ended { report: Box::new(without_yield(report)), landing: None },
        );
        if !matches!(before, TaskStage::Ended { .. }) {
            self.ended.all += 1;
            match report.outcome {
                Outcome::Done { .. } => {}
                Outcome::Failed { .. } => self.ended.failed += 1,
                Outcome::Cancelled => self.ended.cancelled += 1,
            }
        }
    }

    /// Adds a capture that was made after the report of its task.
    fn capture(&mut self, task: &TaskName, captured: &Captured) {
        let index = self.row(task);
        if let TaskStage::Ended { report, .. } = &mut self.rows[index].stage {
            report.captured.get_or_insert_with(|| captured.clone());
        }
    }

    fn land(&mut self, task: &TaskName, landed: Landed) {
        let index = self.row(task);
        if let TaskStage::Ended { landing, .. } = &mut self.rows[index].stage {
            *landing = Some(landed);
        }
    }
}

/// Returns what is verified, as one line.
fn verifies(number: usize, tasks: usize) -> String {
    let what = match tasks {
        0 => "what the run began with".to_owned(),
        tasks => format!("the merged work of {}", super::count(tasks, "task")),
    };
    format!("verifying {what} (verification {number})")
}

/// Returns a report with null as its yield, which may be large.
fn without_yield(report: &TaskReport) -> TaskReport {
    let outcome = match &report.outcome {
        Outcome::Done { .. } => Outcome::Done { value: Value::Null },
        Outcome::Failed { failure } => Outcome::Failed { failure: failure.clone() },
        Outcome::Cancelled => Outcome::Cancelled,
    };
    TaskReport {
        outcome,
        captured: report.captured.clone(),
        ms: report.ms,
        setup_ms: report.setup_ms,
        usage: report.usage,
        fallbacks: report.fallbacks.clone(),
        turns: report.turns,
        reached_limit: report.reached_limit,
        refused_calls: report.refused_calls,
        timings: None,
    }
}
