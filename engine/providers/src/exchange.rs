//! Sends one HTTP request for an answer and classifies its failure.

use std::sync::Arc;

use bytes::Bytes;
use engine::ports::{AttemptFailure, Clock, FailureCause, key_phrase};
use protocol::FailureClass;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Response, StatusCode};
use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;

use crate::access_tokens::AccessTokens;
use crate::api::Api;
use crate::endpoint::{ApiKey, Endpoint, KeyNotHeader};
use crate::failure::{self, ErrorResponse};
use crate::openai_completions::{may_refuse_field, without_thinking};
use crate::rate_limits::wait_for_limits;
use crate::response_body::{BodyError, ResponseBody};
use crate::retry_after::{retry_after, retry_after_in_body, server_time};
use crate::usage::Price;

/// Most bodies of requests are not larger, in bytes.
const USUAL_BODY: usize = 16 << 10;

/// The maximum number of bytes that are read of an error response.
const LONGEST_ERROR: usize = 64 << 10;

/// A request as HTTP.
pub(crate) struct WireRequest {
    pub(crate) url: Url,
    /// The headers besides the key.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// The body of a request.
#[derive(Serialize)]
pub(crate) struct Body<T> {
    #[serde(flatten)]
    pub(crate) fields: Map<String, Value>,
    /// The tools, which are written from their declarations: copies of their schemas would be the
    /// larger part of the work of a request. `None` if they are among the fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<Vec<T>>,
}

/// Returns a document as the body of a request. It is held until the answer has come, so it takes no
/// more memory than it has bytes.
pub(crate) fn body_of(document: &impl Serialize) -> Bytes {
    let mut bytes = Vec::with_capacity(USUAL_BODY);
    // A document in memory has text keys only, and memory takes what is written to it.
    serde_json::to_writer(&mut bytes, document).expect("a document can be written to memory");
    Bytes::from(bytes.into_boxed_slice())
}

/// One request for an answer.
pub(crate) struct Exchange {
    pub(crate) client: Client,
    pub(crate) endpoint: Endpoint,
    /// Renews the key, if it is the token of a login.
    pub(crate) tokens: Option<Arc<dyn AccessTokens>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) price: Option<Price>,
    pub(crate) request: WireRequest,
    /// What the user should know about how the request was sent.
    pub(crate) notice: Option<String>,
}

impl Exchange {
    /// Sends the request and returns the successful response. A token that is not accepted is
    /// renewed once, and thinking that is not accepted is left out.
    pub(crate) async fn send(&mut self) -> Result<Response, AttemptFailure> {
        let tokens = self.tokens.clone();
        if let Some(tokens) = &tokens {
            self.endpoint.key = ApiKey::new(&tokens.access(None).await?);
        }
        let mut response = self.post().await?;
        if let (StatusCode::UNAUTHORIZED, Some(tokens)) = (response.status(), &tokens) {
            let rejected = self.endpoint.key.take();
            let text = rejected.as_ref().map(|key| key.text().to_owned());
            self.endpoint.key = ApiKey::new(&tokens.access(text).await?);
            if self.endpoint.key != rejected {
                response = self.post().await?;
            }
        }
        if !response.status().is_success() {
            let failed = self.refused(response).await;
            return self.send_without_thinking(failed).await;
        }
        Ok(response)
    }

    /// Sends a request that the server has refused once more, without what the model thought, if it
    /// contains that. A server that accepts this is remembered.
    async fn send_without_thinking(
        &mut self,
        failed: AttemptFailure,
    ) -> Result<Response, AttemptFailure> {
        let Endpoint { provider, model, base, thinking_refusals, .. } = &self.endpoint;
        let refused = failed.failure.class == FailureClass::Invalid
            && failed.cause == FailureCause::Other
            && may_refuse_field(&failed.failure.message)
            && self.endpoint.api == Api::OpenAiCompletions
            && !thinking_refusals.is_other(base, model, &failed.failure.message);
        let without = refused.then(|| without_thinking(&self.request.body)).flatten();
        let Some(without) = without else { return Err(failed) };
        self.request.body = without;
        let response = self.post().await?;
        if !response.status().is_success() {
            let again = self.refused(response).await;
            if again.failure.class != FailureClass::Invalid {
                return Err(again);
            }
            thinking_refusals.add_other(base, model, &failed.failure.message);
            return Err(failed);
        }
        thinking_refusals.add(base, model);
        self.notice = Some(format!(
            "{provider} refuses requests with what {model} thought before; it is no longer sent back"
        ));
        Ok(response)
    }

    async fn post(&self) -> Result<Response, AttemptFailure> {
        let mut request = self
            .client
            .post(self.request.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .headers(self.request.headers.clone())
            .body(self.request.body.clone());
        let key = match (&self.endpoint.key, &self.tokens) {
            (Some(token), Some(_)) => {
                let header = token.header("Bearer ").ok_or(KeyNotHeader);
                header.map(|header| Some((AUTHORIZATION, header)))
            }
            _ => self.endpoint.key_header(),
        };
        let key = key.map_err(|KeyNotHeader| {
            let what = format!("{} holds letters no key has", key_phrase(&self.endpoint.variable));
            AttemptFailure::new(FailureClass::Auth, what)
        })?;
        if let Some((name, value)) = key {
            request = request.header(name, value);
        }
        request.send().await.map_err(|error| self.connection_lost(error))
    }

    async fn refused(&self, response: Response) -> AttemptFailure {
        let (status, headers) = (response.status(), response.headers().clone());
        let mut response = ResponseBody::new(response);
        let mut body = Vec::new();
        while body.len() < LONGEST_ERROR {
            // An error whose body cannot be read is classified by its status.
            let Ok(Some(chunk)) = response.chunk().await else { break };
            body.extend_from_slice(&chunk);
        }
        body.truncate(LONGEST_ERROR);
        let body = String::from_utf8_lossy(&body);
        let now = self.clock.now();
        // Times in the response are those of the server's clock.
        let then = server_time(&headers).unwrap_or(now);
        let wait = retry_after(&headers, then)
            .or_else(|| retry_after_in_body(&body, then))
            .or_else(|| wait_for_limits(&headers, then));
        let request_bytes = self.request.body.len();
        let response = ErrorResponse { status, wait, body: &body, request_bytes };
        failure::refused(&self.endpoint, &response, now)
    }

    /// Returns the failure of an answer whose body cannot be read.
    pub(crate) fn body_lost(&self, error: BodyError) -> AttemptFailure {
        match error {
            BodyError::Lost(error) => self.connection_lost(error),
            BodyError::Corrupt(error) => {
                let provider = &self.endpoint.provider;
                let what = format!("the answer of {provider} is compressed and corrupt: {error}");
                AttemptFailure::new(FailureClass::Transient, what)
            }
        }
    }

    /// Returns the failure of a lost connection.
    fn connection_lost(&self, error: reqwest::Error) -> AttemptFailure {
        failure::unreachable(&self.endpoint, error).into()
    }
}
