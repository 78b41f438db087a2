//! The API over which a model is asked.

use axum::http::HeaderMap;
use serde_json::Value;

use super::{Answer, Asked, Said, gemini, messages, responses, stream, validator};

/// One API: how requests are read and answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// OpenAI's Chat Completions, with bearer keys.
    Completions,
    /// OpenAI's Responses, with bearer keys.
    Responses,
    /// Anthropic's Messages, with `x-api-key`.
    Messages,
    /// Google's Generative Language API, with `x-goog-api-key`.
    Gemini,
}

impl Wire {
    /// Every API.
    pub const ALL: [Self; 4] = [Self::Completions, Self::Responses, Self::Messages, Self::Gemini];

    /// Returns the API that is asked at a path.
    pub(super) fn at(path: &str) -> Option<Self> {
        match path {
            "/v1/chat/completions" => Some(Self::Completions),
            "/v1/responses" => Some(Self::Responses),
            "/v1/messages" => Some(Self::Messages),
            _ => gemini::model_of(path).map(|_model| Self::Gemini),
        }
    }

    /// Returns a model that thinks and is asked over this API, as `--model` wants it.
    #[must_use]
    pub fn route(self) -> &'static str {
        match self {
            Self::Completions => "loopback/loop",
            Self::Responses => "openai/gpt-5.2",
            Self::Messages => "anthropic/claude-sonnet-4-5",
            Self::Gemini => "google/gemini-3-pro-preview",
        }
    }

    /// Returns the name of the API in session logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Completions => "openai-completions",
            Self::Responses => "openai-responses",
            Self::Messages => "anthropic-messages",
            Self::Gemini => "google-generative-ai",
        }
    }

    /// Reads a request.
    ///
    /// # Errors
    /// Why it is none.
    pub(super) fn read(
        self,
        path: &str,
        bytes: &[u8],
        key: Option<String>,
    ) -> Result<Asked, String> {
        let body: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let as_asked = match self {
            Self::Completions => return Asked::read(bytes, key),
            Self::Responses => responses::as_completions(&body),
            Self::Messages => messages::as_completions(&body),
            Self::Gemini => {
                gemini::as_completions(&body, gemini::model_of(path).unwrap_or_default())
            }
        };
        let asked = Asked::read(as_asked.to_string().as_bytes(), key)?;
        Ok(Asked { wire: self, native: body, bytes: bytes.to_vec(), ..asked })
    }

    /// Returns what is wrong with a request by the rules of its API.
    pub(super) fn faults(self, asked: &Asked) -> Vec<String> {
        match self {
            Self::Completions => validator::faults(asked),
            Self::Responses => responses::faults(&asked.native),
            Self::Messages => messages::faults(&asked.native),
            Self::Gemini => gemini::faults(&asked.native, asked.model()),
        }
    }

    /// Returns the events of an answer, as they stand in the body.
    pub(super) fn events(self, said: &Said, model: &str) -> String {
        match self {
            Self::Completions => stream::events(said, model),
            Self::Responses => responses::events(said, model),
            Self::Messages => messages::events(said, model),
            Self::Gemini => gemini::events(said),
        }
    }

    /// Returns an answer that is sent as it is and may be cut off by its reader.
    #[must_use]
    pub fn say(self, said: &Said) -> Answer {
        Answer::stream(self.events(said, "m"))
    }

    /// Returns what an event has that tells why an answer ends.
    pub(super) fn end(self) -> &'static str {
        match self {
            Self::Completions => r#""finish_reason":""#,
            Self::Responses => r#""type":"response.completed""#,
            Self::Messages => r#""stop_reason":""#,
            Self::Gemini => r#""finishReason":""#,
        }
    }
}

/// Returns the key that a request gives, over whichever API.
pub(super) fn key(headers: &HeaderMap) -> Option<String> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let own = || header("x-api-key").or_else(|| header("x-goog-api-key"));
    bearer.or_else(own).map(str::to_owned)
}

/// Returns what proves that a text was said over an API: base64, and another one for each text.
pub(super) fn signature(wire: Wire, text: &str) -> String {
    let bytes = wire.name().bytes().chain(text.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}
