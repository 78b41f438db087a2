//! Assembles an answer from the blocks of a stream: text, thinking and tool calls. The size of an
//! answer is bounded.

use std::collections::VecDeque;

use engine::ports::{AttemptFailure, ModelAnswer, ModelEvent};
use protocol::{Part, StopReason, ToolCall};
use serde_json::{Map, Value};

/// The maximum size of one answer in bytes: text, thinking, arguments and signatures together.
pub(crate) const MAX_ANSWER_BYTES: usize = 2 << 20;

/// The maximum number of tool calls in one answer.
pub(crate) const MAX_CALLS: usize = 128;

/// The maximum number of blocks in one answer.
const MAX_BLOCKS: usize = 1024;

/// The maximum number of bytes that are kept of a name or an id.
pub(crate) const MAX_NAME: usize = 256;

/// The maximum number of bytes of a signature. A longer one is dropped, because session logs
/// shorten long strings, and a signature that is not whole is none.
const MAX_SIGNATURE: usize = 256 << 10;

/// The maximum number of bytes that are kept of arguments that are not a JSON object.
const MAX_MALFORMED: usize = 64 << 10;

/// How deep arguments may be nested. Session logs wrap them in further objects, and JSON nested
/// deeper than 128 cannot be read again.
const MAX_DEPTH: usize = 100;

/// The events of an answer that are not yet returned.
pub(crate) type Events = VecDeque<ModelEvent>;

/// The error for an answer that has reached its maximum size. What fits is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// Why an event of a stream was not taken.
pub(crate) enum Rejected {
    /// The answer has reached its maximum size.
    Full,
    /// The stream is not an answer.
    Failed(AttemptFailure),
}

impl From<Full> for Rejected {
    fn from(_full: Full) -> Self {
        Self::Full
    }
}

impl From<AttemptFailure> for Rejected {
    fn from(failed: AttemptFailure) -> Self {
        Self::Failed(failed)
    }
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The answer is complete.
    Finished,
    /// The answer is paused, and goes on when the model is asked again.
    Paused,
    /// The answer reached a limit.
    Truncated,
}

/// The blocks of an answer. A block is known by its index, which is that of its part in the answer
/// unless a block before it stays empty.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    blocks: Vec<Block>,
    calls: usize,
    size: usize,
}

#[derive(Debug)]
struct Block {
    content: BlockContent,
    signature: Signature,
}

#[derive(Debug)]
enum BlockContent {
    Text(String),
    Thinking(String),
    Redacted(String),
    ServerTool { block: Map<String, Value>, input: String },
    Call { id: String, name: String, arguments: String },
}

#[derive(Debug, PartialEq, Eq)]
enum Signature {
    Text(String),
    TooLong,
}

impl Blocks {
    /// Starts a block of text and returns its index.
    pub(crate) fn open_text(&mut self) -> Result<usize, Full> {
        self.open(BlockContent::Text(String::new()))
    }

    /// Starts a block of thinking and returns its index.
    pub(crate) fn open_thinking(&mut self) -> Result<usize, Full> {
        self.open(BlockContent::Thinking(String::new()))
    }

    /// Adds a block of encrypted thinking.
    pub(crate) fn push_redacted(&mut self, data: &str, events: &mut Events) -> Result<(), Full> {
        if data.len() > MAX_SIGNATURE || self.size + data.len() > MAX_ANSWER_BYTES {
            return Err(Full);
        }
        self.size += data.len();
        events.push_back(ModelEvent::Received(data.len()));
        self.open(BlockContent::Redacted(data.to_owned())).map(drop)
    }

    /// Starts a block of a tool that the provider runs itself, and returns its index.
    pub(crate) fn open_server_tool(
        &mut self,
        block: &Map<String, Value>,
        events: &mut Events,
    ) -> Result<usize, Full> {
        let size = Value::Object(block.clone()).to_string().len();
        if size > MAX_SIGNATURE || self.size + size > MAX_ANSWER_BYTES {
            return Err(Full);
        }
        self.size += size;
        events.push_back(ModelEvent::Received(size));
        self.open(BlockContent::ServerTool { block: block.clone(), input: String::new() })
    }

