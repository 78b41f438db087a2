//! Asking a model.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use protocol::{Failure, FailureClass, Message, ModelRoute, Part, SessionId, StopReason, Usage};

use super::ToolDeclaration;

/// Resolves model routes to providers.
pub trait Models: Send + Sync {
    /// Returns the provider of a model. Sends nothing.
    ///
    /// # Errors
    /// Why it cannot be asked: an unknown provider, no key, a script that cannot be read.
    fn open(&self, route: &ModelRoute) -> Result<Arc<dyn Provider>, Failure>;
}

/// A model behind a wire API.
pub trait Provider: Send + Sync {
    /// Returns what is known of the provider before it is asked.
    fn info(&self) -> &ProviderInfo;

    /// Makes one attempt at a request. Retries, limits and deadlines are the caller's policy.
    fn stream(&self, request: &ModelRequest) -> ModelStream;
}

/// What is known of a provider before it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderInfo {
    /// The name of its wire API, as messages record it.
    pub api: &'static str,
    /// The model.
    pub route: ModelRoute,
    /// The account that its requests count against.
    pub account: AccountId,
    /// Where the model runs.
    pub location: ModelLocation,
}

/// Names an account of a provider. All requests of one account share its limits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccountId {
    /// The provider.
    pub provider: String,
    /// Where the provider is, if not where it always is.
    pub base_url: Option<String>,
    /// The name of the environment variable that holds the key, never the key itself.
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
    /// On this machine, where it may have to be loaded and answers one request after another.
    Local,
    /// On a server.
    Remote,
}

/// One attempt at a request.
pub struct ModelStream {
    /// How many bytes the model has to read. Where a provider does not count tokens, they are
    /// estimated from it.
    pub request_bytes: usize,
    /// The answer as it comes. It ends with [`ModelEvent::Ended`] or [`ModelEvent::Failed`];
    /// dropping it gives the answer up.
    pub events: BoxStream<'static, ModelEvent>,
}

/// A request to a model.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The session that asks.
    pub session: SessionId,
    /// What the model is told before everything else.
    pub system: Arc<str>,
    /// The conversation so far. Every call in it has its result.
    pub messages: Vec<Arc<Message>>,
    /// What it may call.
    pub tools: Arc<[ToolDeclaration]>,
    /// Whether it has to call something.
    pub choice: ToolChoice,
}

/// Whether a model has to call a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    Free,
    /// This one.
    Force(String),
}

/// A part of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// More text for the user.
    Text(String),
    /// More thinking.
    Thinking(String),
    /// The model begins to call this tool; the arguments come with the end.
    Calling(String),
    /// So many bytes of the answer came that are in no other event, as arguments are. 0 says that
    /// the model has begun to answer.
    Received(usize),
    /// What the attempt has used so far, as the provider counts it.
    Used(Usage),
    /// The provider sent something that is no part of the answer.
    Alive,
    /// The whole answer. Nothing follows.
    Ended(ModelAnswer),
    /// There will be no whole answer. Nothing follows.
    Failed(AttemptFailure),
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelAnswer {
    /// Text, thinking and tool calls, in their order.
    pub content: Vec<Part>,
    /// Why the model stopped.
    pub stop_reason: StopReason,
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptFailure {
    /// The failure of this attempt. Its class says whether another attempt may succeed.
    pub failure: Failure,
    /// How long the provider asks not to be asked again.
    pub wait: Option<Duration>,
    /// Whether a rate limit is the cause.
    pub cause: FailureCause,
}

/// Whether an attempt failed because of a rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureCause {
    /// The account had made too many requests.
    RateLimit,
    /// Anything else.
    Other,
}

impl AttemptFailure {
    /// Returns a failure that is no rate limit and names no wait.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self::from(Failure::new(class, message))
    }
}

impl From<Failure> for AttemptFailure {
    fn from(failure: Failure) -> Self {
        Self { failure, wait: None, cause: FailureCause::Other }
    }
}
