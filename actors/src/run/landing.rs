//! The end of a run: its work lands once, then it is reported what became of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use engine::ports::{
    CancelLevel, CancelToken, IsolationError, LandingNews, LandingRequest, LandingTarget,
    LandingTask,
};
use engine::verdict::exit_code;
use protocol::{
    Captured, EventKind, ExitCode, Landed, LandingReport, LedgerEntry, MergeMode, Outcome,
    TaskLanding, TaskName, TaskReport, TaskSpec, Totals,
};
use ractor::ActorRef;

use super::{RunMessage, RunState, ScheduleRequest, Step};
use crate::ask::{Teller, ask};
use crate::isolation::{Landing, RepositoryMessage, SettledRun};

/// What became of the work of each task, once it is known.
#[derive(Default)]
pub(super) struct LandingOutcome {
    begun: Option<()>,
    /// What was asked to land.
    asked: Vec<TaskName>,
    cancel: CancelToken,
    tasks: BTreeMap<TaskName, Landed>,
}

impl LandingOutcome {
    /// Returns true the first time.
    pub(super) fn begin(&mut self) -> bool {
        self.begun.replace(()).is_none()
    }

    /// Nothing is to land any more; what is in the middle of it is seen through.
    pub(super) fn cancel(&self) {
        self.cancel.cancel(CancelLevel::Gently);
    }
}

/// Returns what is announced of a landing's news.
pub(super) fn told(news: LandingNews) -> EventKind {
    match news {
        LandingNews::Waiting => EventKind::LandingWaited,
        LandingNews::HeadMoved => EventKind::Degraded {
            from: "HEAD where it was when the run began".to_owned(),
            to: "the work lands all the same".to_owned(),
            why: "HEAD has moved meanwhile".to_owned(),
        },
        LandingNews::Rescued(rescue) => EventKind::FileRescued { rescue },
        LandingNews::Unwatched { path, why } => EventKind::Degraded {
            from: "a program that writes to a file while it is replaced is noticed".to_owned(),
            to: "replaced files are compared twice".to_owned(),
            why: format!("no lease can be had on {path}: {why}"),
        },
    }
}

impl RunState {
    /// What is to land, if anything is: the work of the tasks that kept their contract.
    pub(super) fn landing_request(&self) -> Option<LandingRequest> {
        if self.interruption.is_some() || !self.arguments.spec.isolation.capabilities().can_capture
        {
            return None;
        }
        let target = match self.arguments.spec.merge {
            MergeMode::Patch => LandingTarget::Tree,
            MergeMode::Branch => {
                LandingTarget::Branches { prefix: self.arguments.spec.branch_prefix.clone() }
            }
            MergeMode::None => return None,
        };
        let tasks: Vec<_> = self
            .members
            .reports_in_order()
            .filter_map(|(spec, report)| self.to_land(spec, report))
            .collect();
        let run = self.arguments.name.clone();
        (!tasks.is_empty()).then_some(LandingRequest { run, target, tasks })
    }

    fn to_land(&self, spec: &TaskSpec, report: &TaskReport) -> Option<LandingTask> {
        let captured = report.captured.as_ref().filter(|captured| captured.changes.files > 0)?;
        matches!(report.outcome, Outcome::Done { .. }).then(|| LandingTask {
            task: spec.name.clone(),
            capture: captured.capture.clone(),
            depends_on: self.changed_predecessors(spec),
            message: spec.title.clone(),
        })
    }

    /// The nearest predecessors that changed something: one that did not stands for its own.
    fn changed_predecessors(&self, spec: &TaskSpec) -> Vec<TaskName> {
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        let mut open: Vec<_> = spec.depends_on.iter().rev().cloned().collect();
        while let Some(name) = open.pop() {
            let Some((predecessor, report)) = self.members.report(&name) else { continue };
            if !seen.insert(predecessor.name.clone()) {
                continue;
            }
            if report.captured.as_ref().is_some_and(|captured| captured.changes.files > 0) {
                found.push(predecessor.name.clone());
            } else {
                open.extend(predecessor.depends_on.iter().rev().cloned());
            }
        }
        found
    }

    pub(super) fn land(&mut self, myself: &ActorRef<RunMessage>) {
        let Some(request) = self.landing_request() else {
            // It was cancelled while the ledger wrote that it would land.
            self.announce_and_settle(myself, LandingReport::default());
            return;
        };
        self.publish(EventKind::LandingStarted { tasks: request.tasks.len() });
        self.landing.asked = request.tasks.iter().map(|task| task.task.clone()).collect();
        let cancel = self.landing.cancel.clone();
        let news = Teller::to(myself, RunMessage::LandingNews);
        let repository = self.arguments.repository.clone();
        let news = Arc::new(move |landing| news.tell(landing));
        let question = |reply| RepositoryMessage::Land(Landing { request, cancel, news, reply });
        ask(&mut self.jobs, myself, &repository, question, RunMessage::Landed);
    }

