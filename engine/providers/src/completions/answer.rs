//! Assembles an answer from the chunks of a stream, whose shape differs between providers. The size
//! of an answer is bounded.

use std::collections::VecDeque;

use engine::ports::{AttemptFailure, ModelAnswer, ModelEvent};
use protocol::{FailureClass, Part, StopReason};
use serde_json::Value;

use super::tool_calls::ToolCallBuilder;
use crate::printable::printable;
use crate::usage::{Price, parse_usage};

/// The maximum size of one answer in bytes: text, thinking and arguments together.
pub(crate) const MAX_ANSWER_BYTES: usize = 2 << 20;

/// The maximum number of tool calls in one answer.
pub(crate) const MAX_CALLS: usize = 128;

/// Collects the parts of an answer as they arrive.
#[derive(Debug, Default)]
pub(crate) struct AnswerBuilder {
    parts: Vec<AnswerPart>,
    calls: ToolCallBuilder,
    stop: Option<Stop>,
    size: usize,
    /// Whether the model has begun to answer.
    begun: bool,
}

#[derive(Debug)]
enum AnswerPart {
    Text(String),
    Thinking(String),
    Call(usize),
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Finished,
    Truncated,
}

/// Whether the answer may still grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capacity {
    Left,
    Full,
}

/// The error for an answer that has reached its maximum size.
#[derive(Debug)]
struct Full;

impl AnswerBuilder {
    /// Returns whether the model has sent a finish reason.
    pub(crate) fn is_ended(&self) -> bool {
        self.stop.is_some()
    }

    /// Returns whether the model has begun to answer.
    pub(crate) fn is_begun(&self) -> bool {
        self.begun
    }

