//! The port for models: providers, requests and the events of an answer.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use futures_util::stream::BoxStream;
use protocol::{
    Cost, Failure, FailureClass, Message, ModelRoute, Part, SessionId, StopReason, ThinkingLevel,
    Usage,
};

use serde::{Deserialize, Serialize};

use super::ToolDeclaration;

/// Resolves model routes to providers.
pub trait Models: Send + Sync {
    /// Returns the provider of a model. No request is sent.
    ///
    /// # Errors
    /// The model cannot be used, for instance because the provider is unknown or there is no API
    /// key.
    fn open(&self, route: &ModelRoute) -> Result<Arc<dyn Provider>, Failure>;

    /// Returns the provider of a model with each key that there is for it, in the order in which they
    /// are used; at least one.
    ///
    /// # Errors
    /// As for [`Models::open`].
    fn open_with_each_key(&self, route: &ModelRoute) -> Result<Vec<Arc<dyn Provider>>, Failure> {
        Ok(vec![self.open(route)?])
    }

    /// Returns the environment variables that may hold the API key of a model's provider. The commands of
    /// tasks and sessions with this model do not get them.
    fn key_variables(&self, _route: &ModelRoute) -> Vec<String> {
        Vec::new()
    }
}

/// A model at a provider.
pub trait Provider: Send + Sync {
    /// Returns the static properties of the provider.
    fn info(&self) -> &ProviderInfo;

    /// Waits until a request may ask the gate of its account. Returns its turn if others wait until the
    /// model begins to answer this request.
    fn turn(&self, _request: &ModelRequest) -> BoxFuture<'static, Option<RequestTurn>> {
        ready(None).boxed()
    }

    /// Makes one attempt at a request. The caller decides about retries, limits and deadlines.
    fn stream(&self, request: &ModelRequest) -> ModelStream;

    /// Returns the cost of a usage by the prices of the model; `None` if they are not known.
    fn cost_of(&self, _usage: &Usage) -> Option<Cost> {
        None
    }

    /// Returns how much the model thinks when it is asked to think this much.
    fn thinking_level(&self, asked: ThinkingLevel) -> ThinkingLevel {
        asked
    }

    /// Returns how many tokens the model can read and write in one request; `None` if that is not
    /// known.
    fn context_window(&self) -> Option<u64> {
        None
    }

    /// Returns how many tokens requests must have in common so that the model finds them in its
    /// cache; `None` if it does not cache what several sessions have in common, or that is not known.
    fn cached_prefix(&self) -> Option<u32> {
        None
    }
}

/// The turn of a request for which others wait. Dropping it gives the turn to the next one.
pub struct RequestTurn(Box<dyn FnOnce() + Send>);

impl RequestTurn {
    /// Returns a turn that calls `answered` when the model begins to answer.
    pub fn new(answered: impl FnOnce() + Send + 'static) -> Self {
        Self(Box::new(answered))
    }

    /// The model begins to answer.
    pub fn answered(self) {
        (self.0)();
    }
}

/// The static properties of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderInfo {
    /// The name of its wire API, which is recorded in messages.
    pub api: &'static str,
    /// The route of the model.
    pub route: ModelRoute,
    /// The account of the requests.
    pub account: AccountId,
    /// What the user allows on the account.
    pub limits: AccountLimits,
    /// Where the model runs.
    pub location: ModelLocation,
}

/// Identifies a provider account. All requests of an account share its limits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AccountId {
    /// Stands for the address and the key, and shows neither: what has the same is one account in
    /// every process. Without it, the account is one of this process.
    pub identity: Option<String>,
    /// The name of the provider.
    pub provider: String,
    /// The base URL of the provider, if it is not the default one.
    pub base_url: Option<String>,
    /// Where the key is from: a variable, or words that name it. The key itself is never stored here.
    pub key: Option<String>,
}

impl AccountId {
    /// Returns the account of a provider that only this process has.
    #[must_use]
    pub fn of_provider(provider: &str) -> Self {
        Self { identity: None, provider: provider.to_owned(), base_url: None, key: None }
    }

    /// Returns what tells this account from others.
    #[must_use]
    pub fn identity(&self) -> &str {
        self.identity.as_deref().unwrap_or(&self.provider)
    }
}

/// What the user allows on an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountLimits {
    /// The maximum number of concurrent requests; as the settings say if absent.
    pub concurrency: Option<NonZeroUsize>,
    /// What may begin within a minute.
    pub per_minute: MinuteLimits,
}

/// What may begin on an account within a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinuteLimits {
    /// How many requests may begin; unlimited if absent.
    pub requests: Option<NonZeroU32>,
    /// How many tokens they may read and write; unlimited if absent.
    pub tokens: Option<NonZeroU64>,
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.provider)?;
        self.base_url.as_ref().map_or(Ok(()), |url| write!(f, " at {url}"))?;
        self.key.as_ref().map_or(Ok(()), |key| write!(f, " with {}", key_phrase(key)))
    }
}

/// Returns what messages call a key that is from there: the name of a variable, or words that name
/// the key, as `the stored key work`.
#[must_use]
pub fn key_phrase(from: &str) -> String {
    if from.contains(' ') { from.to_owned() } else { format!("the key in {from}") }
}

/// Where a model runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelLocation {
    /// On this machine. The model may have to be loaded, and answers one request after another.
    Local,
    /// On a remote server.
    Remote,
}

/// One attempt at a request.
pub struct ModelStream {
    /// The size of the request in bytes, which is used to estimate tokens if the provider does not
    /// count them.
    pub request_bytes: usize,
    /// The events of the answer. The last is [`ModelEvent::Ended`] or [`ModelEvent::Failed`].
    /// Dropping the stream aborts the request.
    pub events: BoxStream<'static, ModelEvent>,
}

