//! A model behind a Chat Completions endpoint: sends a request and streams the events of its answer.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use engine::ports::{Clock, ModelEvent, ModelRequest, ModelStream, Provider, ProviderInfo};
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use reqwest::Client;

use super::http_request::ChatRequest;
use super::request::body;
use super::response_parser::{ReadState, ResponseParser};
use crate::endpoint::Endpoint;
use crate::usage::Price;

/// The name of the wire API.
pub(crate) const API: &str = "openai-completions";

/// One model that is asked over Chat Completions.
pub(crate) struct Completions {
    pub(crate) info: ProviderInfo,
    pub(crate) client: Client,
    pub(crate) endpoint: Endpoint,
    pub(crate) price: Option<Price>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Provider for Completions {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, request: &ModelRequest) -> ModelStream {
        let body = body(&self.endpoint.model, &self.endpoint.dialect, request).to_string();
        let request_bytes = body.len();
        let events = events(ChatRequest {
            client: self.client.clone(),
            endpoint: self.endpoint.clone(),
            clock: Arc::clone(&self.clock),
            price: self.price,
            body: Bytes::from(body),
        });
        ModelStream { request_bytes, events }
    }
}

/// Sends `request` and returns the events of its answer.
fn events(request: ChatRequest) -> BoxStream<'static, ModelEvent> {
    let attempt = Attempt { request, state: AttemptState::NotSent, ready: VecDeque::new() };
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
    request: ChatRequest,
    state: AttemptState,
    /// Events that are not yet returned.
    ready: VecDeque<ModelEvent>,
}

enum AttemptState {
    NotSent,
    Reading(Box<ResponseParser>),
    Ended,
}

impl Attempt {
    /// Sends the request or reads the next chunk. Returns `None` when the attempt has ended.
    async fn advance(&mut self) -> Option<()> {
        let progress = match &mut self.state {
            AttemptState::Ended => return None,
            AttemptState::NotSent => match self.request.send().await {
                Ok(response) => {
                    self.state = AttemptState::Reading(Box::new(ResponseParser::new(response)));
                    return Some(());
                }
                Err(failed) => ReadState::Done(ModelEvent::Failed(failed)),
            },
            AttemptState::Reading(parser) => parser.read(&self.request, &mut self.ready).await,
        };
        if let ReadState::Done(last) = progress {
            self.ready.push_back(last);
            self.state = AttemptState::Ended;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
