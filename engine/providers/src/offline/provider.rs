//! The offline provider: opens scenario files, and answers requests with the turns in them.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use engine::ports::{
    AccountId, AccountLimits, AttemptFailure, Clock, ModelAnswer, ModelEvent, ModelLocation,
    ModelRequest, ModelStream, Provider, ProviderInfo,
};
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use protocol::{Cost, Failure, FailureClass, ModelRoute, SessionId, StopReason, Usage, utf8_text};

use super::parser::parse;
use super::scenario::{Scenario, Script};
use super::scripted_answer::{Action, TurnContext, request_size, scripted_answer};
use super::variables::Conversation;
use crate::printable::printable;
use crate::usage::Price;

/// The name of the wire API in messages of scripted models.
pub(crate) const API: &str = "offline";

/// The message of a simulated crash.
const CRASH: &str = "the scenario has the provider crash here";

/// Counts the attempts at each turn of each session.
#[derive(Debug, Default)]
pub(crate) struct Attempts(Mutex<BTreeMap<(SessionId, usize), u32>>);

impl Attempts {
    /// Counts an attempt at the answer that follows `answers` others. Returns the number of the
    /// attempt, from 1.
    fn count(&self, session: SessionId, answers: usize) -> u32 {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry((session, answers)).or_default();
        *count = count.saturating_add(1);
        *count
    }
}

/// A model whose answers are the turns of a script.
pub(crate) struct ScriptedModel {
    pub(crate) info: ProviderInfo,
    pub(crate) script: Arc<Script>,
    pub(crate) attempts: Arc<Attempts>,
    pub(crate) price: Option<Price>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Provider for ScriptedModel {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, request: &ModelRequest) -> ModelStream {
        let actions = self.actions(request);
        let actions =
            actions.unwrap_or_else(|failed| vec![Action::Emit(ModelEvent::Failed(failed))]);
        ModelStream { request_bytes: request_size(request), events: perform(actions) }
    }

    fn cost_of(&self, usage: &Usage) -> Option<Cost> {
        self.price.map(|price| price.cost_of(usage))
    }
}

impl ScriptedModel {
    /// Returns the actions of one attempt.
    fn actions(&self, request: &ModelRequest) -> Result<Vec<Action>, AttemptFailure> {
        let invalid = |what: String| AttemptFailure::new(FailureClass::Invalid, what);
        let conversation = Conversation::of(&request.messages);
        let scenario = self.scenario(&conversation.prompt).map_err(invalid)?;
        let variables = conversation.variables(scenario);
        let variables = variables.map_err(|error| invalid(error.to_string()))?;
        let answers = conversation.answers();
        let Some((_number, turn)) = scenario.turn(answers) else {
            return Ok(empty_answer());
        };
        let count = || self.attempts.count(request.session, answers);
        Ok(scripted_answer(&TurnContext {
            turn,
            attempt: turn.fault.map_or(1, |_| count()),
            request,
            variables: &variables,
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
            let prompt = printable(prompt, 80);
            format!("no scenario of {} is for the prompt `{prompt}`", self.info.route.id)
        })
    }
}

/// Returns the actions of an empty answer, which follows the last turn.
fn empty_answer() -> Vec<Action> {
    let answer = ModelAnswer { content: Vec::new(), stop_reason: StopReason::Stop };
    [ModelEvent::Used(Usage::ZERO), ModelEvent::Ended(answer)].map(Action::Emit).into()
}

/// Performs the actions and returns the events they emit.
fn perform(actions: Vec<Action>) -> BoxStream<'static, ModelEvent> {
    unfold(VecDeque::from(actions), |mut actions| async move {
        loop {
            match actions.pop_front()? {
                Action::Wait(time) => tokio::time::sleep(time).await,
                Action::Emit(event) => return Some((event, actions)),
                // `resume_unwind` skips the panic hook: a simulated crash is not reported as a bug.
                Action::Crash => std::panic::resume_unwind(Box::new(CRASH)),
                Action::Hang => std::future::pending().await,
            }
        }
    })
    .boxed()
}

/// The maximum size of a scenario file in bytes.
const LARGEST: u64 = 4 << 20;

/// Opens scripted models; shared by all sessions, so that attempts are counted across them.
#[derive(Debug, Default)]
pub(crate) struct Scenarios {
    attempts: Arc<Attempts>,
    /// The files as they were last read, by path. Hundreds of sessions may read the same file.
    cache: Mutex<BTreeMap<String, CachedScript>>,
}

/// The text of a scenario file and the script in it.
#[derive(Debug)]
struct CachedScript {
    text: String,
    script: Arc<Script>,
}

impl Scenarios {
    /// Opens the model whose answers are in the file that `route` names.
    pub(crate) fn open(
        &self,
        route: &ModelRoute,
        price: Option<Price>,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn Provider>, Failure> {
        let (script, attempts) = (self.script(&route.id)?, Arc::clone(&self.attempts));
        let info = info(route);
        Ok(Arc::new(ScriptedModel { info, script, attempts, price, clock }))
    }

    fn script(&self, path: &str) -> Result<Arc<Script>, Failure> {
        let invalid = |what: String| Failure::new(FailureClass::Invalid, what);
        let text = read_file(Path::new(path))
            .map_err(|why| invalid(format!("the scenario file {path} cannot be read: {why}")))?;
        let mut before = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = before.get(path).filter(|before| before.text == text) {
            return Ok(Arc::clone(&before.script));
        }
        let script = parse(&text).map_err(|error| invalid(format!("{path}:{error}")))?;
        let script = Arc::new(script);
        before.insert(path.to_owned(), CachedScript { text, script: Arc::clone(&script) });
        Ok(script)
    }
}

/// Describes the scripted model of `route`. The model has the timeouts of a remote model, so that a
/// scenario times out as a real provider would.
pub(crate) fn info(route: &ModelRoute) -> ProviderInfo {
    let account = AccountId::of_provider(&route.provider);
    ProviderInfo {
        api: API,
        route: route.clone(),
        account,
        limits: AccountLimits::default(),
        location: ModelLocation::Remote,
    }
}

/// Reads a scenario file; fails if it is too large or no regular file.
fn read_file(path: &Path) -> Result<String, String> {
    let message = |error: std::io::Error| error.to_string();
    // The type is checked first: opening a named pipe blocks until another process opens it for
    // writing.
    if !std::fs::metadata(path).map_err(message)?.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    let read = File::open(path).map_err(message)?.take(LARGEST + 1).read_to_end(&mut bytes);
    read.map_err(message)?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("it is larger than {} MiB", LARGEST >> 20));
    }
    utf8_text(bytes).map_err(|(error, _bytes)| error.to_string())
}

#[cfg(test)]
mod tests;
