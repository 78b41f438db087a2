//! A model that is played from a script.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use engine::ports::{ModelRequest, ModelStream, Provider};
use futures_util::stream::unfold;
use protocol::{FailureClass, SessionId, StopReason, Usage};

use super::memory::Conversation;
use super::play::{Cue, Step, play, read};
use super::script::{Scenario, Script};
use crate::piece::{Attempt, Piece, Trouble, Whole};
use crate::price::Price;
use crate::retry::{Asked, persist};
use crate::terms::Terms;
use crate::voice::Voice;

/// What messages say they were had through.
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
    pub(crate) script: Arc<Script>,
    pub(crate) attempts: Arc<Attempts>,
    pub(crate) voice: Voice,
    pub(crate) price: Option<Price>,
    pub(crate) terms: Terms,
}

impl Provider for Scripted {
    fn stream(&self, request: ModelRequest) -> ModelStream {
        let asked = Asked { session: request.session, size: read(&request) };
        let stage = Stage {
            script: Arc::clone(&self.script),
            attempts: Arc::clone(&self.attempts),
            voice: self.voice.clone(),
            price: self.price,
            request,
        };
        persist(self.voice.clone(), self.terms, asked, move || perform(stage.steps()))
    }
}

struct Stage {
    script: Arc<Script>,
    attempts: Arc<Attempts>,
    voice: Voice,
    price: Option<Price>,
    request: ModelRequest,
}

impl Stage {
    /// Returns the steps of one attempt.
    fn steps(&self) -> Vec<Step> {
        self.cue().unwrap_or_else(|trouble| vec![Step::Say(Piece::Broken(trouble))])
    }

    fn cue(&self) -> Result<Vec<Step>, Trouble> {
        let invalid = |what: String| Trouble::new(FailureClass::Invalid, what);
        let conversation = Conversation::of(&self.request.messages);
        let scenario = self.scenario(&conversation.prompt).map_err(invalid)?;
        let remembered = conversation.remember(scenario);
        let remembered = remembered.map_err(|error| invalid(error.to_string()))?;
        let answers = conversation.answers();
        let Some((_number, turn)) = scenario.turn(answers) else {
            return Ok(nothing());
        };
        let count = || self.attempts.count(self.request.session, answers);
        Ok(play(&Cue {
            turn,
            attempt: turn.fault.map_or(1, |_| count()),
            request: &self.request,
            remembered: &remembered,
            price: self.price,
            now: self.voice.now(),
        }))
    }

    fn scenario(&self, prompt: &str) -> Result<&Scenario, String> {
        let fits = |scenario: &&Arc<Scenario>| {
            scenario.when.as_ref().is_none_or(|when| when.is_match(prompt))
        };
        let found = self.script.scenarios.iter().find(fits).map(|scenario| &**scenario);
        found.ok_or_else(|| {
            let prompt = crate::printable::printable(prompt, 80);
            format!("no scenario of {} is for the prompt `{prompt}`", self.voice.route.id)
        })
    }
}

/// After its last turn a model has nothing to say.
fn nothing() -> Vec<Step> {
    let whole = Whole { content: Vec::new(), stop_reason: StopReason::Stop };
    [Piece::Used(Usage::ZERO), Piece::Whole(whole)].map(Step::Say).into()
}

fn perform(steps: Vec<Step>) -> Attempt {
    Box::pin(unfold(VecDeque::from(steps), |mut steps| async move {
        loop {
            match steps.pop_front()? {
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Say(piece) => return Some((piece, steps)),
                // A rehearsed crash is nobody's bug: it unwinds without a report on the terminal.
                Step::Crash => std::panic::resume_unwind(Box::new(CRASH)),
                Step::Hang => std::future::pending().await,
            }
        }
    }))
}

#[cfg(test)]
mod tests;
