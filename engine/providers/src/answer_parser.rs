//! What reads the events of one wire API: turns them into the events and the parts of an answer.

use engine::ports::{AttemptFailure, ModelAnswer};
use protocol::{FailureClass, Timestamp};
use serde_json::Value;

use crate::blocks::Events;
use crate::endpoint::Endpoint;
use crate::failure;
use crate::sse::Event;
use crate::usage::Price;

/// Reads the events of one answer. It performs no I/O, so that it is tested without a server.
pub(crate) trait AnswerParser: Send {
    /// Handles one event of the stream.
    fn push(
        &mut self,
        event: &Event,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<Flow, AttemptFailure>;

    /// Handles an answer that came as one JSON document instead of a stream. Returns `None` if the
    /// document is not an answer.
    fn push_document(
        &mut self,
        _document: &Value,
        _context: &ParseContext<'_>,
        _events: &mut Events,
    ) -> Result<Option<Flow>, AttemptFailure> {
        Ok(None)
    }

    /// Returns whether the model has begun to answer.
    fn is_begun(&self) -> bool;

    /// Returns whether the answer is complete: what has to end it has come.
    fn is_ended(&self) -> bool;

    /// Returns the answer. It is complete if [`Self::is_ended`], or if it has reached a limit.
    fn take_answer(&mut self) -> ModelAnswer;
}

/// What follows an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The answer goes on.
    More,
    /// The answer is complete. The usage may still follow.
    Finishing,
    /// The answer is complete, and nothing follows.
    Ended,
}

/// What a parser knows of its request.
#[derive(Clone, Copy)]
pub(crate) struct ParseContext<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) price: Option<&'a Price>,
    pub(crate) now: Timestamp,
}

impl ParseContext<'_> {
    /// Returns the JSON object in the data of an event.
    ///
    /// # Errors
    /// The data is something else. A part of the answer may be missing.
    pub(crate) fn object(&self, event: &Event) -> Result<Value, AttemptFailure> {
        match serde_json::from_str(&event.data) {
            Ok(value @ Value::Object(_)) => Ok(value),
            Ok(_) | Err(_) => Err(self.corrupt("an event is not a JSON object")),
        }
    }

    /// Returns the failure of a stream that breaks the rules of its API.
    pub(crate) fn corrupt(&self, what: &str) -> AttemptFailure {
        let what = format!("the stream of {} is corrupt: {what}", self.endpoint.provider);
        AttemptFailure::new(FailureClass::Transient, what)
    }

    /// Returns the failure of an answer that ended in the middle.
    pub(crate) fn incomplete(&self) -> AttemptFailure {
        let what = format!("the answer of {} ended in the middle", self.endpoint.provider);
        AttemptFailure::new(FailureClass::Transient, what)
    }

    /// Returns the failure of an answer that the provider withholds for this reason.
    pub(crate) fn withheld(&self, why: &str) -> AttemptFailure {
        let why = self.endpoint.redact(why, 400);
        let what = format!("{} withholds the answer: {why}", self.endpoint.provider);
        AttemptFailure::new(FailureClass::Refused, what)
    }

    /// Returns the failure of an answer that the provider ended for this reason.
    pub(crate) fn broken_off(&self, why: &str) -> AttemptFailure {
        let why = self.endpoint.redact(why, 80);
        AttemptFailure::new(
            FailureClass::Transient,
            format!("the provider ended the answer: {why}"),
        )
    }

    /// Returns the failure of an error that came in the stream.
    pub(crate) fn error(&self, error: &Value) -> AttemptFailure {
        failure::in_stream(self.endpoint, error, self.now)
    }
}
