//! Tasks that wait for something that is not their work, an answer of a person or the runs of their calls:
//! meanwhile others use their permits.

use std::collections::BTreeMap;

use protocol::TaskId;

use super::{Effect, LiveState, RunMachine};

/// The tasks that wait.
#[derive(Debug, Default)]
pub(super) struct Waits(BTreeMap<TaskId, Wait>);

/// What a task waits for, and its permit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wait {
    answers: usize,
    subagents: usize,
    permit: Permit,
}

/// The permit of a task that waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Permit {
    /// The task has it.
    #[default]
    Held,
    /// It is lent.
    Lent,
    /// The task waits for nothing else, and its permit was requested back.
    Requested,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// The answer of a person. The permit stays with the task if as many others lend theirs as may run at the
    /// same time: what is started in their place may ask, too.
    Answer,
    /// The subagents of one of its calls. They may need the permit, so it is always lent.
    Subagents,
}

impl Wait {
    fn count(&mut self, reason: WaitsFor) -> &mut usize {
        match reason {
            WaitsFor::Answer => &mut self.answers,
            WaitsFor::Subagents => &mut self.subagents,
        }
    }

    fn is_over(&self) -> bool {
        self.answers + self.subagents == 0
    }
}

impl RunMachine {
    /// Handles that a task waits. The calls of one answer may wait for several things.
    pub(super) fn waits(&mut self, task: TaskId, reason: WaitsFor, effects: &mut Vec<Effect>) {
        if self.live(task) != Some(LiveState::Running) {
            return;
        }
        let lent = self.waits.0.values().filter(|wait| wait.permit == Permit::Lent).count();
        let can_lend = reason == WaitsFor::Subagents || lent < self.record.spec.jobs.get();
        let wait = self.waits.0.entry(task).or_default();
        *wait.count(reason) += 1;
        if wait.permit == Permit::Held && can_lend {
            wait.permit = Permit::Lent;
            effects.push(Effect::LendPermit(task));
        }
    }

    /// Handles that a task does not wait for one of these things any more. It goes on as soon as it has a
    /// permit; while it waits for something else it needs none, because its model asks for nothing until all
    /// calls of its answer have ended.
    pub(super) fn wait_ended(&mut self, task: TaskId, reason: WaitsFor, effects: &mut Vec<Effect>) {
        let Some(wait) = self.waits.0.get_mut(&task) else {
            effects.push(Effect::Continue(task));
            return;
        };
        let count = wait.count(reason);
        *count = count.saturating_sub(1);
        match wait.permit {
            Permit::Lent if wait.is_over() => {
                wait.permit = Permit::Requested;
                effects.push(Effect::ReclaimPermit(task));
            }
            Permit::Requested => {}
            Permit::Lent | Permit::Held => {
                if wait.is_over() {
                    self.waits.0.remove(&task);
                }
                effects.push(Effect::Continue(task));
            }
        }
    }
}

impl Waits {
    /// Handles the return of the permit of a task.
    pub(super) fn resumed(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        let Some(wait) = self.0.get_mut(&task) else { return };
        effects.push(Effect::Continue(task));
        wait.permit = Permit::Held;
        if wait.is_over() {
            self.0.remove(&task);
        } else if wait.subagents > 0 {
            wait.permit = Permit::Lent;
            effects.push(Effect::LendPermit(task));
        }
    }

    /// Handles the end of a task. The schedule drops a lent permit with its task.
    pub(super) fn ended(&mut self, task: TaskId) {
        self.0.remove(&task);
    }
}