    /// Appends to the input of a block of such a tool.
    pub(crate) fn push_input(
        &mut self,
        block: usize,
        more: &str,
        events: &mut Events,
    ) -> Result<(), Full> {
        let (more, room) = self.fit(more);
        if let Some(BlockContent::ServerTool { input, .. }) = self.content(block) {
            input.push_str(more);
            events.push_back(ModelEvent::Received(more.len()));
        }
        room
    }

    /// Starts a tool call and returns its index. The id and the name may be empty.
    pub(crate) fn open_call(
        &mut self,
        id: &str,
        name: &str,
        events: &mut Events,
    ) -> Result<usize, Full> {
        if self.calls >= MAX_CALLS {
            return Err(Full);
        }
        let (id, arguments) = (cut(id, MAX_NAME).to_owned(), String::new());
        let block = self.open(BlockContent::Call { id, name: String::new(), arguments })?;
        self.calls += 1;
        self.name_call(block, "", name, events);
        Ok(block)
    }

    /// Gives a call the id and the name that it does not have yet.
    pub(crate) fn name_call(&mut self, block: usize, id: &str, name: &str, events: &mut Events) {
        let Some(BlockContent::Call { id: own, name: tool, .. }) = self.content(block) else {
            return;
        };
        if own.is_empty() {
            cut(id, MAX_NAME).clone_into(own);
        }
        if tool.is_empty() && !name.is_empty() {
            cut(name, MAX_NAME).clone_into(tool);
            let (id, tool) = (own.clone(), tool.clone());
            events.push_back(ModelEvent::Calling { block, id, tool });
        }
    }

    /// Appends text to a block of text.
    pub(crate) fn push_text(
        &mut self,
        block: usize,
        more: &str,
        events: &mut Events,
    ) -> Result<(), Full> {
        let (more, room) = self.fit(more);
        if let Some(BlockContent::Text(text)) = self.content(block)
            && !more.is_empty()
        {
            text.push_str(more);
            events.push_back(ModelEvent::Text { block, text: more.to_owned() });
        }
        room
    }

    /// Appends thinking to a block of thinking.
    pub(crate) fn push_thinking(
        &mut self,
        block: usize,
        more: &str,
        events: &mut Events,
    ) -> Result<(), Full> {
        let (more, room) = self.fit(more);
        if let Some(BlockContent::Thinking(text)) = self.content(block)
            && !more.is_empty()
        {
            text.push_str(more);
            events.push_back(ModelEvent::Thinking { block, text: more.to_owned() });
        }
        room
    }

    /// Appends arguments to a tool call.
    pub(crate) fn push_arguments(
        &mut self,
        block: usize,
        more: &str,
        events: &mut Events,
    ) -> Result<(), Full> {
        let (more, room) = self.fit(more);
        if let Some(BlockContent::Call { arguments, .. }) = self.content(block)
            && !more.is_empty()
        {
            arguments.push_str(more);
            events.push_back(ModelEvent::Arguments { block, json: more.to_owned() });
        }
        room
    }

    /// Appends to the signature of a block. A signature that becomes too long is dropped.
    pub(crate) fn sign(&mut self, block: usize, more: &str) -> Result<(), Full> {
        if self.size + more.len() > MAX_ANSWER_BYTES {
            return Err(Full);
        }
        self.size += more.len();
        let Some(block) = self.blocks.get_mut(block) else { return Ok(()) };
        if let Signature::Text(text) = &mut block.signature {
            text.push_str(more);
            if text.len() > MAX_SIGNATURE {
                block.signature = Signature::TooLong;
            }
        }
        Ok(())
    }

    /// Returns the arguments of a call so far, or the text of another block.
    pub(crate) fn text(&self, block: usize) -> &str {
        self.blocks.get(block).map_or("", |block| match &block.content {
            BlockContent::Text(text)
            | BlockContent::Thinking(text)
            | BlockContent::Redacted(text)
            | BlockContent::ServerTool { input: text, .. }
            | BlockContent::Call { arguments: text, .. } => text,
        })
    }

    /// Returns the index of the last block if it is one of text.
    pub(crate) fn last_text(&self) -> Option<usize> {
        self.last_of(|content| matches!(content, BlockContent::Text(_)))
    }

    /// Returns the index of the last block if it is one of thinking.
    pub(crate) fn last_thinking(&self) -> Option<usize> {
        self.last_of(|content| matches!(content, BlockContent::Thinking(_)))
    }

