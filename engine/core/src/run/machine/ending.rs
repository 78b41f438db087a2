//! The end of a run: the machine lands the work once, records the last captures, and then records
//! the end of the run.

use protocol::{
    Captured, EventKind, LandTime, Landed, LandingReport, LedgerEntry, TaskId, TaskLanding,
    TaskName, Totals,
};

use super::eager::EagerLanding;
use super::{Effect, LiveState, RunMachine};
use crate::exit_code::exit_code;
use crate::landing::{failed_landing_report, landing_request};
use crate::run::{LandingRecord, RunRecord, RunStatus, totals};

/// The progress of the end of a run. The ledger does not contain this state.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Ending {
    /// Some tasks have not ended.
    #[default]
    TasksUnfinished,
    /// The work of these tasks is landing.
    Landing(Vec<TaskName>),
    /// The run waits until its last workspaces are released.
    ReleasingWorkspaces,
    /// Captures made after the end of their task are being recorded; `left` counts those that are
    /// not durable yet.
    RecordingLate { left: usize, ms: u64 },
    /// The end of the run is being recorded or has been recorded.
    Closing,
}

impl RunMachine {
    pub(super) fn start_ending(&mut self, effects: &mut Vec<Effect>) {
        let landed = matches!(self.record.landing, LandingRecord::Finished(_))
            && self.record.spec.land == LandTime::End;
        let wanted = !landed && self.interruption.is_none();
        match landing_request(&self.record).filter(|_| wanted) {
            Some(request) => {
                let asked = request.tasks.iter().map(|task| task.task.clone()).collect();
                self.ending = Ending::Landing(asked);
                effects.push(Effect::Land(request));
            }
            None => self.finish_landing(LandingReport::default(), effects),
        }
    }

    /// Handles the durable start of the landing.
    pub(super) fn landing_started(&self, effects: &mut Vec<Effect>) {
        let Ending::Landing(asked) = &self.ending else { return };
        // A landing that was cancelled in the meantime is not announced, nor one of nothing.
        let tasks = asked.len().saturating_sub(self.held);
        if self.interruption.is_none() && tasks > 0 {
            effects.push(Effect::Announce(EventKind::LandingStarted { tasks }));
        }
    }

    pub(super) fn landing_crashed(&self, message: &str, effects: &mut Vec<Effect>) {
        let asked = match (&self.ending, &self.eager) {
            (Ending::Landing(asked), _) | (_, EagerLanding::Landing(asked)) => asked,
            _ => return,
        };
        let (run, report) = (self.record.spec.id, failed_landing_report(asked, message));
        effects.push(Effect::Record(LedgerEntry::LandingFinished { run, landing: None, report }));
    }

    /// Announces the result of the landing and waits for the last workspaces.
    pub(super) fn finish_landing(&mut self, report: LandingReport, effects: &mut Vec<Effect>) {
        self.ending = Ending::ReleasingWorkspaces;
        effects.extend(self.unannounced(report).into_iter().map(Effect::Announce));
        effects.push(Effect::ReleaseWorkspaces);
    }

    pub(super) fn workspaces_released(
        &mut self,
        late: Vec<(TaskName, Captured)>,
        ms: u64,
        effects: &mut Vec<Effect>,
    ) {
        if self.ending != Ending::ReleasingWorkspaces {
            return;
        }
        let entries: Vec<_> = late
            .into_iter()
            .filter_map(|(task, captured)| {
                let task = self.record.task_named(&task)?;
                let (task, attempt) = (task.spec.id, task.attempt);
                Some(LedgerEntry::TaskCaptured { task, attempt, captured })
            })
            .collect();
        self.ending = Ending::RecordingLate { left: entries.len(), ms };
        effects.extend(entries.into_iter().map(Effect::Record));
        self.record_run_end(effects);
    }

    /// Announces a durable capture of an ended task. A running task announces its own captures.
    pub(super) fn captured(&mut self, id: TaskId, captured: Captured, effects: &mut Vec<Effect>) {
        if self.live(id) != Some(LiveState::Over) {
            return;
        }
        if let Ending::RecordingLate { left, .. } = &mut self.ending {
            *left = left.saturating_sub(1);
            let task = self.name(id);
            effects.push(Effect::Announce(EventKind::TaskCaptured { task, captured }));
            self.record_run_end(effects);
        }
    }

    fn record_run_end(&mut self, effects: &mut Vec<Effect>) {
        if let Ending::RecordingLate { left: 0, ms } = self.ending {
            self.ending = Ending::Closing;
            let totals = totals(&self.record, ms);
            let exit_code = exit_code(&totals, self.interruption);
            let run = self.record.spec.id;
            effects.push(Effect::Record(LedgerEntry::RunFinished { run, totals, exit_code }));
        }
    }

    /// Announces the recorded end of the run, and then removes what is left of it on the disk:
    /// nobody has to wait for that to see the result.
    pub(super) fn over(&self, effects: &mut Vec<Effect>) {
        if let RunRecord { status: RunStatus::Finished { totals, exit_code }, .. } = &self.record {
            let (totals, exit_code): (Totals, _) = (totals.clone(), *exit_code);
            effects.push(Effect::Announce(EventKind::RunFinished { totals, exit_code }));
        }
        effects.push(Effect::Close);
    }
}

/// Returns the event for the landing of one task.
pub(super) fn announcement(landing: TaskLanding) -> EventKind {
    let TaskLanding { task, landed, .. } = landing;
    match landed {
        Landed::Landed { branch, joined } => EventKind::TaskLanded { task, branch, joined },
        Landed::Unchanged => EventKind::TaskLanded { task, branch: None, joined: Vec::new() },
        Landed::Conflicted { conflicts } => EventKind::TaskConflicted { task, conflicts },
        Landed::Unwritten { message } => EventKind::TaskKept { task, why: message },
        Landed::Waiting { on } => {
            let names: Vec<_> = on.iter().map(TaskName::as_str).collect();
            let why = format!("it builds on {}, which did not land", names.join(", "));
            EventKind::TaskKept { task, why }
        }
        Landed::Unverified(unverified) => EventKind::TaskUnverified { task, unverified },
        Landed::TakenBack { .. } => {
            EventKind::TaskKept { task, why: "it was taken back".to_owned() }
        }
    }
}
