//! The cancellation of tasks: of all of them, or of the others when one fails.

use protocol::{OnFailure, Outcome};

use super::{Effect, LiveState, RunMachine, unstarted};
use crate::exit_code::Interruption;
use crate::ports::CancelLevel;

impl RunMachine {
    /// Notes why the run is interrupted. The first reason stands; but that an entry was not written,
    /// for which room is the usual cause, may be because the engine has failed.
    pub(super) fn interrupted(&mut self, why: Interruption) {
        match (self.interruption, why) {
            (None, _) | (Some(Interruption::Resources), Interruption::Bug) => {
                self.interruption = Some(why);
            }
            (Some(_first), _) => {}
        }
    }

    /// Cancels all unfinished tasks, unless they were cancelled at this or a more urgent level.
    pub(super) fn cancel_unfinished(&mut self, level: CancelLevel, effects: &mut Vec<Effect>) {
        if self.cancelled >= Some(level) {
            return;
        }
        self.cancelled = Some(level);
        for (task, live) in self.record.tasks().iter().zip(&self.live) {
            if *live == LiveState::Running {
                effects.push(Effect::CancelTask(task.spec.id, level));
            }
        }
        let tasks: Vec<_> = self.record.tasks().iter().map(|task| task.spec.id).collect();
        for task in tasks {
            if self.has_not_started(task) {
                self.finish(task, unstarted(Outcome::Cancelled), effects);
            }
        }
    }

    /// Returns whether the others are cancelled when a task ends so.
    pub(super) fn cancels_others(&self, outcome: &Outcome) -> bool {
        match self.record.spec.on_failure {
            OnFailure::Continue => false,
            OnFailure::CancelTheRest => matches!(outcome, Outcome::Failed { .. }),
        }
    }
}