    /// Returns the complete answer. Ids of calls may be empty or repeated; the session makes them
    /// unique.
    pub(crate) fn into_answer(self, stop: Stop) -> ModelAnswer {
        let content: Vec<_> = self.blocks.into_iter().filter_map(Block::into_part).collect();
        let has_calls = content.iter().any(|part| matches!(part, Part::ToolCall(_)));
        let stop_reason = match stop {
            Stop::Truncated => StopReason::Length,
            // Some providers report another reason for an answer with calls.
            Stop::Finished if has_calls => StopReason::ToolUse,
            // The provider waits for a tool of its own.
            Stop::Paused => StopReason::ToolUse,
            Stop::Finished => StopReason::Stop,
        };
        ModelAnswer { content, stop_reason }
    }

    fn last_of(&self, is_kind: impl Fn(&BlockContent) -> bool) -> Option<usize> {
        let last = self.blocks.last().filter(|block| is_kind(&block.content));
        last.map(|_block| self.blocks.len() - 1)
    }

    fn open(&mut self, content: BlockContent) -> Result<usize, Full> {
        if self.blocks.len() >= MAX_BLOCKS {
            return Err(Full);
        }
        self.blocks.push(Block { content, signature: Signature::Text(String::new()) });
        Ok(self.blocks.len() - 1)
    }

    fn content(&mut self, block: usize) -> Option<&mut BlockContent> {
        self.blocks.get_mut(block).map(|block| &mut block.content)
    }

    /// Returns the beginning of `text` that fits into the answer, and `Full` if that is not all.
    fn fit<'a>(&mut self, text: &'a str) -> (&'a str, Result<(), Full>) {
        let left = MAX_ANSWER_BYTES.saturating_sub(self.size);
        let fits = cut(text, left);
        self.size += fits.len();
        (fits, if fits.len() < text.len() { Err(Full) } else { Ok(()) })
    }
}

impl Block {
    /// Returns the part of the answer; `None` if there is nothing in it.
    fn into_part(self) -> Option<Part> {
        let signature = match self.signature {
            Signature::Text(text) if !text.is_empty() => Some(text),
            Signature::Text(_) | Signature::TooLong => None,
        };
        match self.content {
            BlockContent::Text(text) | BlockContent::Thinking(text)
                if text.is_empty() && signature.is_none() =>
            {
                None
            }
            BlockContent::Text(text) => Some(Part::Text { text, signature }),
            BlockContent::Thinking(thinking) => Some(Part::Thinking { thinking, signature }),
            BlockContent::Redacted(data) => Some(Part::RedactedThinking { data }),
            BlockContent::ServerTool { mut block, input } => {
                if let (false, (input, None)) = (input.is_empty(), arguments(&input)) {
                    block.insert("input".to_owned(), input.into());
                }
                Some(Part::ServerTool { block })
            }
            BlockContent::Call { id, name, arguments: text } => {
                let name = if name.is_empty() { "unnamed".to_owned() } else { name };
                let (arguments, malformed) = arguments(&text);
                let thought_signature = signature;
                Some(Part::ToolCall(ToolCall { id, name, arguments, malformed, thought_signature }))
            }
        }
    }
}

/// Parses the arguments of a call, and returns the text if it is malformed. An empty text means no
/// arguments. Some models encode them twice, as a JSON string.
pub(crate) fn arguments(text: &str) -> (Map<String, Value>, Option<String>) {
    if text.trim().is_empty() {
        return (Map::new(), None);
    }
    let decoded = match serde_json::from_str(text) {
        Ok(Value::String(inner)) => serde_json::from_str(&inner),
        decoded => decoded,
    };
    match decoded {
        Ok(Value::Object(arguments)) if arguments.values().all(|it| is_within(it, MAX_DEPTH)) => {
            (arguments, None)
        }
        Ok(_) | Err(_) => (Map::new(), Some(cut(text, MAX_MALFORMED).to_owned())),
    }
}

/// Returns whether `value` is nested at most `deep` levels.
fn is_within(value: &Value, deep: usize) -> bool {
    match value {
        Value::Array(values) => deep > 0 && values.iter().all(|it| is_within(it, deep - 1)),
        Value::Object(values) => deep > 0 && values.values().all(|it| is_within(it, deep - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Returns the beginning of `text`, at most `most` bytes.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests;
