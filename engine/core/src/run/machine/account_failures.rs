//! The tasks that have not begun when the account of their model cannot be used any more: each would
//! only fail in the same way.

use protocol::{Agent, Failure, ModelRoute, Outcome, TaskId, TaskSpec, Work};

use super::{Effect, RunMachine, unstarted};

impl RunMachine {
    /// Ends the tasks that have not begun with the failure of `task`, if it is one of the account and
    /// they would ask what has failed.
    pub(super) fn fail_unstarted(
        &mut self,
        task: TaskId,
        outcome: &Outcome,
        effects: &mut Vec<Effect>,
    ) {
        let Outcome::Failed { failure } = outcome else { return };
        if !failure.is_of_account() {
            return;
        }
        let Some(failed) = self.record.task(task).and_then(|task| agent(&task.spec)) else {
            return;
        };
        let others = self.record.tasks().iter().filter(|other| {
            agent(&other.spec).is_some_and(|agent| would_fail(agent, failed, failure))
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

fn agent(spec: &TaskSpec) -> Option<&Agent> {
    match &spec.work {
        Work::Agent(agent) => Some(agent),
        Work::Command(_) | Work::Conversation(_) => None,
    }
}

/// Returns whether a task would fail like another one. A failure of a whole account is known to be of
/// every model there; with fallbacks it is not known what each of them has failed with.
fn would_fail(agent: &Agent, failed: &Agent, failure: &Failure) -> bool {
    let account = |route: &ModelRoute| (route.provider.clone(), route.base_url.clone());
    let whole = failure.is_of_every_model() && failed.fallback.is_empty();
    let mut routes = std::iter::once(&agent.model).chain(&agent.fallback);
    (whole && routes.all(|route| account(route) == account(&failed.model)))
        || asks_the_same(agent, failed)
}

/// Returns whether the same models are asked, in the same order. A task fails with its account only
/// where its fallbacks have failed as well.
fn asks_the_same(one: &Agent, other: &Agent) -> bool {
    let (these, those) = (&one.fallback, &other.fallback);
    is_same(&one.model, &other.model)
        && these.len() == those.len()
        && these.iter().zip(those).all(|(one, other)| is_same(one, other))
}

/// Returns whether the same account is asked for the same model. Another model of a provider may be
/// free, or be allowed where this one is not.
fn is_same(one: &ModelRoute, other: &ModelRoute) -> bool {
    (&one.provider, &one.id, &one.base_url) == (&other.provider, &other.id, &other.base_url)
}
