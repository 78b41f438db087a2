//! Reads the stream of a message: each block starts, grows and stops under its index.

use std::collections::BTreeMap;

use engine::ports::{AttemptFailure, ModelAnswer, ModelEvent};
use protocol::Usage;
use serde_json::Value;

use crate::answer_parser::{AnswerParser, Flow, ParseContext};
use crate::blocks::{Blocks, Events, Rejected, Stop};
use crate::sse::Event;
use crate::usage::{HourWrites, UNPRICED, priced};

/// The maximum number of blocks that have started and not stopped. The API sends one after another.
const MAX_OPEN: usize = 128;

/// Reads one answer of the Messages API.
#[derive(Debug, Default)]
pub(crate) struct MessageParser {
    blocks: Blocks,
    /// The blocks that have started and not stopped, by their index in the stream.
    open: BTreeMap<u64, OpenBlock>,
    usage: Counts,
    stop: Option<Stop>,
    begun: bool,
    ended: bool,
}

#[derive(Debug)]
enum OpenBlock {
    Text(usize),
    Thinking(usize),
    /// A call, and the arguments that came with its start.
    Call(usize, String),
    /// A use of a tool of the provider, or its result.
    ServerTool(usize),
    /// A block that is not part of the answer.
    Other,
}

/// The tokens that the provider has counted so far.
#[derive(Debug, Default)]
struct Counts {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    /// How many of `cache_write` are kept for an hour.
    hour_writes: Option<u64>,
}

impl AnswerParser for MessageParser {
    fn push(
        &mut self,
        event: &Event,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<Flow, AttemptFailure> {
        let data = context.object(event)?;
        match self.push_data(&data, context, events) {
            Ok(()) if self.ended => Ok(Flow::Ended),
            Ok(()) => Ok(Flow::More),
            Err(Rejected::Full) => {
                self.stop = Some(Stop::Truncated);
                self.ended = true;
                Ok(Flow::Ended)
            }
            Err(Rejected::Failed(failed)) => Err(failed),
        }
    }

    fn is_begun(&self) -> bool {
        self.begun
    }

    fn is_ended(&self) -> bool {
        self.ended
    }

    fn take_answer(&mut self) -> ModelAnswer {
        std::mem::take(&mut self.blocks).into_answer(self.stop.unwrap_or(Stop::Finished))
    }
}

impl MessageParser {
    fn push_data(
        &mut self,
        data: &Value,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<(), Rejected> {
        let kind = data.get("type").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "error" => return Err(context.error(data.get("error").unwrap_or(data)).into()),
            "message_start" if self.begun => return Err(context.corrupt("two messages").into()),
            "message_start" => {
                self.begun = true;
                events.push_back(ModelEvent::Received(0));
                self.count(data.pointer("/message/usage"), context, events);
            }
            // What else there is comes between the start and the end of a message.
            "ping" => {}
            _ if !self.begun => return Err(context.corrupt("no message has started").into()),
            "content_block_start" => self.start(data, context, events)?,
            "content_block_delta" => self.grow(data, context, events)?,
            "content_block_stop" => self.close(data, context, events)?,
            "message_delta" => {
                self.count(data.get("usage"), context, events);
                let reason = data.pointer("/delta/stop_reason").and_then(Value::as_str);
                if let Some(reason) = reason {
                    self.stop = Some(stop(reason, context)?);
                }
            }
            "message_stop" if self.stop.is_none() || !self.open.is_empty() => {
                return Err(context.incomplete().into());
            }
            "message_stop" => self.ended = true,
            // The API may add further events.
            _ => {}
        }
        Ok(())
    }

