//! The first requests of the tasks of a run begin with the same bytes. Where a model caches what it
//! reads, one of them goes ahead of the others until the model answers, so that they find their
//! beginning in the cache.

use std::collections::BTreeMap;
use std::future::{poll_fn, ready};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use protocol::{Cost, Failure, Message, ModelRoute, ThinkingLevel, Usage};

use crate::ports::{ModelRequest, ModelStream, Models, Provider, ProviderInfo, RequestTurn, Timer};

/// How long requests wait for the one ahead.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The bytes of a token, about.
const BYTES_PER_TOKEN: usize = 4;

/// Models whose first requests wait for the one ahead.
pub struct LedModels {
    models: Arc<dyn Models>,
    leads: Arc<Leads>,
    timer: Arc<dyn Timer>,
}

/// The requests that go ahead, by their model and what they begin with.
type Leads = Mutex<BTreeMap<(String, u64), Arc<Lead>>>;

impl LedModels {
    /// Returns these models.
    #[must_use]
    pub fn new(models: Arc<dyn Models>, timer: Arc<dyn Timer>) -> Self {
        Self { models, leads: Arc::default(), timer }
    }
}

impl Models for LedModels {
    fn open(&self, route: &ModelRoute) -> Result<Arc<dyn Provider>, Failure> {
        self.models.open(route).map(|provider| self.led(provider))
    }

    fn open_with_each_key(&self, route: &ModelRoute) -> Result<Vec<Arc<dyn Provider>>, Failure> {
        let providers = self.models.open_with_each_key(route)?.into_iter();
        Ok(providers.map(|provider| self.led(provider)).collect())
    }

    fn key_variables(&self, route: &ModelRoute) -> Vec<String> {
        self.models.key_variables(route)
    }
}

impl LedModels {
    fn led(&self, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        match provider.cached_prefix() {
            None => provider,
            Some(least) => Arc::new(LedProvider {
                provider,
                least,
                leads: Arc::clone(&self.leads),
                timer: Arc::clone(&self.timer),
            }),
        }
    }
}

/// A provider whose first requests wait for the one ahead.
struct LedProvider {
    provider: Arc<dyn Provider>,
    /// How many tokens the model caches at least.
    least: u32,
    leads: Arc<Leads>,
    timer: Arc<dyn Timer>,
}

impl Provider for LedProvider {
    fn info(&self) -> &ProviderInfo {
        self.provider.info()
    }

    fn stream(&self, request: &ModelRequest) -> ModelStream {
        self.provider.stream(request)
    }

    fn turn(&self, request: &ModelRequest) -> BoxFuture<'static, Option<RequestTurn>> {
        let prefix = Prefix::of(request);
        let is_long = prefix.tokens >= usize::try_from(self.least).unwrap_or(usize::MAX);
        if !is_first(request) || !is_long {
            return ready(None).boxed();
        }
        let key = (self.info().route.to_string(), prefix.hash);
        let lead = Arc::clone(lock(&self.leads).entry(key).or_default());
        let turn = select(lead.turn().boxed(), self.timer.sleep(LONGEST_WAIT));
        let turn = turn.map(|first| match first {
            Either::Left((ahead, _timer)) => ahead,
            Either::Right(((), _turn)) => None,
        });
        turn.map(|ahead| ahead.map(|ahead| RequestTurn::new(|| ahead.answered()))).boxed()
    }

    fn cost_of(&self, usage: &Usage) -> Option<Cost> {
        self.provider.cost_of(usage)
    }

    fn thinking_level(&self, asked: ThinkingLevel) -> ThinkingLevel {
        self.provider.thinking_level(asked)
    }

    fn context_window(&self) -> Option<u64> {
        self.provider.context_window()
    }

    fn cached_prefix(&self) -> Option<u32> {
        self.provider.cached_prefix()
    }
}

/// Returns whether a model is asked for the first answer of a session.
fn is_first(request: &ModelRequest) -> bool {
    !request.messages.iter().any(|message| matches!(**message, Message::Assistant(_)))
}

/// What a request begins with, in common with those of other tasks.
struct Prefix {
    /// About how many tokens it has.
    tokens: usize,
    hash: u64,
}

impl Prefix {
    fn of(request: &ModelRequest) -> Self {
        let (mut bytes, mut hasher) = (request.system.len(), DefaultHasher::new());
        request.system.hash(&mut hasher);
        for tool in request.tools.iter() {
            let parameters = tool.parameters.to_string();
            bytes += tool.name.len() + tool.description.len() + parameters.len();
            (&tool.name, &tool.description, parameters).hash(&mut hasher);
        }
        Self { tokens: bytes / BYTES_PER_TOKEN, hash: hasher.finish() }
    }
}

/// Whether a request has gone ahead.
#[derive(Debug, Default)]
struct Lead(Mutex<LeadState>);

#[derive(Debug, Default)]
struct LeadState {
    phase: Phase,
    waiting: Vec<Waker>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// None has begun.
    #[default]
    Before,
    /// One has begun, and the model does not answer yet.
    Ahead,
    /// The model has begun to answer one.
    Answered,
}

/// The right of a request to go ahead. Whoever gives it up unused leaves it to the next.
struct Ahead(Arc<Lead>);

impl Ahead {
    fn answered(self) {
        self.0.change(Phase::Answered);
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if lock(&self.0.0).phase == Phase::Ahead {
            self.0.change(Phase::Before);
        }
    }
}

impl Lead {
    fn change(&self, phase: Phase) {
        let waiting = {
            let mut state = lock(&self.0);
            state.phase = phase;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Waits until a request may begin: as the one ahead, or because one was answered.
    async fn turn(self: Arc<Self>) -> Option<Ahead> {
        let is_ahead = poll_fn(|context| {
            let mut state = lock(&self.0);
            match state.phase {
                Phase::Before => {
                    state.phase = Phase::Ahead;
                    Poll::Ready(true)
                }
                Phase::Answered => Poll::Ready(false),
                Phase::Ahead => {
                    state.waiting.push(context.waker().clone());
                    Poll::Pending
                }
            }
        });
        is_ahead.await.then(|| Ahead(Arc::clone(&self)))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
