//! Reads the chunks of a Chat Completions stream, whose shape differs between servers.

use engine::ports::{AttemptFailure, ModelAnswer, ModelEvent};
use protocol::FailureClass;
use serde_json::Value;

use super::text_cleanup::{CleanText, TextCleanup};
use super::thinking_fields::FIELDS;
use super::tool_calls::ToolCalls;
use crate::answer_parser::{AnswerParser, Flow, ParseContext};
use crate::blocks::{Blocks, Events, Full, Stop};
use crate::sse::Event;
use crate::usage::parse_usage;

/// Reads one answer of Chat Completions.
#[derive(Debug, Default)]
pub(crate) struct CompletionParser {
    blocks: Blocks,
    calls: ToolCalls,
    stop: Option<Stop>,
    cleanup: TextCleanup,
    /// Whether the model has begun to answer.
    begun: bool,
}

impl AnswerParser for CompletionParser {
    fn push(
        &mut self,
        event: &Event,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<Flow, AttemptFailure> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return self.done(context, events);
        }
        let Ok(chunk) = serde_json::from_str::<Value>(data) else {
            // A chunk that cannot be parsed is missing from the answer; other data is ignored.
            let missing = data.starts_with('{');
            return if missing { Err(context.incomplete()) } else { Ok(Flow::More) };
        };
        let error = chunk.get("error").filter(|error| !error.is_null());
        let error = error.or_else(|| (event.name == "error").then_some(&chunk));
        match error {
            Some(error) => Err(context.error(error)),
            None => self.push_chunk(&chunk, context, events),
        }
    }

    fn push_document(
        &mut self,
        document: &Value,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<Option<Flow>, AttemptFailure> {
        let flow = self.push_chunk(document, context, events)?;
        Ok(self.begun.then_some(flow))
    }

    fn is_begun(&self) -> bool {
        self.begun
    }

    fn is_ended(&self) -> bool {
        self.stop.is_some()
    }

    fn take_answer(&mut self) -> ModelAnswer {
        std::mem::take(&mut self.blocks).into_answer(self.stop.unwrap_or(Stop::Finished))
    }
}

impl CompletionParser {
    /// Handles the end of a stream. Some servers send no finish reason before it.
    fn done(
        &mut self,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<Flow, AttemptFailure> {
        if self.begun {
            if let Err(Full) = self.push_rest(events) {
                self.stop = Some(Stop::Truncated);
            }
            return Ok(Flow::Ended);
        }
        let what = format!("{} answered with nothing", context.endpoint.provider);
        Err(AttemptFailure::new(FailureClass::Transient, what))
    }

    /// Handles a chunk, or a whole completion.
    fn push_chunk(
        &mut self,
        chunk: &Value,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<Flow, AttemptFailure> {
        let choice = chunk.get("choices").and_then(|choices| choices.get(0));
        let places = [
            chunk.get("usage"),
            choice.and_then(|choice| choice.get("usage")),
            chunk.get("x_groq").and_then(|extra| extra.get("usage")),
        ];
        let used = places.into_iter().flatten().find_map(|place| parse_usage(place, context.price));
        events.extend(used.map(ModelEvent::Used));
        let Some(choice) = choice else { return Ok(self.flow()) };
        if !self.begun {
            self.begun = true;
            self.cleanup = TextCleanup::of(context.endpoint);
            // `Received(0)` means that the model has started to answer.
            events.push_back(ModelEvent::Received(0));
        }
        let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
        let reason = choice.get("finish_reason").and_then(Value::as_str);
        let reason = reason.filter(|reason| !reason.is_empty());
        let pushed = self.push_delta(delta, events);
        let pushed = pushed.and_then(|()| match reason {
            Some(_) => self.push_rest(events),
            None => Ok(()),
        });
        if let Err(Full) = pushed {
            self.stop = Some(Stop::Truncated);
            return Ok(Flow::Ended);
        }
        self.finish(reason, context)?;
        Ok(self.flow())
    }

    fn flow(&self) -> Flow {
        if self.stop.is_some() { Flow::Finishing } else { Flow::More }
    }

    fn push_delta(&mut self, delta: &Value, events: &mut Events) -> Result<(), Full> {
        let mut thinking =
            FIELDS.into_iter().filter_map(|field| Some((field, delta.get(field)?.as_str()?)));
        // Some servers send the same thinking under two names.
        if let Some((field, thinking)) = thinking.find(|(_, text)| !text.is_empty()) {
            let is_new = self.blocks.last_thinking().is_none();
            self.push_thinking(thinking, events)?;
            // The name of the field is the signature, as in the session logs of other programs.
            if is_new && let Some(block) = self.blocks.last_thinking() {
                self.blocks.sign(block, field)?;
            }
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
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        if calls.is_some_and(|calls| !calls.is_empty()) {
            self.push_rest(events)?;
        }
        for fragment in calls.into_iter().flatten() {
            self.calls.push(fragment, &mut self.blocks, events)?;
        }
        Ok(())
    }

    /// Adds one part of the content. Some providers send the content as a list of parts.
    fn push_part(&mut self, part: &Value, events: &mut Events) -> Result<(), Full> {
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

    fn push_text(&mut self, text: &str, events: &mut Events) -> Result<(), Full> {
        if text.is_empty() {
            return Ok(());
        }
        if self.cleanup.is_over() {
            return self.push_plain(text, events);
        }
        let pieces = self.cleanup.push(text);
        pieces.into_iter().try_for_each(|piece| self.push_piece(&piece, events))
    }

    /// Adds what is left of the text, because something else follows.
    fn push_rest(&mut self, events: &mut Events) -> Result<(), Full> {
        self.cleanup.finish().map_or(Ok(()), |piece| self.push_piece(&piece, events))
    }

    fn push_piece(&mut self, piece: &CleanText, events: &mut Events) -> Result<(), Full> {
        match piece {
            CleanText::Text(text) => self.push_plain(text, events),
            CleanText::Thinking(thinking) => self.push_thinking(thinking, events),
        }
    }

    fn push_plain(&mut self, text: &str, events: &mut Events) -> Result<(), Full> {
        let block = match self.blocks.last_text() {
            Some(block) => block,
            None => self.blocks.open_text()?,
        };
        self.blocks.push_text(block, text, events)
    }

    fn push_thinking(&mut self, text: &str, events: &mut Events) -> Result<(), Full> {
        let block = match self.blocks.last_thinking() {
            Some(block) => block,
            None => self.blocks.open_thinking()?,
        };
        self.blocks.push_thinking(block, text, events)
    }

    fn finish(
        &mut self,
        reason: Option<&str>,
        context: &ParseContext<'_>,
    ) -> Result<(), AttemptFailure> {
        let Some(reason) = reason else { return Ok(()) };
        self.stop = Some(match reason {
            "stop" | "end" | "eos" | "end_turn" | "stop_sequence" | "tool_calls"
            | "function_call" | "tool_use" => Stop::Finished,
            "length" | "max_tokens" | "model_length" => Stop::Truncated,
            "content_filter" | "refusal" | "safety" => {
                let what = "the provider's content filter stopped the answer";
                return Err(AttemptFailure::new(FailureClass::Refused, what));
            }
            other => return Err(context.broken_off(other)),
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
