//! Parses the body of a response: a stream of events or one JSON document, which is recognised by
//! its first byte. Tells complete answers from those that were cut off.

use engine::ports::{AttemptFailure, ModelEvent};
use protocol::FailureClass;

use crate::answer_parser::{AnswerParser, Flow, ParseContext};
use crate::blocks::Events;
use crate::failure;
use crate::sse::{Decoder, Event};

/// The most bytes of an answer in one JSON document.
const MAX_DOCUMENT: usize = 8 << 20;

/// The most bytes of a stream. It is far more than an answer of the maximum size takes, even in
/// events of a few letters each.
const MAX_STREAM: usize = 256 << 20;

/// Parses the body of one answer.
pub(crate) struct BodyParser {
    body: Body,
    answer: Box<dyn AnswerParser>,
    /// How many bytes have come.
    size: usize,
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

impl BodyParser {
    /// Returns a parser of a body of this content type.
    pub(crate) fn new(content_type: &str, answer: Box<dyn AnswerParser>) -> Self {
        let named = content_type.split(';').next().unwrap_or_default().trim().to_lowercase();
        Self { body: Body::Unknown { content_type: named }, answer, size: 0 }
    }

    /// Returns whether the answer is complete. More of the body may follow, such as the usage.
    pub(crate) fn is_ended(&self) -> bool {
        self.answer.is_ended()
    }

    /// Parses more bytes. Returns the last event as `Err` if the answer has ended or failed.
    pub(crate) fn push(
        &mut self,
        context: &ParseContext<'_>,
        bytes: &[u8],
        events: &mut Events,
    ) -> Result<(), ModelEvent> {
        self.size = self.size.saturating_add(bytes.len());
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
                    return Err(too_long("an answer", MAX_DOCUMENT));
                }
                body.extend_from_slice(bytes);
                Ok(())
            }
            Body::Events { decoder, beginning, .. } => {
                if self.size > MAX_STREAM {
                    return Err(too_long("a stream", MAX_STREAM));
                }
                let room = 1000_usize.saturating_sub(beginning.len()).min(bytes.len());
                beginning.extend_from_slice(&bytes[..room]);
                let mut decoded = Vec::new();
                let fed = decoder.feed(bytes, &mut decoded);
                for event in decoded {
                    self.push_event(context, &event, events)?;
                }
                fed.map_err(|error| failed(FailureClass::Invalid, error.to_string()))
            }
        }
    }

    /// Handles one server-sent event. Returns the last event as `Err`, like [`Self::push`].
    fn push_event(
        &mut self,
        context: &ParseContext<'_>,
        event: &Event,
        events: &mut Events,
    ) -> Result<(), ModelEvent> {
        let before = events.len();
        let pushed = self.answer.push(event, context, events);
        if events.len() == before {
            events.push_back(ModelEvent::Alive);
        }
        match pushed {
            Ok(Flow::More | Flow::Finishing) => Ok(()),
            Ok(Flow::Ended) => Err(self.ended()),
            Err(failed) => Err(ModelEvent::Failed(failed)),
        }
    }

    /// Returns the last event when the body has ended.
    pub(crate) fn finish(&mut self, context: &ParseContext<'_>, events: &mut Events) -> ModelEvent {
        match std::mem::replace(&mut self.body, Body::Unknown { content_type: String::new() }) {
            // The body is empty.
            Body::Unknown { .. } => ModelEvent::Failed(context.incomplete()),
            Body::Document(body) => self.finish_document(context, &body, events),
            Body::Events { decoder, content_type, beginning } => {
                if let Some(event) = decoder.finish()
                    && let Err(last) = self.push_event(context, &event, events)
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
                    let endpoint = context.endpoint;
                    let failed = failure::not_a_stream(endpoint, &content_type, &beginning);
                    return ModelEvent::Failed(failed);
                }
                ModelEvent::Failed(context.incomplete())
            }
        }
    }

    /// Parses an answer, or an error, in one JSON document.
    fn finish_document(
        &mut self,
        context: &ParseContext<'_>,
        body: &[u8],
        events: &mut Events,
    ) -> ModelEvent {
        let strange = |kind: &str, beginning: &str| {
            ModelEvent::Failed(failure::not_a_stream(context.endpoint, kind, beginning))
        };
        let Ok(document) = serde_json::from_slice::<serde_json::Value>(body) else {
            // JSON that was cut off begins like JSON.
            if body.starts_with(b"{") {
                return ModelEvent::Failed(context.incomplete());
            }
            return strange("", &String::from_utf8_lossy(&body[..body.len().min(1000)]));
        };
        if let Some(error) = document.get("error").filter(|error| !error.is_null()) {
            return ModelEvent::Failed(context.error(error));
        }
        match self.answer.push_document(&document, context, events) {
            Ok(Some(_complete)) => self.ended(),
            Ok(None) => strange("json", &document.to_string()),
            Err(failed) => ModelEvent::Failed(failed),
        }
    }

    fn ended(&mut self) -> ModelEvent {
        ModelEvent::Ended(self.answer.take_answer())
    }
}

fn too_long(what: &str, most: usize) -> ModelEvent {
    failed(FailureClass::Invalid, format!("{what} is longer than {most} bytes"))
}

fn failed(class: FailureClass, what: String) -> ModelEvent {
    ModelEvent::Failed(AttemptFailure::new(class, what))
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

#[cfg(test)]
mod tests;
