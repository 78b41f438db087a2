//! One request to a server, and what its failures mean.

use std::sync::Arc;

use bytes::Bytes;
use engine::ports::{AttemptFailure, Clock};
use protocol::FailureClass;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Client, Response};

use super::endpoint::Endpoint;
use super::failure::{self, Refusal};
use super::retry_after::{wait, wait_told};
use crate::price::Price;

/// The most bytes of an error that are read.
const LONGEST_ERROR: usize = 64 << 10;

/// A request that can be sent.
pub(crate) struct Post {
    pub(crate) client: Client,
    pub(crate) endpoint: Endpoint,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) price: Option<Price>,
    pub(crate) body: Bytes,
}

impl Post {
    /// Sends the request and returns the response whose body is the answer.
    pub(crate) async fn send(&self) -> Result<Response, AttemptFailure> {
        let url = self.endpoint.url(&["chat", "completions"]);
        let mut request = self
            .client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(self.body.clone());
        if let Some(key) = &self.endpoint.key {
            let header = key.header().ok_or_else(|| {
                let what = format!("{} holds letters no key has", self.endpoint.variable);
                AttemptFailure::new(FailureClass::Auth, what)
            })?;
            request = request.header(AUTHORIZATION, header);
        }
        let response = request.send().await.map_err(|error| self.lost(error))?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        Ok(response)
    }

    async fn refused(&self, mut response: Response) -> AttemptFailure {
        let status = response.status();
        let now = self.clock.now();
        let asked = wait(response.headers(), now);
        let mut body = Vec::new();
        while body.len() < LONGEST_ERROR {
            // What cannot be read of an error does not change what it is.
            let Ok(Some(chunk)) = response.chunk().await else { break };
            body.extend_from_slice(&chunk);
        }
        body.truncate(LONGEST_ERROR);
        let body = String::from_utf8_lossy(&body);
        let wait = asked.or_else(|| wait_told(&body, now));
        let refusal = Refusal { status, wait, body: &body, asked: self.body.len() };
        failure::refused(&self.endpoint, &refusal, now)
    }

    /// Returns what a lost connection means.
    pub(crate) fn lost(&self, error: reqwest::Error) -> AttemptFailure {
        failure::unreachable(&self.endpoint, error).into()
    }

    /// Returns what an answer without an end means.
    pub(crate) fn cut(&self) -> AttemptFailure {
        let what = format!("the answer of {} ended in the middle", self.endpoint.provider);
        AttemptFailure::new(FailureClass::Transient, what)
    }
}
