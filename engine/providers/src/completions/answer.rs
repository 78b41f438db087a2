//! Puts an answer together from its chunks, whatever is in them, and within bounds.

use std::collections::VecDeque;

use engine::ports::{AttemptFailure, ModelAnswer, ModelEvent};
use protocol::{FailureClass, Part, StopReason};
use serde_json::Value;

use super::calls::Calls;
use super::tokens::usage;
use crate::price::Price;

/// The most bytes of one answer: text, thinking and arguments together.
pub(crate) const MOST_BYTES: usize = 2 << 20;

/// The most calls of one answer.
pub(crate) const MOST_CALLS: usize = 128;

/// An answer of which some has come.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    said: Vec<Said>,
    calls: Calls,
    end: Option<End>,
    size: usize,
    /// Whether the model has begun to answer at all.
    begun: bool,
}

#[derive(Debug)]
enum Said {
    Text(String),
    Thinking(String),
    Call(usize),
}

/// How the model says that it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Said,
    Cut,
}

/// Whether there is room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Left,
    Full,
}

/// There is no room for more.
#[derive(Debug)]
struct Full;

impl Answer {
    /// Returns whether the model has said that it has ended.
    pub(crate) fn is_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Returns whether the model has begun to answer.
    pub(crate) fn is_begun(&self) -> bool {
        self.begun
    }

    /// Takes a chunk, or a whole completion, and adds what there is to tell of it.
    pub(crate) fn take(
        &mut self,
        chunk: &Value,
        price: Option<&Price>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<Room, AttemptFailure> {
        let choice = chunk.get("choices").and_then(|choices| choices.get(0));
        let places = [
            chunk.get("usage"),
            choice.and_then(|choice| choice.get("usage")),
            chunk.get("x_groq").and_then(|extra| extra.get("usage")),
        ];
        let told = places.into_iter().flatten().find_map(|place| usage(place, price));
        events.extend(told.map(ModelEvent::Used));
        let Some(choice) = choice else { return Ok(Room::Left) };
        if !self.begun {
            self.begun = true;
            // Before it says anything it has read what it was asked.
            events.push_back(ModelEvent::Received(0));
        }
        let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
        if let Err(Full) = self.say(delta, events) {
            self.end = Some(End::Cut);
            return Ok(Room::Full);
        }
        self.finish(choice.get("finish_reason"))?;
        Ok(Room::Left)
    }

    fn say(&mut self, delta: &Value, events: &mut VecDeque<ModelEvent>) -> Result<(), Full> {
        let thinking = ["reasoning_content", "reasoning", "reasoning_text"];
        let mut thinking = thinking.iter().filter_map(|field| delta.get(field)?.as_str());
        // Some servers send the same thoughts under two names.
        if let Some(thinking) = thinking.find(|text| !text.is_empty()) {
            self.think(thinking, events)?;
        }
        match delta.get("content") {
            Some(Value::String(text)) => self.speak(text, events)?,
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.part(part, events)?;
                }
            }
            _ => {}
        }
        if let Some(refusal) = delta.get("refusal").and_then(Value::as_str) {
            self.speak(refusal, events)?;
        }
        self.call(delta.get("tool_calls"), events)
    }

    /// Some providers send their content in parts.
    fn part(&mut self, part: &Value, events: &mut VecDeque<ModelEvent>) -> Result<(), Full> {
        let text = part.get("text").and_then(Value::as_str);
        if let Some(text) = text {
            return self.speak(text, events);
        }
        for thought in part.get("thinking").and_then(Value::as_array).into_iter().flatten() {
            if let Some(text) = thought.get("text").and_then(Value::as_str) {
                self.think(text, events)?;
            }
        }
        Ok(())
    }

    fn speak(&mut self, text: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), Full> {
        let (text, room) = self.fit(text);
        if text.is_empty() {
            return room;
        }
        if let Some(Said::Text(before)) = self.said.last_mut() {
            before.push_str(text);
        } else {
            self.said.push(Said::Text(text.to_owned()));
        }
        events.push_back(ModelEvent::Text(text.to_owned()));
        room
    }

    fn think(&mut self, text: &str, events: &mut VecDeque<ModelEvent>) -> Result<(), Full> {
        let (text, room) = self.fit(text);
        if text.is_empty() {
            return room;
        }
        if let Some(Said::Thinking(before)) = self.said.last_mut() {
            before.push_str(text);
        } else {
            self.said.push(Said::Thinking(text.to_owned()));
        }
        events.push_back(ModelEvent::Thinking(text.to_owned()));
        room
    }

    /// Returns as much of `text` as there is room for.
    fn fit<'a>(&mut self, text: &'a str) -> (&'a str, Result<(), Full>) {
        let left = MOST_BYTES.saturating_sub(self.size);
        let fits = &text[..text.floor_char_boundary(left)];
        self.size += fits.len();
        (fits, if fits.len() < text.len() { Err(Full) } else { Ok(()) })
    }

    fn call(
        &mut self,
        calls: Option<&Value>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), Full> {
        for piece in calls.and_then(Value::as_array).into_iter().flatten() {
            let count = self.calls.len();
            let Some(taken) = self.calls.take(piece) else { continue };
            if self.calls.len() > MOST_CALLS {
                self.calls.truncate(MOST_CALLS);
                return Err(Full);
            }
            if self.calls.len() > count {
                self.said.push(Said::Call(taken.at));
            }
            events.extend(taken.named.map(ModelEvent::Calling));
            events.push_back(ModelEvent::Received(taken.size));
            self.size += taken.size;
            if self.size > MOST_BYTES {
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
        self.end = Some(match reason {
            "stop" | "end" | "eos" | "end_turn" | "stop_sequence" | "tool_calls"
            | "function_call" | "tool_use" => End::Said,
            "length" | "max_tokens" | "model_length" => End::Cut,
            "content_filter" | "refusal" | "safety" => {
                let what = "the provider's content filter stopped the answer";
                return Err(AttemptFailure::new(FailureClass::Refused, what));
            }
            other => {
                let reason = crate::printable::printable(other, 80);
                let what = format!("the provider ended the answer: {reason}");
                return Err(AttemptFailure::new(FailureClass::Transient, what));
            }
        });
        Ok(())
    }

    /// Returns the answer.
    pub(crate) fn into_answer(self) -> ModelAnswer {
        let mut calls: Vec<_> = self.calls.into_calls().into_iter().map(Some).collect();
        let mut content = Vec::with_capacity(self.said.len());
        for said in self.said {
            match said {
                Said::Text(text) => content.push(Part::Text { text }),
                Said::Thinking(thinking) => content.push(Part::Thinking { thinking }),
                Said::Call(at) => {
                    let call = calls.get_mut(at).and_then(Option::take);
                    content.extend(call.map(Part::ToolCall));
                }
            }
        }
        let calling = content.iter().any(|part| matches!(part, Part::ToolCall(_)));
        let stop_reason = match self.end {
            Some(End::Cut) => StopReason::Length,
            // Not every provider tells the one from the other.
            Some(End::Said) | None if calling => StopReason::ToolUse,
            Some(End::Said) | None => StopReason::Stop,
        };
        ModelAnswer { content, stop_reason }
    }
}

#[cfg(test)]
mod tests;
