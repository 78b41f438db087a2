//! An answer of a model that has started: its blocks, and the message that ends it.

use super::{AssistantMessage, Part, SessionEvent, StopReason, rule};
use protocol::AnswerStart;

#[derive(Debug)]
pub(super) struct OpenAnswer {
    start: AnswerStart,
    blocks: Vec<Block>,
}

#[derive(Debug)]
struct Block {
    index: usize,
    kind: Kind,
    content: String,
    ended: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Call { id: String, name: String },
}

impl OpenAnswer {
    pub(super) fn new(start: AnswerStart) -> Self {
        Self { start, blocks: Vec::new() }
    }

    pub(super) fn block(&mut self, event: &SessionEvent) -> Result<(), String> {
        match event {
            SessionEvent::TextStart { content_index } => self.begin(*content_index, Kind::Text),
            SessionEvent::ThinkingStart { content_index } => {
                self.begin(*content_index, Kind::Thinking)
            }
            SessionEvent::ToolcallStart { content_index, tool_call_id, tool_name } => {
                let (id, name) = (tool_call_id.clone(), tool_name.clone());
                self.begin(*content_index, Kind::Call { id, name })
            }
            SessionEvent::TextDelta { content_index, delta }
            | SessionEvent::ThinkingDelta { content_index, delta }
            | SessionEvent::ToolcallDelta { content_index, delta } => {
                let block = self.open(*content_index)?;
                rule(is_of(&block.kind, event), "a piece is of the kind of its block")?;
                block.content.push_str(delta);
                Ok(())
            }
            SessionEvent::TextEnd { content_index }
            | SessionEvent::ThinkingEnd { content_index }
            | SessionEvent::ToolcallEnd { content_index } => {
                // Blocks end with the answer, in their order.
                let first = self.blocks.iter_mut().find(|block| !block.ended);
                let block = first.ok_or("a block ends that has started")?;
                rule(block.index == *content_index, "blocks end in their order")?;
                rule(is_of(&block.kind, event), "the end is of the kind of its block")?;
                block.ended = true;
                Ok(())
            }
            _other => Err("it is no event of a block".to_owned()),
        }
    }

    fn begin(&mut self, index: usize, kind: Kind) -> Result<(), String> {
        rule(self.blocks.iter().all(|block| !block.ended), "blocks end with the answer")?;
        rule(self.blocks.iter().all(|block| block.index < index), "blocks start in their order")?;
        self.blocks.push(Block { index, kind, content: String::new(), ended: false });
        Ok(())
    }

    /// Returns a block that has started, if no block has ended.
    fn open(&mut self, index: usize) -> Result<&mut Block, String> {
        rule(self.blocks.iter().all(|block| !block.ended), "a piece comes before the ends")?;
        let block = self.blocks.iter_mut().find(|block| block.index == index);
        block.ok_or_else(|| "a piece is of a block that has started".to_owned())
    }

    pub(super) fn end(self, message: &AssistantMessage) -> Result<(), String> {
        let AssistantMessage { api, provider, model, .. } = message;
        let AnswerStart { api: of, provider: from, model: by, .. } = &self.start;
        rule((api, provider, model) == (of, from, by), "the answer is of who started it")?;
        rule(self.blocks.iter().all(|block| block.ended), "blocks end before their answer")?;
        let is_whole = !matches!(message.stop_reason, StopReason::Error | StopReason::Aborted);
        // A failed answer has what came of texts, and no calls.
        let blocks =
            self.blocks.iter().filter(|block| is_whole || !matches!(block.kind, Kind::Call { .. }));
        let calls = self.blocks.iter().filter(|block| matches!(block.kind, Kind::Call { .. }));
        let is_begun = |block: &Block| {
            let sent = serde_json::from_str::<serde_json::Value>(&block.content);
            sent.map_or_else(|error| error.is_eof(), |_whole| true)
        };
        rule(
            is_whole || calls.clone().all(is_begun),
            "a call that failed is the beginning of one",
        )?;
        let (blocks, mut parts) = (blocks.collect::<Vec<_>>(), message.content.iter());
        for block in blocks {
            let part = parts.next().ok_or("each block is in the answer")?;
            rule(is_content(block, part), "the pieces of a block are its content")?;
        }
        rule(parts.next().is_none(), "each part of the answer was a block")
    }
}

fn is_of(kind: &Kind, event: &SessionEvent) -> bool {
    match kind {
        Kind::Text => {
            matches!(event, SessionEvent::TextDelta { .. } | SessionEvent::TextEnd { .. })
        }
        Kind::Thinking => {
            matches!(event, SessionEvent::ThinkingDelta { .. } | SessionEvent::ThinkingEnd { .. })
        }
        Kind::Call { .. } => {
            matches!(event, SessionEvent::ToolcallDelta { .. } | SessionEvent::ToolcallEnd { .. })
        }
    }
}

fn is_content(block: &Block, part: &Part) -> bool {
    match (&block.kind, part) {
        (Kind::Text, Part::Text { text, .. }) => *text == block.content,
        (Kind::Thinking, Part::Thinking { thinking, .. }) => *thinking == block.content,
        (Kind::Call { name, .. }, Part::ToolCall(call)) => {
            let arguments = serde_json::from_str::<serde_json::Value>(&block.content);
            let is_same = match &call.malformed {
                Some(text) => *text == block.content,
                None => arguments.is_ok_and(|sent| sent.as_object() == Some(&call.arguments)),
            };
            *name == call.name && is_same
        }
        (_, _) => false,
    }
}
