//! Models of several provider accounts, played by one function, and what is asked of each.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::ports::{
    AccountId, AccountLimits, ModelAnswer, ModelEvent, ModelLocation, ModelRequest, ModelStream,
    Models, Provider, ProviderInfo,
};
use futures_util::{StreamExt, stream};
use protocol::{Failure, ModelRoute, Part, StopReason, ToolCall};
use serde_json::json;
use tokio::time::Instant;

/// Returns the last event of an attempt, told the provider and how often it was asked before.
type Play = dyn Fn(&str, usize) -> ModelEvent + Send + Sync;

/// Plays every model; the provider of a route is its account.
#[derive(Clone)]
pub struct FakeAccounts {
    play: Arc<Play>,
    /// How long each answer takes.
    takes: Duration,
    asked: Arc<Mutex<BTreeMap<String, AskedAccount>>>,
}

/// What was asked of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedAccount {
    /// When, in the order of the requests.
    pub at: Vec<Instant>,
    /// How many requests are under way.
    pub under_way: usize,
    /// How many were, at most.
    pub peak: usize,
}

impl FakeAccounts {
    /// Returns models whose attempts take so long and then end with what `play` returns.
    pub fn new(
        takes: Duration,
        play: impl Fn(&str, usize) -> ModelEvent + Send + Sync + 'static,
    ) -> Self {
        Self { play: Arc::new(play), takes, asked: Arc::default() }
    }

    /// Returns what was asked of `account` so far.
    #[must_use]
    pub fn asked(&self, account: &str) -> AskedAccount {
        self.lock().get(account).cloned().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, AskedAccount>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns an answer that yields `true`.
#[must_use]
pub fn yields() -> ModelEvent {
    let arguments = json!({ "data": true });
    let call = ToolCall {
        id: "call".to_owned(),
        name: "yield".to_owned(),
        arguments: arguments.as_object().cloned().unwrap_or_default(),
        malformed: None,
        thought_signature: None,
    };
    let stop_reason = StopReason::ToolUse;
    ModelEvent::Ended(ModelAnswer { content: vec![Part::ToolCall(call)], stop_reason })
}

impl Models for FakeAccounts {
    fn open(&self, route: &ModelRoute) -> Result<Arc<dyn Provider>, Failure> {
        let account = AccountId {
            identity: Some(route.provider.clone()),
            ..AccountId::of_provider(&route.provider)
        };
        let (route, location) = (route.clone(), ModelLocation::Remote);
        let info = ProviderInfo {
            api: "fake",
            route,
            account,
            limits: AccountLimits::default(),
            location,
        };
        Ok(Arc::new(FakeAccount { accounts: self.clone(), info }))
    }
}

struct FakeAccount {
    accounts: FakeAccounts,
    info: ProviderInfo,
}

impl Provider for FakeAccount {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, _request: &ModelRequest) -> ModelStream {
        let account = self.info.account.provider.clone();
        let before = {
            let mut asked = self.accounts.lock();
            let asked = asked.entry(account.clone()).or_default();
            asked.at.push(Instant::now());
            asked.under_way += 1;
            asked.peak = asked.peak.max(asked.under_way);
            asked.at.len() - 1
        };
        let under_way = UnderWay { accounts: self.accounts.clone(), account };
        let events = stream::once(async move {
            tokio::time::sleep(under_way.accounts.takes).await;
            (under_way.accounts.play)(&under_way.account, before)
        });
        ModelStream { request_bytes: 0, events: events.boxed() }
    }
}

/// A request that is under way until this is dropped.
struct UnderWay {
    accounts: FakeAccounts,
    account: String,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if let Some(asked) = self.accounts.lock().get_mut(&self.account) {
            asked.under_way -= 1;
        }
    }
}