/// A request to a model.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The session that sends the request.
    pub session: SessionId,
    /// The system prompt.
    pub system: Arc<str>,
    /// The conversation so far. Every tool call in it has its result.
    pub messages: Vec<Arc<Message>>,
    /// The tools that the model may call.
    pub tools: Arc<[ToolDeclaration]>,
    /// Whether the model has to call a tool.
    pub choice: ToolChoice,
    /// How the model is to answer.
    pub options: RequestOptions,
}

/// Whether a model has to call a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// It may call any tool or none.
    Free,
    /// It may not call a tool.
    Never,
    /// It has to call some tool.
    Any,
    /// It has to call this tool.
    Force(String),
}

/// How a model is to answer. What a provider cannot do is left out of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestOptions {
    /// How much the model is to think. The level of the route holds if absent.
    pub thinking: Option<ThinkingLevel>,
    /// The maximum number of tokens of the answer, its thinking included. The default of the model
    /// holds if absent.
    pub output_limit: Option<NonZeroU32>,
    /// How long the provider is to keep the conversation in its cache.
    pub cache: CacheRetention,
}

/// How long a provider keeps a conversation in its cache, where requests can say so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheRetention {
    /// Not at all.
    None,
    /// Some minutes.
    #[default]
    Short,
    /// An hour or more.
    Long,
}

/// An event of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// More text for the user.
    Text {
        /// The index of the part in the answer.
        block: usize,
        /// The text to append.
        text: String,
    },
    /// More thinking.
    Thinking {
        /// The index of the part in the answer.
        block: usize,
        /// The text to append.
        text: String,
    },
    /// The model starts a call.
    Calling {
        /// The index of the part in the answer.
        block: usize,
        /// The id of the call; empty if the model has not sent it yet.
        id: String,
        /// The name of the tool.
        tool: String,
    },
    /// More arguments of a call.
    Arguments {
        /// The index of the part in the answer.
        block: usize,
        /// The JSON text to append.
        json: String,
    },
    /// A number of bytes that no other event contains, for instance of encrypted thinking. 0 means
    /// that the model has started to answer.
    Received(usize),
    /// What is left of the limits of the account.
    Limits(Box<RateLimits>),
    /// The usage of the attempt so far, as counted by the provider.
    Used(Usage),
    /// What the user should know about how the model was asked.
    Notice(String),
    /// The provider sent something that is not part of the answer, which shows that it is alive.
    Alive,
    /// The complete answer. No event follows.
    Ended(ModelAnswer),
    /// The attempt failed. No event follows.
    Failed(AttemptFailure),
}

/// The limits of an account as a response states them, each absent if it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateLimits {
    /// Requests.
    pub requests: Option<RateLimit>,
    /// Tokens of all kinds.
    pub tokens: Option<RateLimit>,
    /// Tokens that models read.
    pub input_tokens: Option<RateLimit>,
    /// Tokens that models write.
    pub output_tokens: Option<RateLimit>,
}

/// One limit of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// What is left of the limit.
    pub remaining: u64,
    /// The limit, if it is stated.
    pub limit: Option<u64>,
    /// When all of the limit is available again, if it is stated.
    pub reset: Option<Duration>,
}

impl RateLimits {
    /// Returns how long it takes until a request of about so many tokens is within every limit that
    /// has nothing left. Providers refill limits steadily, up to the time of the reset.
    #[must_use]
    pub fn wait(&self, tokens: u64) -> Option<Duration> {
        let of = |limit: Option<RateLimit>, needed: u64| {
            let limit = limit.filter(|limit| limit.remaining == 0)?;
            let (reset, whole) = (limit.reset?, u32::try_from(limit.limit.unwrap_or(1)).ok()?);
            let needed = u32::try_from(needed.max(1)).unwrap_or(u32::MAX).min(whole);
            let span = reset.as_secs_f64() * f64::from(needed) / f64::from(whole.max(1));
            Duration::try_from_secs_f64(span).ok()
        };
        let all = [of(self.requests, 1), of(self.tokens, tokens), of(self.input_tokens, tokens)];
        all.into_iter().chain([of(self.output_tokens, 1)]).flatten().max()
    }

    /// Returns the limits that are stated.
    pub fn all(&self) -> impl Iterator<Item = RateLimit> {
        [self.requests, self.tokens, self.input_tokens, self.output_tokens].into_iter().flatten()
    }
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelAnswer {
    /// Text, thinking and tool calls, in their order.
    pub content: Vec<Part>,
    /// Why the model stopped.
    pub stop_reason: StopReason,
}

/// The failure of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptFailure {
    /// The failure. Its class decides whether the attempt is retried.
    pub failure: Failure,
    /// How long the provider asks to wait before the next request.
    pub wait: Option<Duration>,
    /// The cause of the failure.
    pub cause: FailureCause,
}

/// The cause of a failed attempt, as far as retries depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureCause {
    /// A rate limit of the account.
    RateLimit,
    /// The provider has no capacity at the moment.
    Overload,
    /// The account has answered nothing for so long that the request was not sent.
    Outage,
    /// The account has no such model.
    UnknownModel,
    /// Anything else.
    Other,
}

impl AttemptFailure {
    /// Returns a failure with another cause than a rate limit and without a wait.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self::from(Failure::new(class, message))
    }
}

impl From<Failure> for AttemptFailure {
    fn from(failure: Failure) -> Self {
        Self { failure, wait: None, cause: FailureCause::Other }
    }
}
