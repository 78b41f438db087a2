//! Landings while the tasks of a run are still working: each task lands as it ends, one landing after
//! another. What did not land then is tried again at the end of the run.

use std::collections::BTreeSet;

use protocol::{EventKind, LandTime, Landed, LandingReport, TaskId, TaskName};

use super::ending::{Ending, announcement};
use super::{Effect, RunMachine};
use crate::landing::{changed_predecessors, landing_request_of};
use crate::run::RunRecord;

/// The landing before the end of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum EagerLanding {
    /// No landing is open.
    #[default]
    Idle,
    /// The work of these tasks is landing.
    Landing(Vec<TaskName>),
    /// The ledger cannot be written: nothing lands before the end of the run.
    Off,
}

impl RunMachine {
    /// Starts to land the work of the tasks that have ended, if no landing is open.
    pub(super) fn land_ended(&mut self, effects: &mut Vec<Effect>) {
        let is_wanted = self.record.spec.land == LandTime::Eager
            && self.interruption.is_none()
            && self.ending == Ending::TasksUnfinished
            && self.eager == EagerLanding::Idle
            // What the last task leaves lands at the end of the run.
            && self.unfinished > 0;
        if !is_wanted {
            return;
        }
        if let Some(request) = landing_request_of(&self.record, &ready(&self.record)) {
            let names = request.tasks.iter().map(|task| task.task.clone()).collect();
            self.eager = EagerLanding::Landing(names);
            effects.push(Effect::Land(request));
        }
    }

    /// Returns whether a landing is open while tasks are still working.
    pub(super) fn is_landing_early(&self) -> bool {
        matches!(self.eager, EagerLanding::Landing(_))
    }

    /// Announces the result of a landing, and starts the next one.
    pub(super) fn finish_early_landing(
        &mut self,
        report: LandingReport,
        effects: &mut Vec<Effect>,
    ) {
        self.eager = EagerLanding::Idle;
        for event in report.tasks.into_iter().map(announcement) {
            if !matches!(event, EventKind::TaskLanded { .. }) {
                self.announced.push(event.clone());
            }
            effects.push(Effect::Announce(event));
        }
        self.land_ended(effects);
        self.end_if_done(effects);
    }

    /// Continues without landings before the end, because the ledger cannot be written.
    pub(super) fn give_up_early_landings(&mut self, effects: &mut Vec<Effect>) {
        self.eager = EagerLanding::Off;
        self.end_if_done(effects);
    }

    /// Returns the events of a landing at the end of the run, except for those that an earlier
    /// landing has announced already.
    pub(super) fn unannounced(&self, report: LandingReport) -> Vec<EventKind> {
        let is_old = |event: &EventKind| self.announced.contains(event);
        report.tasks.into_iter().map(announcement).filter(|event| !is_old(event)).collect()
    }
}

/// Returns the tasks that are done, have not been landed, and build on landed work alone.
fn ready(run: &RunRecord) -> BTreeSet<TaskId> {
    let mut ready = BTreeSet::new();
    for task in run.tasks_in_order() {
        let is_there = |landed: &Option<Landed>| {
            matches!(landed, Some(Landed::Landed { .. } | Landed::Unchanged))
        };
        let on = changed_predecessors(run, task);
        let may_land = on.iter().all(|on| is_there(&on.landed) || ready.contains(&on.spec.id));
        if task.is_done() && task.landed.is_none() && may_land {
            ready.insert(task.spec.id);
        }
    }
    ready
}
