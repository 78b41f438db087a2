//! The picture of a run that its events add up to.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{
    Captured, Event, EventKind, ExitCode, IsolationMode, Landed, MergeMode, Outcome, Phase,
    RunName, TaskName, TaskReport, Timestamp, Totals,
};

/// Everything that is shown of a run.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    head: Option<Head>,
    rows: Vec<Row>,
    places: BTreeMap<TaskName, usize>,
    running: BTreeSet<usize>,
    ended: usize,
    failed: usize,
    landing: Option<String>,
    end: Option<(Totals, ExitCode)>,
}

/// What a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its name.
    pub run: RunName,
    /// How many tasks it has.
    pub tasks: usize,
    /// How many run at the same time.
    pub jobs: usize,
    /// How they are kept apart.
    pub isolation: IsolationMode,
    /// Where their work goes.
    pub merge: MergeMode,
    /// When it began.
    pub started: Timestamp,
}

/// One task.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: TaskName,
    /// What it is about.
    pub title: String,
    /// How far it is.
    pub stage: Stage,
}

/// How far a task is.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// It waits.
    Queued,
    /// It runs.
    Running {
        /// Since when.
        since: Timestamp,
        /// What it is doing.
        phase: Phase,
        /// The last line it wrote.
        line: Option<String>,
    },
    /// It ended.
    Ended {
        /// How.
        report: TaskReport,
        /// What became of its work, once that is known.
        landing: Option<Landed>,
    },
}

impl Picture {
    /// Adds what happened.
    pub fn apply(&mut self, event: &Event) {
        match &event.kind {
            EventKind::RunStarted { tasks, jobs, isolation, merge } => {
                self.head = Some(Head {
                    run: event.run.clone(),
                    tasks: *tasks,
                    jobs: *jobs,
                    isolation: *isolation,
                    merge: *merge,
                    started: event.at,
                });
            }
            EventKind::TaskQueued { task, title, .. } => {
                let row = self.row(task);
                self.rows[row].title.clone_from(title);
            }
            EventKind::TaskStarted { task, .. } => self.run(task, event.at, Phase::Preparing, None),
            EventKind::WorkspaceReady { task, .. } => {
                self.run(task, event.at, Phase::Working, None)
            }
            EventKind::TaskProgress { task, phase, line, .. } => {
                self.run(task, event.at, *phase, line.clone());
            }
            EventKind::TaskFinished { task, report } => self.finish(task, report),
            EventKind::LandingWaited => {
                self.landing =
                    Some("another engine is landing in this repository; waits for it".into());
            }
            EventKind::LandingStarted { tasks } => {
                self.landing =
                    Some(format!("landing the work of {}", super::count(*tasks, "task")));
            }
            EventKind::TaskLanded { task, branch } => {
                self.land(task, Landed::Landed { branch: branch.clone() });
            }
            EventKind::TaskConflicted { task, conflicts } => {
                self.land(task, Landed::Conflicted { conflicts: conflicts.clone() });
            }
            EventKind::TaskKept { task, why } => {
                self.land(task, Landed::Unwritten { message: why.clone() });
            }
            EventKind::RunFinished { totals, exit_code } => {
                self.end = Some((totals.clone(), *exit_code));
            }
            EventKind::SessionEvent { .. }
            | EventKind::Degraded { .. }
            | EventKind::TaskYielded { .. }
            | EventKind::ContractReminded { .. } => {}
            EventKind::TaskCaptured { task, captured } => self.capture(task, captured),
        }
    }

    /// Returns what the run is, once it has begun.
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Returns all tasks, in the order in which they were queued.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns the tasks that run, in the same order.
    pub fn running(&self) -> impl ExactSizeIterator<Item = &Row> {
        self.running.iter().map(|place| &self.rows[*place])
    }

    /// Returns the row of a task.
    #[must_use]
    pub fn find(&self, task: &TaskName) -> Option<&Row> {
        self.places.get(task).map(|place| &self.rows[*place])
    }

    /// Returns how many tasks have ended, and how many of them badly.
    #[must_use]
    pub fn ended(&self) -> (usize, usize) {
        (self.ended, self.failed)
    }

    /// Returns what the landing is at, once there is one.
    #[must_use]
    pub fn landing(&self) -> Option<&str> {
        self.landing.as_deref()
    }

    /// Returns what the run came to, once it is over.
    #[must_use]
    pub fn end(&self) -> Option<&(Totals, ExitCode)> {
        self.end.as_ref()
    }

    fn row(&mut self, task: &TaskName) -> usize {
        if let Some(place) = self.places.get(task) {
            return *place;
        }
        let row = Row { name: task.clone(), title: String::new(), stage: Stage::Queued };
        self.rows.push(row);
        self.places.insert(task.clone(), self.rows.len() - 1);
        self.rows.len() - 1
    }

    /// A task that has ended stays so: what it still said comes too late.
    fn run(&mut self, task: &TaskName, at: Timestamp, phase: Phase, said: Option<String>) {
        let place = self.row(task);
        let stage = &mut self.rows[place].stage;
        match stage {
            Stage::Ended { .. } => return,
            Stage::Queued => *stage = Stage::Running { since: at, phase, line: said },
            Stage::Running { phase: old, line, .. } => {
                *old = phase;
                *line = said.or(line.take());
            }
        }
        self.running.insert(place);
    }

    fn finish(&mut self, task: &TaskName, report: &TaskReport) {
        let place = self.row(task);
        self.running.remove(&place);
        let before = std::mem::replace(
            &mut self.rows[place].stage,
            Stage::Ended { report: report.clone(), landing: None },
        );
        if !matches!(before, Stage::Ended { .. }) {
            self.ended += 1;
            self.failed += usize::from(!matches!(report.outcome, Outcome::Done { .. }));
        }
    }

    /// What could not be captured at first may be later, when the task's report is out already.
    fn capture(&mut self, task: &TaskName, captured: &Captured) {
        let place = self.row(task);
        if let Stage::Ended { report, .. } = &mut self.rows[place].stage {
            report.captured.get_or_insert_with(|| captured.clone());
        }
    }

    fn land(&mut self, task: &TaskName, landed: Landed) {
        let place = self.row(task);
        if let Stage::Ended { landing, .. } = &mut self.rows[place].stage {
            *landing = Some(landed);
        }
    }
}
