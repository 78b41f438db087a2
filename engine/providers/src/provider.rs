//! A model behind an HTTP API: sends a request and streams the events of its answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::ports::{Clock, ModelEvent, ModelRequest, ModelStream, Provider, ProviderInfo};
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use protocol::{Cost, ThinkingLevel, Usage};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Response};
use tokio::time::{Instant, timeout, timeout_at};

use crate::access_tokens::AccessTokens;
use crate::answer_parser::ParseContext;
use crate::blocks::Events;
use crate::body_parser::BodyParser;
use crate::endpoint::Endpoint;
use crate::exchange::Exchange;
use crate::rate_limits::rate_limits;
use crate::response_body::{BodyError, ResponseBody};
use crate::retry_after::server_time;
use crate::usage::Price;

/// How long the stream may go on after the answer is complete: the usage may still follow.
const AFTER_FINISH: Duration = Duration::from_secs(2);

/// How long the body may take to end after the last event. Only then is the connection reused.
const AFTER_LAST_EVENT: Duration = Duration::from_millis(20);

/// How many tokens the caches of most providers hold at least.
pub(crate) const LEAST_CACHED: u32 = 1_024;

/// One model that is asked over HTTP.
pub(crate) struct HttpModel {
    pub(crate) info: ProviderInfo,
    pub(crate) client: Client,
    pub(crate) endpoint: Endpoint,
    /// Renews the key, if it is the token of a login.
    pub(crate) tokens: Option<Arc<dyn AccessTokens>>,
    pub(crate) price: Option<Price>,
    /// How many tokens the model can read and write in one request, if that is known.
    pub(crate) context_window: Option<u64>,
    /// How many tokens requests have to have in common so that the model finds them in its cache.
    pub(crate) least_cached: u32,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Provider for HttpModel {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, request: &ModelRequest) -> ModelStream {
        let request = self.endpoint.api.request(&self.endpoint, request);
        let request_bytes = request.body.len();
        let events = events(Exchange {
            client: self.client.clone(),
            endpoint: self.endpoint.clone(),
            tokens: self.tokens.clone(),
            clock: Arc::clone(&self.clock),
            price: self.price,
            request,
            notice: None,
        });
        ModelStream { request_bytes, events }
    }

    fn cost_of(&self, usage: &Usage) -> Option<Cost> {
        self.price.map(|price| price.cost_of(usage))
    }

    fn thinking_level(&self, asked: ThinkingLevel) -> ThinkingLevel {
        asked.of_model(&self.endpoint.known.levels)
    }

    fn context_window(&self) -> Option<u64> {
        self.context_window
    }

    fn cached_prefix(&self) -> Option<u32> {
        let cheaper =
            self.price.is_some_and(|it| it.cache_read.is_some_and(|cached| cached < it.input));
        cheaper.then_some(self.least_cached)
    }
}

/// Sends a request and returns the events of its answer.
fn events(exchange: Exchange) -> BoxStream<'static, ModelEvent> {
    let attempt = Attempt { exchange, state: AttemptState::NotSent, ready: Events::new() };
    let events = unfold(attempt, |mut attempt| async move {
        loop {
            if let Some(event) = attempt.ready.pop_front() {
                return Some((event, attempt));
            }
            attempt.advance().await?;
        }
    });
    events.boxed()
}

/// One attempt to get an answer.
struct Attempt {
    exchange: Exchange,
    state: AttemptState,
    /// Events that are not yet returned.
    ready: Events,
}

enum AttemptState {
    NotSent,
    Reading(Box<Reading>),
    Ended,
}

/// A response whose body is being read.
struct Reading {
    body: ResponseBody,
    parser: BodyParser,
    /// The time until which the body is read; set when the answer is complete.
    deadline: Option<Instant>,
}

impl Attempt {
    /// Sends the request or reads the next chunk. Returns `None` when the attempt has ended.
    async fn advance(&mut self) -> Option<()> {
        let last = match &mut self.state {
            AttemptState::Ended => return None,
            AttemptState::NotSent => match self.exchange.send().await {
                Ok(response) => {
                    let headers = response.headers();
                    // Times in the response are those of the server's clock.
                    let now = server_time(headers).unwrap_or_else(|| self.exchange.clock.now());
                    let limits = rate_limits(headers, now);
                    self.ready.extend(limits.map(Box::new).map(ModelEvent::Limits));
                    self.ready.extend(self.exchange.notice.take().map(ModelEvent::Notice));
                    self.state = AttemptState::Reading(Box::new(self.reading(response)));
                    return Some(());
                }
                Err(failed) => ModelEvent::Failed(failed),
            },
            AttemptState::Reading(reading) => {
                match reading.read(&self.exchange, &mut self.ready).await {
                    Ok(()) => return Some(()),
                    Err(last) => last,
                }
            }
        };
        self.ready.push_back(last);
        self.state = AttemptState::Ended;
        Some(())
    }

    fn reading(&self, response: Response) -> Reading {
        let named = response.headers().get(CONTENT_TYPE);
        let named = named.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let parser = BodyParser::new(named, self.exchange.endpoint.api.parser());
        Reading { body: ResponseBody::new(response), parser, deadline: None }
    }
}

impl Reading {
    /// Reads the next chunk of the body, and appends the events in it. Returns the last event as
    /// `Err` when the answer has ended or failed.
    async fn read(&mut self, exchange: &Exchange, ready: &mut Events) -> Result<(), ModelEvent> {
        let chunk = match self.chunk().await {
            Ok(chunk) => chunk,
            Err(error) => return Err(ModelEvent::Failed(exchange.body_lost(error))),
        };
        let context = ParseContext {
            endpoint: &exchange.endpoint,
            price: exchange.price.as_ref(),
            now: exchange.clock.now(),
        };
        let read = match chunk {
            Some(chunk) => self.parser.push(&context, &chunk, ready),
            None => Err(self.parser.finish(&context, ready)),
        };
        match &read {
            Ok(()) if self.parser.is_ended() => {
                self.deadline.get_or_insert_with(|| Instant::now() + AFTER_FINISH);
            }
            Err(ModelEvent::Ended(_)) => {
                let _rest = timeout(AFTER_LAST_EVENT, self.body.chunk()).await;
            }
            Ok(()) | Err(_) => {}
        }
        read
    }

    /// Returns the next chunk of the body; `None` after the last, or when the answer is complete and
    /// nothing more is waited for.
    async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        let Some(end) = self.deadline else { return self.body.chunk().await };
        // The timeout does not look at the time while there is something to read.
        if Instant::now() >= end {
            return Ok(None);
        }
        // The answer is complete; only its usage may still follow.
        match timeout_at(end, self.body.chunk()).await {
            Ok(Ok(chunk)) => Ok(chunk),
            Ok(Err(_)) | Err(_) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