    pub(super) fn landed(
        &mut self,
        myself: &ActorRef<RunMessage>,
        landed: Option<Result<LandingReport, IsolationError>>,
    ) {
        let report = match landed {
            Some(Ok(report)) => report,
            // Nothing was tried: everything is kept as the tasks left it.
            Some(Err(IsolationError::Withdrawn)) => LandingReport::default(),
            Some(Err(error)) => self.unwritten(&error.to_failure().message),
            None => self.unwritten("whoever was landing it crashed"),
        };
        let run = self.arguments.spec.id;
        let entry = LedgerEntry::LandingFinished { run, report: report.clone() };
        self.record(myself, entry, Step::Settle(report));
    }

    /// A landing that could not be done at all leaves everything in the task store.
    fn unwritten(&self, message: &str) -> LandingReport {
        let kept = |task: &TaskName| TaskLanding {
            task: task.clone(),
            landed: Landed::Unwritten { message: message.to_owned() },
        };
        LandingReport { tasks: self.landing.asked.iter().map(kept).collect() }
    }

    pub(super) fn announce_and_settle(
        &mut self,
        myself: &ActorRef<RunMessage>,
        report: LandingReport,
    ) {
        for TaskLanding { task, landed } in report.tasks {
            self.landing.tasks.insert(task.clone(), landed.clone());
            self.publish(match landed {
                Landed::Landed { branch } => EventKind::TaskLanded { task, branch },
                Landed::Unchanged => EventKind::TaskLanded { task, branch: None },
                Landed::Conflicted { conflicts } => EventKind::TaskConflicted { task, conflicts },
                Landed::Unwritten { message } => EventKind::TaskKept { task, why: message },
                Landed::Waiting { on } => {
                    let names: Vec<_> = on.iter().map(TaskName::as_str).collect();
                    let why = format!("it builds on {}, which did not land", names.join(", "));
                    EventKind::TaskKept { task, why }
                }
            });
        }
        let (repository, run) = (self.arguments.repository.clone(), self.arguments.name.clone());
        let question = |reply| RepositoryMessage::SettleRun(run, reply);
        ask(&mut self.jobs, myself, &repository, question, RunMessage::Settled);
    }

    /// No workspace is in use any more: says what the run came to.
    pub(super) fn settled(&mut self, myself: &ActorRef<RunMessage>, settled: SettledRun) {
        for (task, captured) in settled.late {
            if let Some(id) = self.members.add_late(&task, captured.clone()) {
                self.publish(EventKind::TaskCaptured { task, captured: captured.clone() });
                let entry = LedgerEntry::TaskCaptured { task: id, attempt: 1, captured };
                self.record(myself, entry, Step::NoteLate);
            }
        }
        let totals = self.totals();
        let exit_code = exit_code(&totals, self.interruption);
        let run = self.arguments.spec.id;
        let entry = LedgerEntry::RunFinished { run, totals: totals.clone(), exit_code };
        self.record(myself, entry, Step::Close(totals, exit_code));
    }

    /// The ledger has the end of the run: only now is the claim on its workspaces given up, so
    /// that a run whose engine died before is known by what it left.
    pub(super) fn close(
        &mut self,
        myself: &ActorRef<RunMessage>,
        totals: Totals,
        exit_code: ExitCode,
    ) {
        let (repository, run) = (self.arguments.repository.clone(), self.arguments.name.clone());
        let question = |reply| RepositoryMessage::CloseRun(run, reply);
        ask(&mut self.jobs, myself, &repository, question, move |_| {
            RunMessage::Closed(totals, exit_code)
        });
    }

    pub(super) fn end(
        &mut self,
        myself: &ActorRef<RunMessage>,
        totals: Totals,
        exit_code: ExitCode,
    ) {
        self.publish(EventKind::RunFinished { totals, exit_code });
        self.arguments.schedule.tell(ScheduleRequest::Over(self.arguments.spec.id));
        myself.stop(None);
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        let lands = self.arguments.spec.merge != MergeMode::None
            && self.arguments.spec.isolation.capabilities().can_capture;
        let mut classes = BTreeSet::new();
        for (spec, report) in self.members.reports() {
            let changed =
                report.captured.as_ref().is_some_and(|captured| captured.changes.files > 0);
            let landed = match self.landing.tasks.get(&spec.name) {
                Some(Landed::Landed { .. } | Landed::Unchanged) => true,
                Some(Landed::Conflicted { .. }) => {
                    totals.conflicted += 1;
                    false
                }
                Some(Landed::Unwritten { .. } | Landed::Waiting { .. }) | None => false,
            };
            // What is in its workspace only lands nowhere.
            let held = report.captured.as_ref().is_some_and(Captured::holds_uncaptured_files);
            totals.kept += usize::from(held || (changed && !landed));
            totals.usage = match (totals.usage, report.usage) {
                (Some(all), Some(one)) => Some(all + one),
                (all, one) => all.or(one),
            };
            match &report.outcome {
                Outcome::Done { .. } => {
                    totals.done += 1;
                    let in_place = !held && (landed || (lands && !changed));
                    totals.landed += usize::from(in_place);
                    totals.unlanded += usize::from(held || (lands && !in_place));
                }
                Outcome::Failed { failure } => {
                    totals.failed += 1;
                    classes.insert(failure.class);
                }
                Outcome::Cancelled => totals.cancelled += 1,
            }
        }
        totals.failures = classes.into_iter().collect();
        totals.ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        totals
    }
}
