//! A model that is had over Chat Completions.

use std::sync::Arc;

use bytes::Bytes;
use engine::ports::{ModelRequest, ModelStream, Provider};
use protocol::ModelRoute;
use reqwest::Client;

use super::endpoint::Endpoint;
use super::exchange::{Question, ask};
use super::request::body;
use crate::price::Price;
use crate::retry::{Asked, persist};
use crate::terms::Terms;
use crate::voice::Voice;

/// What messages say they were had through.
pub(crate) const API: &str = "openai-completions";

/// One model behind one address.
pub(crate) struct Completions {
    pub(crate) client: Client,
    pub(crate) endpoint: Endpoint,
    pub(crate) voice: Voice,
    pub(crate) price: Option<Price>,
    pub(crate) terms: Terms,
}

impl Completions {
    /// Returns who speaks for `route`.
    pub(crate) fn voice(route: &ModelRoute, clock: Arc<dyn engine::ports::Clock>) -> Voice {
        Voice { api: API, route: route.clone(), clock }
    }
}

impl Provider for Completions {
    fn stream(&self, request: ModelRequest) -> ModelStream {
        let body = body(&self.endpoint.model, &self.endpoint.dialect, &request);
        let question = Arc::new(Question {
            client: self.client.clone(),
            endpoint: self.endpoint.clone(),
            voice: self.voice.clone(),
            price: self.price,
            most_wait: self.terms.retry.max_delay,
            body: Bytes::from(body.to_string()),
        });
        let asked = Asked { session: request.session, size: question.body.len() };
        persist(self.voice.clone(), self.terms, asked, move || ask(Arc::clone(&question)))
    }
}

#[cfg(test)]
mod tests;
