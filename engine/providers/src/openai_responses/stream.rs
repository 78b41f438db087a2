//! Reads the stream of a response: items are added, grow and are done under their index.

use std::collections::BTreeMap;

use engine::ports::{AttemptFailure, ModelAnswer, ModelEvent};
use protocol::Usage;
use serde_json::Value;

use crate::answer_parser::{AnswerParser, Flow, ParseContext};
use crate::blocks::{Blocks, Events, Rejected, Stop};
use crate::sse::Event;
use crate::usage::{HourWrites, UNPRICED, priced};

/// The maximum number of items that are added and not done. The API sends one after another.
const MAX_OPEN: usize = 256;

/// Reads one answer of the Responses API.
#[derive(Debug, Default)]
pub(crate) struct ResponseParser {
    blocks: Blocks,
    /// The items that are added and not done, by their index in the response.
    open: BTreeMap<u64, Item>,
    stop: Option<Stop>,
    begun: bool,
    ended: bool,
}

#[derive(Clone, Copy, Debug)]
enum Item {
    Message(usize),
    Reasoning(usize),
    Call(usize),
    /// An item that is not part of the answer.
    Other,
}

impl AnswerParser for ResponseParser {
    fn push(
        &mut self,
        event: &Event,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<Flow, AttemptFailure> {
        // Some servers end every stream like Chat Completions.
        if event.data.trim() == "[DONE]" {
            return Err(context.incomplete());
        }
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

impl ResponseParser {
    fn push_data(
        &mut self,
        data: &Value,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<(), Rejected> {
        let kind = data.get("type").and_then(Value::as_str).unwrap_or_default();
        if !self.begun && kind.starts_with("response.") {
            self.begun = true;
            events.push_back(ModelEvent::Received(0));
        }
        let delta = || data.get("delta").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "error" => {
                let error = data.get("error").filter(|error| error.is_object()).unwrap_or(data);
                Err(context.error(error).into())
            }
            "response.output_item.added" => self.add(data, context, events),
            "response.output_item.done" => self.close(data, context, events),
            "response.output_text.delta" | "response.refusal.delta" => {
                match self.item(data, context)? {
                    Item::Message(at) => Ok(self.blocks.push_text(at, delta(), events)?),
                    other => misplaced(other, context),
                }
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                match self.item(data, context)? {
                    Item::Reasoning(at) => Ok(self.blocks.push_thinking(at, delta(), events)?),
                    other => misplaced(other, context),
                }
            }
            "response.reasoning_summary_part.added" => match self.item(data, context)? {
                Item::Reasoning(at) if !self.blocks.text(at).is_empty() => {
                    Ok(self.blocks.push_thinking(at, "\n\n", events)?)
                }
                Item::Reasoning(_) => Ok(()),
                other => misplaced(other, context),
            },
            "response.function_call_arguments.delta" => match self.item(data, context)? {
                Item::Call(at) => Ok(self.blocks.push_arguments(at, delta(), events)?),
                other => misplaced(other, context),
            },
            "response.completed" | "response.incomplete" | "response.failed" => {
                let response = data.get("response").unwrap_or(&Value::Null);
                self.end(kind, response, context, events)
            }
            // What is repeated by other events, and what the API may add.
            _ => Ok(()),
        }
    }

    /// Returns the item that an event belongs to.
    fn item(&self, data: &Value, context: &ParseContext<'_>) -> Result<Item, AttemptFailure> {
        let item = data.get("output_index").and_then(Value::as_u64);
        let item = item.and_then(|index| self.open.get(&index)).copied();
        item.ok_or_else(|| context.corrupt("an item grows that was not added"))
    }

    fn add(
        &mut self,
        data: &Value,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<(), Rejected> {
        let item = data.get("item").unwrap_or(&Value::Null);
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        let added = match text("type") {
            "message" => Item::Message(self.blocks.open_text()?),
            "reasoning" => Item::Reasoning(self.blocks.open_thinking()?),
            "function_call" => {
                let id = match (text("call_id"), text("id")) {
                    (call, "") => call.to_owned(),
                    (call, item) => format!("{call}|{item}"),
                };
                Item::Call(self.blocks.open_call(&id, text("name"), events)?)
            }
            _ => Item::Other,
        };
        let index = data.get("output_index").and_then(Value::as_u64);
        let index = index.ok_or_else(|| context.corrupt("an item has no index"))?;
        match self.open.insert(index, added) {
            None if self.open.len() > MAX_OPEN => Err(Rejected::Full),
            None => Ok(()),
            Some(_) => Err(context.corrupt("an item is added twice").into()),
        }
    }

    /// Handles an item that is done. It has all of its content once more, so that a part that was
    /// lost is noticed.
    fn close(
        &mut self,
        data: &Value,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<(), Rejected> {
        let open = self.item(data, context)?;
        let index = data.get("output_index").and_then(Value::as_u64).unwrap_or_default();
        self.open.remove(&index);
        let item = data.get("item").unwrap_or(&Value::Null);
        match open {
            Item::Other => Ok(()),
            Item::Message(at) => {
                let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
                let text = |part: &Value| {
                    let text = part.get("text").or_else(|| part.get("refusal"))?;
                    text.as_str().map(str::to_owned)
                };
                let whole: String = parts.filter_map(text).collect();
                if self.blocks.text(at).is_empty() {
                    self.blocks.push_text(at, &whole, events)?;
                } else if self.blocks.text(at) != whole {
                    return Err(context.corrupt("a text is not what was streamed of it").into());
                }
                let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
                Ok(self.blocks.sign(at, id)?)
            }
            Item::Call(at) => {
                let whole = item.get("arguments").and_then(Value::as_str).unwrap_or_default();
                if self.blocks.text(at).is_empty() {
                    self.blocks.push_arguments(at, whole, events)?;
                } else if self.blocks.text(at) != whole {
                    return Err(context.corrupt("arguments are not what was streamed").into());
                }
                Ok(())
            }
            Item::Reasoning(at) => {
                let encrypted = item.get("encrypted_content").and_then(Value::as_str);
                // Without its encrypted content the provider does not know the item again.
                if encrypted.is_some_and(|content| !content.is_empty()) {
                    self.blocks.sign(at, &item.to_string())?;
                }
                Ok(())
            }
        }
    }

    fn end(
        &mut self,
        kind: &str,
        response: &Value,
        context: &ParseContext<'_>,
        events: &mut Events,
    ) -> Result<(), Rejected> {
        events.extend(usage(response.get("usage"), context).map(ModelEvent::Used));
        let why = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
        self.stop = Some(match (kind, why) {
            ("response.failed", _) => {
                let error = response.get("error").unwrap_or(&Value::Null);
                return Err(context.error(error).into());
            }
            ("response.incomplete", Some("content_filter")) => {
                return Err(context.withheld("content_filter").into());
            }
            ("response.incomplete", _) => Stop::Truncated,
            // What is open was not had whole.
            _ if !self.open.is_empty() => return Err(context.incomplete().into()),
            _ => Stop::Finished,
        });
        self.ended = true;
        Ok(())
    }
}

/// Handles an event that grows another kind of item than it belongs to.
fn misplaced(item: Item, context: &ParseContext<'_>) -> Result<(), Rejected> {
    match item {
        Item::Other => Ok(()),
        Item::Message(_) | Item::Reasoning(_) | Item::Call(_) => {
            Err(context.corrupt("an item grows by what it cannot hold").into())
        }
    }
}

fn usage(usage: Option<&Value>, context: &ParseContext<'_>) -> Option<Usage> {
    let usage = usage?;
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let read = count("/input_tokens");
    let cached = count("/input_tokens_details/cached_tokens").min(read);
    let usage = Usage {
        input: read - cached,
        output: count("/output_tokens"),
        cache_read: cached,
        cache_write: 0,
        ..UNPRICED
    };
    priced(usage, context.price, HourWrites(0))
}

#[cfg(test)]
mod tests;
