//! A model that is played from a script.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use engine::ports::{
    AttemptFailure, Clock, ModelAnswer, ModelEvent, ModelRequest, ModelStream, Provider,
    ProviderInfo,
};
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use protocol::{FailureClass, SessionId, StopReason, Usage};

use super::play::{Cue, Step, play, read};
use super::script::{Scenario, Script};
use super::variables::Conversation;
use crate::price::Price;

/// The name of the wire API, of which there is none.
pub(crate) const API: &str = "offline";

/// What a crash says of itself.
const CRASH: &str = "the scenario has the provider crash here";

/// How often each turn of each session has been attempted.
#[derive(Debug, Default)]
pub(crate) struct Attempts(Mutex<BTreeMap<(SessionId, usize), u32>>);

impl Attempts {
    /// Counts one more attempt at the answer after `answers` others, and returns its number.
    fn count(&self, session: SessionId, answers: usize) -> u32 {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry((session, answers)).or_default();
        *count = count.saturating_add(1);
        *count
    }
}

/// A model that is played from a script.
pub(crate) struct Scripted {
    pub(crate) info: ProviderInfo,
    pub(crate) script: Arc<Script>,
    pub(crate) attempts: Arc<Attempts>,
    pub(crate) price: Option<Price>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Provider for Scripted {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, request: &ModelRequest) -> ModelStream {
        let steps = self.steps(request);
        let steps = steps.unwrap_or_else(|failed| vec![Step::Say(ModelEvent::Failed(failed))]);
        ModelStream { request_bytes: read(request), events: perform(steps) }
    }
}

impl Scripted {
    /// Returns the steps of one attempt.
    fn steps(&self, request: &ModelRequest) -> Result<Vec<Step>, AttemptFailure> {
        let invalid = |what: String| AttemptFailure::new(FailureClass::Invalid, what);
        let conversation = Conversation::of(&request.messages);
        let scenario = self.scenario(&conversation.prompt).map_err(invalid)?;
        let remembered = conversation.remember(scenario);
        let remembered = remembered.map_err(|error| invalid(error.to_string()))?;
        let answers = conversation.answers();
        let Some((_number, turn)) = scenario.turn(answers) else {
            return Ok(nothing());
        };
        let count = || self.attempts.count(request.session, answers);
        Ok(play(&Cue {
            turn,
            attempt: turn.fault.map_or(1, |_| count()),
            request,
            remembered: &remembered,
            price: self.price,
            now: self.clock.now(),
        }))
    }

    fn scenario(&self, prompt: &str) -> Result<&Scenario, String> {
        let fits = |scenario: &&Arc<Scenario>| {
            scenario.when.as_ref().is_none_or(|when| when.is_match(prompt))
        };
        let found = self.script.scenarios.iter().find(fits).map(|scenario| &**scenario);
        found.ok_or_else(|| {
            let prompt = crate::printable::printable(prompt, 80);
            format!("no scenario of {} is for the prompt `{prompt}`", self.info.route.id)
        })
    }
}

/// After its last turn a model has nothing to say.
fn nothing() -> Vec<Step> {
    let answer = ModelAnswer { content: Vec::new(), stop_reason: StopReason::Stop };
    [ModelEvent::Used(Usage::ZERO), ModelEvent::Ended(answer)].map(Step::Say).into()
}

fn perform(steps: Vec<Step>) -> BoxStream<'static, ModelEvent> {
    unfold(VecDeque::from(steps), |mut steps| async move {
        loop {
            match steps.pop_front()? {
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Say(event) => return Some((event, steps)),
                // A rehearsed crash is nobody's bug: it unwinds without a report on the terminal.
                Step::Crash => std::panic::resume_unwind(Box::new(CRASH)),
                Step::Hang => std::future::pending().await,
            }
        }
    })
    .boxed()
}

#[cfg(test)]
mod tests;
