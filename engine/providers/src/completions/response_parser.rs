//! Parses the body of a response: a stream of events or one JSON document, which is recognised by
//! its first byte. Tells complete answers from those that were cut off.

use std::collections::VecDeque;
use std::time::Duration;

use engine::ports::{AttemptFailure, ModelEvent};
use protocol::FailureClass;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::answer::{AnswerBuilder, Capacity};
use super::failure;
use super::http_request::ChatRequest;
use crate::sse::{Decoder, Event};

/// The most bytes of an answer in one JSON document.
const MAX_DOCUMENT: usize = 8 << 20;

/// How long the stream may go on after the finish reason: the usage may still follow.
const AFTER_FINISH: Duration = Duration::from_secs(2);

/// How long the body may take to end after the last event. Only then is the connection reused.
const AFTER_LAST_EVENT: Duration = Duration::from_millis(20);

/// Reads one answer.
pub(crate) struct ResponseParser {
    response: Response,
    body: Body,
    answer: AnswerBuilder,
    /// The time until which the stream is read; set when the model has finished.
    deadline: Option<Instant>,
}

/// The format of the body.
enum Body {
    /// Not known before the first byte.
    Unknown { content_type: String },
    /// A stream of events.
    Events { decoder: Decoder, content_type: String, beginning: Vec<u8> },
    /// One JSON document.
    Document(Vec<u8>),
}

/// Whether there is more to read.
pub(crate) enum ReadState {
    /// The answer goes on.
    More,
    /// The answer has ended with this event.
    Done(ModelEvent),
}

impl ResponseParser {
    /// Returns a parser of the body of `response`.
    pub(crate) fn new(response: Response) -> Self {
        let named = response.headers().get(CONTENT_TYPE);
        let named = named.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let named = named.split(';').next().unwrap_or_default().trim().to_lowercase();
        let body = Body::Unknown { content_type: named };
        Self { response, body, answer: AnswerBuilder::default(), deadline: None }
    }

    /// Reads the next chunk of the body, and appends the events in it.
    pub(crate) async fn read(
        &mut self,
        request: &ChatRequest,
        ready: &mut VecDeque<ModelEvent>,
    ) -> ReadState {
        let chunk = match self.deadline {
            // The model has finished; only its usage may still follow.
            Some(end) => match timeout_at(end, self.response.chunk()).await {
                Ok(Ok(chunk)) => chunk,
                Ok(Err(_)) | Err(_) => None,
            },
            None => match self.response.chunk().await {
                Ok(chunk) => chunk,
                Err(error) => {
                    return ReadState::Done(ModelEvent::Failed(request.connection_lost(error)));
                }
            },
        };
        let read = match chunk {
            Some(chunk) => self.push_bytes(request, &chunk, ready),
            None => Err(self.finish(request, ready)),
        };
        let Err(last) = read else { return ReadState::More };
        if matches!(last, ModelEvent::Ended(_)) {
            let _rest = timeout(AFTER_LAST_EVENT, self.response.chunk()).await;
        }
        ReadState::Done(last)
    }

    /// Parses more bytes. Returns the last event as `Err` if the answer has ended or failed.
    fn push_bytes(
        &mut self,
        request: &ChatRequest,
        bytes: &[u8],
        ready: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelEvent> {
        if let Body::Unknown { content_type } = &self.body {
            let Some(first) = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) else {
                return Ok(());
            };
            self.body = Body::recognise(content_type, *first);
        }
        match &mut self.body {
            Body::Unknown { .. } => Ok(()),
            Body::Document(body) => {
                if body.len() + bytes.len() > MAX_DOCUMENT {
                    let what = format!("an answer is longer than {MAX_DOCUMENT} bytes");
                    let failed = AttemptFailure::new(FailureClass::Invalid, what);
                    return Err(ModelEvent::Failed(failed));
                }
                body.extend_from_slice(bytes);
                Ok(())
            }
            Body::Events { decoder, beginning, .. } => {
                let room = 1000_usize.saturating_sub(beginning.len()).min(bytes.len());
                beginning.extend_from_slice(&bytes[..room]);
                let mut events = Vec::new();
                let fed = decoder.feed(bytes, &mut events);
                for event in events {
                    self.push_event(request, &event, ready)?;
                }
                fed.map_err(|error| {
                    ModelEvent::Failed(AttemptFailure::new(
                        FailureClass::Invalid,
                        error.to_string(),
                    ))
                })
            }
        }
    }

