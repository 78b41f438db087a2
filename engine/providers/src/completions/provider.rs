//! A model that is asked over Chat Completions.

use std::sync::Arc;

use bytes::Bytes;
use engine::ports::{Clock, ModelRequest, ModelStream, Provider, ProviderInfo};
use reqwest::Client;

use super::endpoint::Endpoint;
use super::exchange::events;
use super::post::Post;
use super::request::body;
use crate::price::Price;

/// The name of the wire API.
pub(crate) const API: &str = "openai-completions";

/// One model behind one address.
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
        let events = events(Post {
            client: self.client.clone(),
            endpoint: self.endpoint.clone(),
            clock: Arc::clone(&self.clock),
            price: self.price,
            body: Bytes::from(body),
        });
        ModelStream { request_bytes, events }
    }
}

#[cfg(test)]
mod tests;