    fn start(
        &mut self,
        data: &Value,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<(), Rejected> {
        let index = index(data, context)?;
        let block = data.get("content_block").unwrap_or(&Value::Null);
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        let opened = match text("type") {
            "text" => {
                let at = self.blocks.open_text()?;
                self.blocks.push_text(at, text("text"), events)?;
                OpenBlock::Text(at)
            }
            "thinking" => {
                let at = self.blocks.open_thinking()?;
                self.blocks.push_thinking(at, text("thinking"), events)?;
                self.blocks.sign(at, text("signature"))?;
                OpenBlock::Thinking(at)
            }
            "redacted_thinking" => {
                self.blocks.push_redacted(text("data"), events)?;
                OpenBlock::Other
            }
            "tool_use" => {
                let at = self.blocks.open_call(text("id"), text("name"), events)?;
                let given = block.get("input").and_then(Value::as_object);
                let given = given.filter(|given| !given.is_empty());
                let given = given.map(|given| Value::Object(given.clone()).to_string());
                OpenBlock::Call(at, given.unwrap_or_default())
            }
            kind => match block.as_object() {
                Some(block) if is_of_server_tool(kind) => {
                    OpenBlock::ServerTool(self.blocks.open_server_tool(block, events)?)
                }
                Some(_) | None => OpenBlock::Other,
            },
        };
        match self.open.insert(index, opened) {
            None if self.open.len() > MAX_OPEN => Err(Rejected::Full),
            None => Ok(()),
            Some(_) => Err(context.corrupt("a block starts twice").into()),
        }
    }

    fn grow(
        &mut self,
        data: &Value,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<(), Rejected> {
        let Some(open) = self.open.get(&index(data, context)?) else {
            return Err(context.corrupt("a block grows that has not started").into());
        };
        let delta = data.get("delta").unwrap_or(&Value::Null);
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        let blocks = &mut self.blocks;
        match (text("type"), open) {
            ("text_delta", OpenBlock::Text(at)) => blocks.push_text(*at, text("text"), events)?,
            ("thinking_delta", OpenBlock::Thinking(at)) => {
                blocks.push_thinking(*at, text("thinking"), events)?;
            }
            ("signature_delta", OpenBlock::Thinking(at)) => blocks.sign(*at, text("signature"))?,
            ("input_json_delta", OpenBlock::Call(at, _)) => {
                blocks.push_arguments(*at, text("partial_json"), events)?;
            }
            ("input_json_delta", OpenBlock::ServerTool(at)) => {
                blocks.push_input(*at, text("partial_json"), events)?;
            }
            (
                "text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta",
                OpenBlock::Text(_) | OpenBlock::Thinking(_) | OpenBlock::Call(..),
            ) => return Err(context.corrupt("a block grows by what it cannot hold").into()),
            // Citations and what else the API may add.
            _ => {}
        }
        Ok(())
    }

    fn close(
        &mut self,
        data: &Value,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<(), Rejected> {
        match self.open.remove(&index(data, context)?) {
            None => Err(context.corrupt("a block stops that has not started").into()),
            Some(OpenBlock::Call(at, given)) if self.blocks.text(at).is_empty() => {
                Ok(self.blocks.push_arguments(at, &given, events)?)
            }
            Some(_) => Ok(()),
        }
    }

    /// Takes the counts of `usage`, which are those of the whole answer so far.
    fn count(&mut self, usage: Option<&Value>, context: &ParseContext<'_>, events: &mut Events) {
        let count = |key: &str| usage.and_then(|usage| usage.get(key)?.as_u64());
        let counts = &mut self.usage;
        counts.input = count("input_tokens").or(counts.input);
        counts.output = count("output_tokens").or(counts.output);
        counts.cache_read = count("cache_read_input_tokens").or(counts.cache_read);
        counts.cache_write = count("cache_creation_input_tokens").or(counts.cache_write);
        let hour = usage.and_then(|it| it.pointer("/cache_creation/ephemeral_1h_input_tokens"));
        counts.hour_writes = hour.and_then(Value::as_u64).or(counts.hour_writes);
        if counts.input.is_none() && counts.output.is_none() {
            return;
        }
        let usage = Usage {
            input: counts.input.unwrap_or(0),
            output: counts.output.unwrap_or(0),
            cache_read: counts.cache_read.unwrap_or(0),
            cache_write: counts.cache_write.unwrap_or(0),
            ..UNPRICED
        };
        let hour = HourWrites(counts.hour_writes.unwrap_or(0));
        events.extend(priced(usage, context.price, hour).map(ModelEvent::Used));
    }
}

fn index(data: &Value, context: &ParseContext<'_>) -> Result<u64, AttemptFailure> {
    let index = data.get("index").and_then(Value::as_u64);
    index.ok_or_else(|| context.corrupt("a block has no index"))
}

/// Returns whether a block is of a tool that the provider runs itself: of `server_tool_use`,
/// `web_search_tool_result`, `mcp_tool_use` and the like.
fn is_of_server_tool(kind: &str) -> bool {
    kind.ends_with("_tool_use") || kind.ends_with("_tool_result")
}

fn stop(reason: &str, context: &ParseContext<'_>) -> Result<Stop, AttemptFailure> {
    match reason {
        "end_turn" | "stop_sequence" | "tool_use" => Ok(Stop::Finished),
        "pause_turn" => Ok(Stop::Paused),
        "max_tokens" | "model_context_window_exceeded" => Ok(Stop::Truncated),
        "refusal" | "sensitive" => Err(context.withheld(reason)),
        other => Err(context.broken_off(other)),
    }
}

#[cfg(test)]
mod tests;
