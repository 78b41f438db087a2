//! What the model does when it is asked.

use std::time::Duration;

use serde_json::{Value, json};

/// One answer, or what comes instead of one.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It says something and calls tools.
    Says(Said),
    /// It begins to say something, and the stream ends too early.
    Cut(Said, Cut),
    /// It answers with this status.
    Status {
        /// The status.
        code: u16,
        /// Headers beside the usual ones.
        headers: Vec<(&'static str, String)>,
        /// The body.
        body: String,
    },
    /// It answers with these bytes, whatever they are.
    Bytes {
        /// What it says they are.
        content_type: &'static str,
        /// The bytes.
        body: Vec<u8>,
    },
    /// It sends these bytes of a stream again and again, after as much time each.
    Again(Vec<u8>, Duration),
    /// It accepts the request and then says nothing, for ever.
    Silence,
    /// It does not even accept the request.
    Held,
    /// It talks without end.
    Endless,
}

/// Where a stream is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Before the first event; the connection breaks.
    AtOnce,
    /// In the middle of the first character that has more than one byte; the connection breaks.
    InCharacter,
    /// Before the reason of its end is told; the body just ends.
    BeforeFinish,
    /// In its middle; the connection is reset.
    Reset,
}

/// What is said in one answer.
#[derive(Clone, Debug)]
pub struct Said {
    /// How long it thinks before.
    pub think: Duration,
    /// Words for itself.
    pub thinking: String,
    /// Words for the user.
    pub text: String,
    /// The tools it calls.
    pub calls: Vec<Call>,
    /// What it says that it used.
    pub tokens: Tokens,
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its identity; one of its own without it.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// The arguments as they are sent.
    pub arguments: String,
}

/// Tokens as the wire has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Read, those from the cache included.
    pub prompt: u64,
    /// Read from the cache.
    pub cached: u64,
    /// Read and written to the cache.
    pub written: u64,
    /// Written.
    pub completion: u64,
}

impl Answer {
    /// Returns an answer of words only.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Says(Said { text: text.into(), ..Said::default() })
    }

    /// Returns an answer that calls one tool.
    #[must_use]
    pub fn call(name: &str, arguments: &Value) -> Self {
        Self::calls(vec![Call::new(name, arguments)])
    }

    /// Returns an answer that calls tools.
    #[must_use]
    pub fn calls(calls: Vec<Call>) -> Self {
        Self::Says(Said { calls, ..Said::default() })
    }

    /// Returns an answer that yields this value.
    #[must_use]
    pub fn yields(data: &Value) -> Self {
        Self::call("yield", &json!({ "result": { "data": data } }))
    }

    /// Returns an answer without words and calls.
    #[must_use]
    pub fn nothing() -> Self {
        Self::Says(Said::default())
    }

    /// Returns an answer of Chat Completions that begins with a text, and of which nothing more comes.
    #[must_use]
    pub fn begun(text: &str) -> Self {
        let choice = json!({ "index": 0, "delta": { "content": text }, "finish_reason": null });
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_767_323_045,
            "model": super::LoopbackModel::ID, "choices": [choice],
        });
        Self::Again(format!("data: {chunk}\n\n").into_bytes(), Duration::from_secs(3600))
    }

    /// Returns a stream of these bytes, whatever they are.
    pub fn stream(body: impl Into<Vec<u8>>) -> Self {
        Self::Bytes { content_type: "text/event-stream", body: body.into() }
    }

    /// Returns a refusal as OpenAI words it.
    #[must_use]
    pub fn error(code: u16, kind: &str, message: &str) -> Self {
        let body = json!({ "error": { "message": message, "type": kind, "code": kind } });
        Self::Status { code, headers: Vec::new(), body: body.to_string() }
    }

    /// Adds a header to an answer with a status.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Status { headers, .. } = &mut self {
            headers.push((name, value.into()));
        }
        self
    }

    /// Lets it think for a while first.
    #[must_use]
    pub fn after(mut self, think: Duration) -> Self {
        if let Self::Says(said) | Self::Cut(said, _) = &mut self {
            said.think = think;
        }
        self
    }

    /// Returns what is said whole, if anything is.
    #[must_use]
    pub fn said(&self) -> Option<&Said> {
        match self {
            Self::Says(said) => Some(said),
            Self::Cut(..)
            | Self::Status { .. }
            | Self::Bytes { .. }
            | Self::Again(..)
            | Self::Silence
            | Self::Held
            | Self::Endless => None,
        }
    }
}

impl Default for Said {
    fn default() -> Self {
        Self {
            think: Duration::ZERO,
            thinking: String::new(),
            text: String::new(),
            calls: Vec::new(),
            tokens: Tokens { prompt: 1000, cached: 200, written: 0, completion: 30 },
        }
    }
}

impl Said {
    /// Returns whether it comes to nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }
}

impl Call {
    /// Returns a call with these arguments.
    #[must_use]
    pub fn new(name: &str, arguments: &Value) -> Self {
        Self { id: None, name: name.to_owned(), arguments: arguments.to_string() }
    }

    /// Gives it an identity.
    #[must_use]
    pub fn with_id(self, id: &str) -> Self {
        Self { id: Some(id.to_owned()), ..self }
    }
}
