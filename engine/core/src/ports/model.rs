//! The port for models: providers, requests and the events of an answer.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use protocol::{
    Cost, Failure, FailureClass, Message, ModelRoute, Part, SessionId, StopReason, ThinkingLevel,
    Usage,
};

use super::ToolDeclaration;

/// Resolves model routes to providers.
pub trait Models: Send + Sync {
    /// Returns the provider of a model. No request is sent.
    ///
    /// # Errors
    /// The model cannot be used, for instance because the provider is unknown or there is no API
    /// key.
    fn open(&self, route: &ModelRoute) -> Result<Arc<dyn Provider>, Failure>;
}

/// A model at a provider.
pub trait Provider: Send + Sync {
    /// Returns the static properties of the provider.
    fn info(&self) -> &ProviderInfo;

    /// Makes one attempt at a request. The caller decides about retries, limits and deadlines.
    fn stream(&self, request: &ModelRequest) -> ModelStream;

    /// Returns the cost of a usage by the prices of the model; `None` if they are not known.
    fn cost_of(&self, _usage: &Usage) -> Option<Cost> {
        None
    }

    /// Returns how many tokens requests must have in common so that the model finds them in its
    /// cache; `None` if it does not cache what several sessions have in common, or that is not known.
    fn cached_prefix(&self) -> Option<u32> {
        None
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
    /// Where the model runs.
    pub location: ModelLocation,
}

/// Identifies a provider account. All requests of an account share its limits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccountId {
    /// The name of the provider.
    pub provider: String,
    /// The base URL of the provider, if it is not the default one.
    pub base_url: Option<String>,
    /// The name of the environment variable with the API key. The key itself is never stored here.
    pub key: Option<String>,
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.provider)?;
        self.base_url.as_ref().map_or(Ok(()), |url| write!(f, " at {url}"))?;
        self.key.as_ref().map_or(Ok(()), |key| write!(f, " with the key in {key}"))
    }
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
    /// The account has answered nothing for so long that the request was not sent.
    Outage,
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
