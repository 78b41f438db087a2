//! One exchange with a provider: the request, and its answer as a stream of pieces.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use protocol::FailureClass;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Client, Response};

use super::endpoint::Endpoint;
use super::hearing::{Hearing, Step};
use super::trouble::{self, Refusal};
use super::waiting::{wait, wait_told};
use crate::piece::{Attempt, Piece, Trouble};
use crate::price::Price;
use crate::voice::Voice;

/// The most bytes of an error that are read.
const LONGEST_ERROR: usize = 64 << 10;

/// What all attempts at one answer share.
pub(crate) struct Question {
    pub(crate) client: Client,
    pub(crate) endpoint: Endpoint,
    pub(crate) voice: Voice,
    pub(crate) price: Option<Price>,
    /// The longest that is waited before asking again.
    pub(crate) most_wait: Duration,
    pub(crate) body: Bytes,
}

/// Asks.
pub(crate) fn ask(question: Arc<Question>) -> Attempt {
    let phase = Phase::Asking;
    let exchange = Exchange { question, phase, ready: VecDeque::new() };
    Box::pin(unfold(exchange, |mut exchange| async move {
        loop {
            if let Some(piece) = exchange.ready.pop_front() {
                return Some((piece, exchange));
            }
            exchange.advance().await?;
        }
    }))
}

struct Exchange {
    question: Arc<Question>,
    phase: Phase,
    ready: VecDeque<Piece>,
}

enum Phase {
    Asking,
    Hearing(Box<Hearing>),
    Over,
}

impl Exchange {
    /// Does the next step; nothing if there is none.
    async fn advance(&mut self) -> Option<()> {
        let step = match &mut self.phase {
            Phase::Over => return None,
            Phase::Asking => match self.question.ask().await {
                Ok(hearing) => {
                    self.phase = Phase::Hearing(Box::new(hearing));
                    return Some(());
                }
                Err(trouble) => Step::End(Piece::Broken(trouble)),
            },
            Phase::Hearing(hearing) => hearing.hear(&self.question, &mut self.ready).await,
        };
        if let Step::End(last) = step {
            self.ready.push_back(last);
            self.phase = Phase::Over;
        }
        Some(())
    }
}

impl Question {
    async fn ask(&self) -> Result<Hearing, Trouble> {
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
                Trouble::new(FailureClass::Auth, what)
            })?;
            request = request.header(AUTHORIZATION, header);
        }
        let response = request.send().await.map_err(|error| self.lost(error))?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        Ok(Hearing::new(response))
    }

    async fn refused(&self, mut response: Response) -> Trouble {
        let status = response.status();
        let now = self.voice.now();
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
        trouble::refused(&self.endpoint, &refusal, now, self.most_wait)
    }

    /// Returns what a lost connection means.
    pub(crate) fn lost(&self, error: reqwest::Error) -> Trouble {
        trouble::unreachable(&self.endpoint, error).into()
    }

    /// Returns what an answer without an end means.
    pub(crate) fn cut(&self) -> Trouble {
        let what = format!("the answer of {} ended in the middle", self.endpoint.provider);
        Trouble::new(FailureClass::Transient, what)
    }
}
