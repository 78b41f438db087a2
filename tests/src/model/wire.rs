//! The API over which a model is asked.

use axum::http::HeaderMap;
use serde_json::Value;

use super::{Asked, Said, messages, stream};

/// One API: how requests are read and answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire {
    /// OpenAI's Chat Completions, with bearer keys.
    Completions,
    /// Anthropic's Messages, with `x-api-key`.
    Messages,
}

impl Wire {
    /// Returns the API that is asked at a path.
    pub(super) fn at(path: &str) -> Option<Self> {
        match path {
            "/v1/chat/completions" => Some(Self::Completions),
            "/v1/messages" => Some(Self::Messages),
            _ => None,
        }
    }

    /// Reads a request.
    ///
    /// # Errors
    /// Why it is none.
    pub(super) fn read(self, bytes: &[u8], key: Option<String>) -> Result<Asked, String> {
        match self {
            Self::Completions => Asked::read(bytes, key),
            Self::Messages => {
                let body: Value = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
                Asked::read(messages::as_completions(&body).to_string().as_bytes(), key)
            }
        }
    }

    /// Returns the events of an answer, as they stand in the body.
    pub(super) fn events(self, said: &Said, model: &str) -> String {
        match self {
            Self::Completions => stream::events(said, model),
            Self::Messages => messages::events(said, model),
        }
    }

    /// Returns what an event has that tells why an answer ends.
    pub(super) fn end(self) -> &'static str {
        match self {
            Self::Completions => r#""finish_reason":""#,
            Self::Messages => r#""stop_reason":""#,
        }
    }
}

/// Returns the key that a request gives, over whichever API.
pub(super) fn key(headers: &HeaderMap) -> Option<String> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    bearer.or_else(|| header("x-api-key")).map(str::to_owned)
}
