//! Tasks that have asked a person: while their question is open, others use their permits.

use std::collections::BTreeMap;

use protocol::TaskId;

use super::{Effect, LiveState, RunMachine};

/// The tasks that have asked a person, each with its permit.
#[derive(Debug, Default)]
pub(super) struct Asking(BTreeMap<TaskId, Permit>);

/// The permit of a task that has asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Permit {
    /// The task has it: as many others lend theirs as may run at the same time.
    Held,
    /// It is lent while the question is open.
    Lent,
    /// The question is closed, and the permit was requested back.
    Requested,
}

impl RunMachine {
    /// Handles a question of a task. It may be the only one of the task that is open.
    pub(super) fn asked(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        if self.live(task) != Some(LiveState::Running) || self.asking.0.contains_key(&task) {
            return;
        }
        let lent = self.asking.0.values().filter(|permit| **permit == Permit::Lent).count();
        let permit = match lent < self.record.spec.jobs.get() {
            true => Permit::Lent,
            false => Permit::Held,
        };
        if permit == Permit::Lent {
            effects.push(Effect::LendPermit(task));
        }
        self.asking.0.insert(task, permit);
    }

    /// Handles the end of a question. The task goes on as soon as it has a permit.
    pub(super) fn question_closed(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        match self.asking.0.get_mut(&task) {
            Some(permit @ Permit::Lent) => {
                *permit = Permit::Requested;
                effects.push(Effect::ReclaimPermit(task));
            }
            Some(Permit::Requested) => {}
            Some(Permit::Held) | None => {
                self.asking.0.remove(&task);
                effects.push(Effect::Continue(task));
            }
        }
    }
}

impl Asking {
    /// Handles the return of the permit of a task.
    pub(super) fn resumed(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        match self.0.get_mut(&task) {
            Some(Permit::Requested) => {
                self.0.remove(&task);
                effects.push(Effect::Continue(task));
            }
            // The task waited for its children, too, and they have ended.
            Some(permit @ Permit::Lent) => *permit = Permit::Held,
            Some(Permit::Held) | None => {}
        }
    }

    /// Handles the end of a task. The schedule drops a lent permit with its task.
    pub(super) fn ended(&mut self, task: TaskId) {
        self.0.remove(&task);
    }
}
