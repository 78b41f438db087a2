//! Puts an answer together from its chunks, whatever is in them, and within bounds.

use protocol::{FailureClass, Part, StopReason};
use serde_json::Value;

use super::calls::Calls;
use super::tokens::usage;
use crate::piece::{Piece, Trouble, Whole};
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
        pieces: &mut Vec<Piece>,
    ) -> Result<Room, Trouble> {
        let choice = chunk.get("choices").and_then(|choices| choices.get(0));
        let places = [
            chunk.get("usage"),
            choice.and_then(|choice| choice.get("usage")),
            chunk.get("x_groq").and_then(|extra| extra.get("usage")),
        ];
        let told = places.into_iter().flatten().find_map(|place| usage(place, price));
        pieces.extend(told.map(Piece::Used));
        let Some(choice) = choice else { return Ok(Room::Left) };
        if !self.begun {
            self.begun = true;
            // Before it says anything it has read what it was asked.
            pieces.push(Piece::Wrote(0));
        }
        let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
        if let Err(Full) = self.say(delta, pieces) {
            self.end = Some(End::Cut);
            return Ok(Room::Full);
        }
        self.finish(choice.get("finish_reason"))?;
        Ok(Room::Left)
    }

    fn say(&mut self, delta: &Value, pieces: &mut Vec<Piece>) -> Result<(), Full> {
        let thinking = ["reasoning_content", "reasoning", "reasoning_text"];
        let mut thinking = thinking.iter().filter_map(|field| delta.get(field)?.as_str());
        // Some servers send the same thoughts under two names.
        if let Some(thinking) = thinking.find(|text| !text.is_empty()) {
            self.think(thinking, pieces)?;
        }
        match delta.get("content") {
            Some(Value::String(text)) => self.speak(text, pieces)?,
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.part(part, pieces)?;
                }
            }
            _ => {}
        }
        if let Some(refusal) = delta.get("refusal").and_then(Value::as_str) {
            self.speak(refusal, pieces)?;
        }
        self.call(delta.get("tool_calls"), pieces)
    }

    /// Some providers send their content in parts.
    fn part(&mut self, part: &Value, pieces: &mut Vec<Piece>) -> Result<(), Full> {
        let text = part.get("text").and_then(Value::as_str);
        if let Some(text) = text {
            return self.speak(text, pieces);
        }
        for thought in part.get("thinking").and_then(Value::as_array).into_iter().flatten() {
            if let Some(text) = thought.get("text").and_then(Value::as_str) {
                self.think(text, pieces)?;
            }
        }
        Ok(())
    }

    fn speak(&mut self, text: &str, pieces: &mut Vec<Piece>) -> Result<(), Full> {
        let (text, room) = self.fit(text);
        if text.is_empty() {
            return room;
        }
        if let Some(Said::Text(before)) = self.said.last_mut() {
            before.push_str(text);
        } else {
            self.said.push(Said::Text(text.to_owned()));
        }
        pieces.push(Piece::Text(text.to_owned()));
        room
    }

    fn think(&mut self, text: &str, pieces: &mut Vec<Piece>) -> Result<(), Full> {
        let (text, room) = self.fit(text);
        if text.is_empty() {
            return room;
        }
        if let Some(Said::Thinking(before)) = self.said.last_mut() {
            before.push_str(text);
        } else {
            self.said.push(Said::Thinking(text.to_owned()));
        }
        pieces.push(Piece::Thinking(text.to_owned()));
        room
    }

    /// Returns as much of `text` as there is room for.
    fn fit<'a>(&mut self, text: &'a str) -> (&'a str, Result<(), Full>) {
        let left = MOST_BYTES.saturating_sub(self.size);
        let fits = &text[..text.floor_char_boundary(left)];
        self.size += fits.len();
        (fits, if fits.len() < text.len() { Err(Full) } else { Ok(()) })
    }

    fn call(&mut self, calls: Option<&Value>, pieces: &mut Vec<Piece>) -> Result<(), Full> {
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
            pieces.extend(taken.named.map(Piece::Calling));
            pieces.push(Piece::Wrote(taken.size));
            self.size += taken.size;
            if self.size > MOST_BYTES {
                return Err(Full);
            }
        }
        Ok(())
    }

    fn finish(&mut self, reason: Option<&Value>) -> Result<(), Trouble> {
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
                return Err(Trouble::new(FailureClass::Refused, what));
            }
            other => {
                let reason = crate::printable::printable(other, 80);
                let what = format!("the provider ended the answer: {reason}");
                return Err(Trouble::new(FailureClass::Transient, what));
            }
        });
        Ok(())
    }

    /// Returns the answer.
    pub(crate) fn into_whole(self) -> Whole {
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
        Whole { content, stop_reason }
    }
}

#[cfg(test)]
mod tests;
