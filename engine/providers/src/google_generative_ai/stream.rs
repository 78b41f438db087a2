//! Reads the stream of a candidate: parts follow one another, and a call comes whole.

use engine::ports::{AttemptFailure, ModelAnswer, ModelEvent};
use protocol::Usage;
use serde_json::Value;

use crate::answer_parser::{AnswerParser, Flow, ParseContext};
use crate::blocks::{Blocks, Events, Full, Stop};
use crate::sse::Event;
use crate::usage::{HourWrites, UNPRICED, priced};

/// Reads one answer of the Generative Language API.
#[derive(Debug, Default)]
pub(crate) struct CandidateParser {
    blocks: Blocks,
    /// The last block if it may grow: a part with a signature is sent back as it came.
    growing: Option<usize>,
    stop: Option<Stop>,
    begun: bool,
}

impl AnswerParser for CandidateParser {
    fn push(
        &mut self,
        event: &Event,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<Flow, AttemptFailure> {
        let data = context.object(event)?;
        if let Some(error) = data.get("error").filter(|error| !error.is_null()) {
            return Err(context.error(error));
        }
        if !self.begun {
            self.begun = true;
            events.push_back(ModelEvent::Received(0));
        }
        events.extend(usage(data.get("usageMetadata"), context).map(ModelEvent::Used));
        if let Some(why) = data.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            return Err(context.withheld(why));
        }
        let mut candidates = data.get("candidates").and_then(Value::as_array).into_iter().flatten();
        let is_first = |it: &&Value| it.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        if let Some(candidate) = candidates.find(is_first) {
            if let Err(Full) = self.push_parts(candidate, events) {
                self.stop = Some(Stop::Truncated);
                return Ok(Flow::Ended);
            }
            if let Some(reason) = candidate.get("finishReason").and_then(Value::as_str) {
                self.stop = Some(stop(reason, candidate, context)?);
            }
        }
        Ok(if self.stop.is_some() { Flow::Finishing } else { Flow::More })
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

impl CandidateParser {
    fn push_parts(&mut self, candidate: &Value, events: &mut Events) -> Result<(), Full> {
        let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            let signature = part.get("thoughtSignature").and_then(Value::as_str);
            let signature = signature.unwrap_or_default();
            if let Some(call) = part.get("functionCall") {
                self.push_call(call, signature, events)?;
            } else if let Some(text) = part.get("text").and_then(Value::as_str) {
                let thought = part.get("thought").and_then(Value::as_bool).unwrap_or(false);
                if thought {
                    let block = self.grown(self.blocks.last_thinking(), signature);
                    let block = block.map_or_else(|| self.blocks.open_thinking(), Ok)?;
                    self.blocks.push_thinking(block, text, events)?;
                    self.sign(block, signature)?;
                } else {
                    let block = self.grown(self.blocks.last_text(), signature);
                    let block = block.map_or_else(|| self.blocks.open_text(), Ok)?;
                    self.blocks.push_text(block, text, events)?;
                    self.sign(block, signature)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the last block if the next part belongs to it. A part with a signature stays alone.
    fn grown(&self, last: Option<usize>, signature: &str) -> Option<usize> {
        last.filter(|last| self.growing == Some(*last) && signature.is_empty())
    }

    fn sign(&mut self, block: usize, signature: &str) -> Result<(), Full> {
        self.growing = signature.is_empty().then_some(block);
        self.blocks.sign(block, signature)
    }

    fn push_call(
        &mut self,
        call: &Value,
        signature: &str,
        events: &mut Events,
    ) -> Result<(), Full> {
        let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
        let block = self.blocks.open_call(text("id"), text("name"), events)?;
        let arguments = call.get("args").filter(|args| !args.is_null());
        let arguments = arguments.map_or_else(|| "{}".to_owned(), Value::to_string);
        self.blocks.push_arguments(block, &arguments, events)?;
        self.sign(block, signature)
    }
}

fn stop(
    reason: &str,
    candidate: &Value,
    context: &ParseContext<'_>,
) -> Result<Stop, AttemptFailure> {
    let message = candidate.get("finishMessage").and_then(Value::as_str).unwrap_or_default();
    let why = if message.is_empty() { reason.to_owned() } else { format!("{reason}: {message}") };
    match reason {
        "STOP" => Ok(Stop::Finished),
        "MAX_TOKENS" => Ok(Stop::Truncated),
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Err(context.withheld(&why)),
        // A call that could not be read among them: the model may do better.
        _ => Err(context.broken_off(&why)),
    }
}

fn usage(usage: Option<&Value>, context: &ParseContext<'_>) -> Option<Usage> {
    let usage = usage?;
    let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
    let read = count("promptTokenCount");
    let cached = count("cachedContentTokenCount").min(read);
    let usage = Usage {
        input: (read - cached).saturating_add(count("toolUsePromptTokenCount")),
        output: count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount")),
        cache_read: cached,
        cache_write: 0,
        ..UNPRICED
    };
    priced(usage, context.price, HourWrites(0))
}

#[cfg(test)]
mod tests;