    /// Adds a chunk, or a whole completion, and appends the events that it causes.
    pub(crate) fn push(
        &mut self,
        chunk: &Value,
        price: Option<&Price>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<Capacity, AttemptFailure> {
        let choice = chunk.get("choices").and_then(|choices| choices.get(0));
        let places = [
            chunk.get("usage"),
            choice.and_then(|choice| choice.get("usage")),
            chunk.get("x_groq").and_then(|extra| extra.get("usage")),
        ];
        let used = places.into_iter().flatten().find_map(|place| parse_usage(place, price));
        events.extend(used.map(ModelEvent::Used));
        let Some(choice) = choice else { return Ok(Capacity::Left) };
        if !self.begun {
            self.begun = true;
            // `Received(0)` means that the model has started to answer.
            events.push_back(ModelEvent::Received(0));
        }
        let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
        if let Err(Full) = self.push_delta(delta, events) {
            self.stop = Some(Stop::Truncated);
            return Ok(Capacity::Full);
        }
        self.finish(choice.get("finish_reason"))?;
        Ok(Capacity::Left)
    }

    fn push_delta(&mut self, delta: &Value, events: &mut VecDeque<ModelEvent>) -> Result<(), Full> {
        let thinking = ["reasoning_content", "reasoning", "reasoning_text"];
        let mut thinking = thinking.iter().filter_map(|field| delta.get(field)?.as_str());
        // Some servers send the same thinking under two names.
        if let Some(thinking) = thinking.find(|text| !text.is_empty()) {
            self.push_thinking(thinking, events)?;
        }
        match delta.get("content") {
            Some(Value::String(text)) => self.push_text(text, events)?,
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.push_part(part, events)?;
                }
            }
            _ => {}
        }
        if let Some(refusal) = delta.get("refusal").and_then(Value::as_str) {
            self.push_text(refusal, events)?;
        }
        self.push_calls(delta.get("tool_calls"), events)
    }

    /// Adds one part of the content. Some providers send the content as a list of parts.
    fn push_part(&mut self, part: &Value, events: &mut VecDeque<ModelEvent>) -> Result<(), Full> {
        let text = part.get("text").and_then(Value::as_str);
        if let Some(text) = text {
            return self.push_text(text, events);
        }
        for thought in part.get("thinking").and_then(Value::as_array).into_iter().flatten() {
            if let Some(text) = thought.get("text").and_then(Value::as_str) {
                self.push_thinking(text, events)?;
            }
        }
        Ok(())
    }

    fn push_text(&mut self, text: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), Full> {
        let (text, room) = self.fit(text);
        if text.is_empty() {
            return room;
        }
        if let Some(AnswerPart::Text(before)) = self.parts.last_mut() {
            before.push_str(text);
        } else {
            self.parts.push(AnswerPart::Text(text.to_owned()));
        }
        events.push_back(ModelEvent::Text(text.to_owned()));
        room
    }

    fn push_thinking(&mut self, text: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), Full> {
        let (text, room) = self.fit(text);
        if text.is_empty() {
            return room;
        }
        if let Some(AnswerPart::Thinking(before)) = self.parts.last_mut() {
            before.push_str(text);
        } else {
            self.parts.push(AnswerPart::Thinking(text.to_owned()));
        }
        events.push_back(ModelEvent::Thinking(text.to_owned()));
        room
    }

    /// Returns the beginning of `text` that fits into the answer, and `Full` if that is not all.
    fn fit<'a>(&mut self, text: &'a str) -> (&'a str, Result<(), Full>) {
        let left = MAX_ANSWER_BYTES.saturating_sub(self.size);
        let fits = &text[..text.floor_char_boundary(left)];
        self.size += fits.len();
        (fits, if fits.len() < text.len() { Err(Full) } else { Ok(()) })
    }

    fn push_calls(
        &mut self,
        calls: Option<&Value>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), Full> {
        for fragment in calls.and_then(Value::as_array).into_iter().flatten() {
            let count = self.calls.len();
            let Some(taken) = self.calls.push(fragment) else { continue };
            if self.calls.len() > MAX_CALLS {
                self.calls.truncate(MAX_CALLS);
                return Err(Full);
            }
            if self.calls.len() > count {
                self.parts.push(AnswerPart::Call(taken.at));
            }
            events.extend(taken.named.map(ModelEvent::Calling));
            events.push_back(ModelEvent::Received(taken.size));
            self.size += taken.size;
            if self.size > MAX_ANSWER_BYTES {
                return Err(Full);
            }
        }
        Ok(())
    }

    fn finish(&mut self, reason: Option<&Value>) -> Result<(), AttemptFailure> {
        let Some(reason) = reason.and_then(Value::as_str).filter(|reason| !reason.is_empty())
        else {
            return Ok(());
        };
        self.stop = Some(match reason {
            "stop" | "end" | "eos" | "end_turn" | "stop_sequence" | "tool_calls"
            | "function_call" | "tool_use" => Stop::Finished,
            "length" | "max_tokens" | "model_length" => Stop::Truncated,
            "content_filter" | "refusal" | "safety" => {
                let what = "the provider's content filter stopped the answer";
                return Err(AttemptFailure::new(FailureClass::Refused, what));
            }
            other => {
                let reason = printable(other, 80);
                let what = format!("the provider ended the answer: {reason}");
                return Err(AttemptFailure::new(FailureClass::Transient, what));
            }
        });
        Ok(())
    }

    /// Returns the complete answer.
    pub(crate) fn into_answer(self) -> ModelAnswer {
        let mut calls: Vec<_> = self.calls.into_calls().into_iter().map(Some).collect();
        let mut content = Vec::with_capacity(self.parts.len());
        for part in self.parts {
            match part {
                AnswerPart::Text(text) => content.push(Part::Text { text }),
                AnswerPart::Thinking(thinking) => content.push(Part::Thinking { thinking }),
                AnswerPart::Call(at) => {
                    let call = calls.get_mut(at).and_then(Option::take);
                    content.extend(call.map(Part::ToolCall));
                }
            }
        }
        let has_calls = content.iter().any(|part| matches!(part, Part::ToolCall(_)));
        let stop_reason = match self.stop {
            Some(Stop::Truncated) => StopReason::Length,
            // Some providers report `stop` for an answer with calls.
            Some(Stop::Finished) | None if has_calls => StopReason::ToolUse,
            Some(Stop::Finished) | None => StopReason::Stop,
        };
        ModelAnswer { content, stop_reason }
    }
}

#[cfg(test)]
mod tests;
