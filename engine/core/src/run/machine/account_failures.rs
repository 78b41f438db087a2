//! The tasks that have not begun when the account of their model cannot be used any more: each would
//! only fail in the same way.

use protocol::{Failure, FailureClass, ModelRoute, Outcome, TaskId, TaskSpec, Work};

use super::{Effect, RunMachine, unstarted};

impl RunMachine {
    /// Ends the tasks that have not begun with the failure of `task`, if it is one of the account and
    /// they ask the same model.
    pub(super) fn fail_unstarted(
        &mut self,
        task: TaskId,
        outcome: &Outcome,
        effects: &mut Vec<Effect>,
    ) {
        let Outcome::Failed { failure } = outcome else { return };
        if !is_of_account(failure.class) {
            return;
        }
        let Some(failed) = self.record.task(task).and_then(|task| model(&task.spec)) else {
            return;
        };
        let others = self.record.tasks().iter().filter(|other| {
            model(&other.spec).is_some_and(|model| is_same(model, failed))
                && self.has_not_started(other.spec.id)
        });
        let others: Vec<_> = others.map(|other| other.spec.id).collect();
        for other in others {
            let message = format!("it was not started: {}", failure.message);
            let failure = Failure { message, ..failure.clone() };
            self.record_end(other, unstarted(Outcome::Failed { failure }), effects);
        }
    }
}

/// Returns whether a failure of this class holds for all requests of the account.
fn is_of_account(class: FailureClass) -> bool {
    match class {
        FailureClass::Auth | FailureClass::Quota => true,
        FailureClass::Transient
        | FailureClass::Refused
        | FailureClass::Overflow
        | FailureClass::Invalid
        | FailureClass::Contract
        | FailureClass::GaveUp
        | FailureClass::Proof
        | FailureClass::Poison
        | FailureClass::Timeout
        | FailureClass::Command
        | FailureClass::Workspace
        | FailureClass::Resources
        | FailureClass::Dependency
        | FailureClass::Crashed
        | FailureClass::Budget => false,
    }
}

fn model(spec: &TaskSpec) -> Option<&ModelRoute> {
    match &spec.work {
        Work::Agent(agent) => Some(&agent.model),
        Work::Command(_) | Work::External(_) => None,
    }
}

/// Returns whether the same account is asked for the same model. Another model of a provider may be
/// free, or be allowed where this one is not.
fn is_same(one: &ModelRoute, other: &ModelRoute) -> bool {
    (&one.provider, &one.id, &one.base_url) == (&other.provider, &other.id, &other.base_url)
}