    /// Handles one server-sent event. Returns the last event as `Err`, like [`Self::push_bytes`].
    fn push_event(
        &mut self,
        request: &ChatRequest,
        event: &Event,
        ready: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelEvent> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return Err(self.done(request));
        }
        let Ok(chunk) = serde_json::from_str::<Value>(data) else {
            // A chunk that cannot be parsed is missing from the answer; other data is ignored.
            let missing = data.starts_with('{');
            return if missing { Err(ModelEvent::Failed(request.incomplete())) } else { Ok(()) };
        };
        self.push_chunk(request, &event.name, &chunk, ready)
    }

    /// Handles one chunk of the answer. Returns the last event as `Err`, like [`Self::push_bytes`].
    fn push_chunk(
        &mut self,
        request: &ChatRequest,
        name: &str,
        chunk: &Value,
        ready: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelEvent> {
        let error = chunk.get("error").filter(|error| !error.is_null());
        let error = error.or_else(|| (name == "error").then_some(chunk));
        if let Some(error) = error {
            let now = request.clock.now();
            return Err(ModelEvent::Failed(failure::in_stream(&request.endpoint, error, now)));
        }
        let before = ready.len();
        let taken = self.answer.push(chunk, request.price.as_ref(), ready);
        if ready.len() == before {
            ready.push_back(ModelEvent::Alive);
        }
        match taken {
            Err(failed) => Err(ModelEvent::Failed(failed)),
            Ok(Capacity::Full) => Err(self.ended()),
            Ok(Capacity::Left) => {
                if self.answer.is_ended() && self.deadline.is_none() {
                    self.deadline = Some(Instant::now() + AFTER_FINISH);
                }
                Ok(())
            }
        }
    }

    /// Returns the last event when the body has ended.
    fn finish(&mut self, request: &ChatRequest, ready: &mut VecDeque<ModelEvent>) -> ModelEvent {
        match std::mem::replace(&mut self.body, Body::Unknown { content_type: String::new() }) {
            // The body is empty.
            Body::Unknown { .. } => ModelEvent::Failed(request.incomplete()),
            Body::Document(body) => self.finish_document(request, &body, ready),
            Body::Events { decoder, content_type, beginning } => {
                if let Some(event) = decoder.finish()
                    && let Err(last) = self.push_event(request, &event, ready)
                {
                    return last;
                }
                if self.answer.is_ended() {
                    return self.ended();
                }
                let page = beginning.trim_ascii_start().starts_with(b"<");
                let strange = page || content_type != "text/event-stream";
                if strange && !self.answer.is_begun() {
                    let beginning = String::from_utf8_lossy(&beginning);
                    return ModelEvent::Failed(failure::not_a_stream(
                        &request.endpoint,
                        &content_type,
                        &beginning,
                    ));
                }
                ModelEvent::Failed(request.incomplete())
            }
        }
    }

    /// Parses an answer in one JSON document.
    fn finish_document(
        &mut self,
        request: &ChatRequest,
        body: &[u8],
        ready: &mut VecDeque<ModelEvent>,
    ) -> ModelEvent {
        let Ok(completion) = serde_json::from_slice::<Value>(body) else {
            // JSON that was cut off begins like JSON.
            let class = body.starts_with(b"{").then(|| request.incomplete());
            let beginning = String::from_utf8_lossy(&body[..body.len().min(1000)]);
            let strange = || failure::not_a_stream(&request.endpoint, "", &beginning);
            return ModelEvent::Failed(class.unwrap_or_else(strange));
        };
        if let Err(last) = self.push_chunk(request, "", &completion, ready) {
            return last;
        }
        if self.answer.is_begun() {
            return self.ended();
        }
        let beginning = completion.to_string();
        ModelEvent::Failed(failure::not_a_stream(&request.endpoint, "json", &beginning))
    }

    fn done(&mut self, request: &ChatRequest) -> ModelEvent {
        if self.answer.is_begun() {
            self.ended()
        } else {
            let what = format!("{} answered with nothing", request.endpoint.provider);
            ModelEvent::Failed(AttemptFailure::new(FailureClass::Transient, what))
        }
    }

    fn ended(&mut self) -> ModelEvent {
        ModelEvent::Ended(std::mem::take(&mut self.answer).into_answer())
    }
}

impl Body {
    /// Recognises the format by the first byte; the content type is not always right.
    fn recognise(content_type: &str, first: u8) -> Self {
        if matches!(first, b'{' | b'[') {
            Self::Document(Vec::new())
        } else {
            let content_type = content_type.to_owned();
            Self::Events { decoder: Decoder::default(), content_type, beginning: Vec::new() }
        }
    }
}
