//! The conversation as a model can be told it. Parts of it may come from other models and other
//! APIs, because a session may change its model between any two turns.

use std::collections::BTreeMap;

use protocol::{AssistantMessage, Content, Message, Part, StopReason, ToolCall, ToolResult};
use serde_json::{Map, Value};

/// The model that is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) api: &'a str,
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
    pub(crate) images: Images,
}

impl Reader<'_> {
    /// Returns whether an answer is of the model that is asked.
    pub(crate) fn is_author_of(&self, answer: &AssistantMessage) -> bool {
        answer.api == self.api && answer.provider == self.provider && answer.model == self.model
    }
}

/// Whether a model sees images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Images {
    Seen,
    /// A text stands in their place.
    Replaced,
}

/// A step of the conversation. The first is the user's. Each `Results` follows an `Answer` with calls, and has exactly one
/// result for each of them, in their order.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    /// What the user says; not empty.
    User(Vec<ContentItem<'a>>),
    /// An answer of a model; not empty.
    Answer(Vec<Block<'a>>),
    /// What the tools answered.
    Results(Vec<CallResult<'a>>),
}

/// A text or an image of what a user or a tool says. A text is more than white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentItem<'a> {
    Text(&'a str),
    Image { data: &'a str, mime_type: &'a str },
}

/// A part of an answer. Signatures and encrypted thinking are those of the model that is asked.
#[derive(Debug, PartialEq)]
pub(crate) enum Block<'a> {
    /// A text, which is more than white space unless it has a signature.
    Text { text: &'a str, signature: Option<&'a str> },
    /// Thinking of the model that is asked, which is not empty unless it has a signature.
    Thinking { thinking: &'a str, signature: Option<&'a str> },
    /// Encrypted thinking of the model that is asked.
    Redacted(&'a str),
    /// A block of a tool that the provider of the model that is asked runs itself.
    ServerTool(&'a Map<String, Value>),
    /// A tool call.
    Call { call: &'a ToolCall, signature: Option<&'a str> },
}

/// The result of a tool call.
#[derive(Debug, PartialEq)]
pub(crate) struct CallResult<'a> {
    pub(crate) call: &'a ToolCall,
    /// Not empty.
    pub(crate) content: Vec<ContentItem<'a>>,
    pub(crate) is_error: bool,
}

/// Stands in the place of a result that the conversation does not have.
const NO_RESULT: &str = "No result provided";

/// Stands in the place of the result of a call in an answer that was aborted or failed.
const ABORTED: &str = "aborted";

/// Follows an answer that was aborted, so that the model does not take it for a whole one.
const TURN_ABORTED: &str = "(The answer before this was aborted. What it began may be half done.)";

/// Stands in the place of a result without content.
const NO_OUTPUT: &str = "(no output)";

/// Stands before an answer with which a conversation begins whose beginning is lost: most APIs want
/// the user to speak first.
const NO_BEGINNING: &str = "(The beginning of this conversation is missing.)";

/// Stands in the place of an image that the model cannot see.
const NO_IMAGE: &str = "[An image is left out here: it cannot be shown to this model.]";

/// Returns the conversation for `reader`.
pub(crate) fn turns<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
    reader: &Reader<'_>,
) -> Vec<Turn<'a>> {
    let mut history =
        History { turns: Vec::new(), open: None, aborted: false, images: reader.images };
    for message in messages {
        match message {
            Message::User(user) => {
                history.close_calls();
                let pieces = history.pieces(&user.content);
                if !pieces.is_empty() {
                    history.push_user(pieces);
                }
            }
            Message::Assistant(answer) => {
                history.close_calls();
                history.push_answer(answer, reader);
            }
            Message::ToolResult(result) => history.take_result(result),
        }
    }
    history.close_calls();
    if history.aborted {
        history.push_user(Vec::new());
    }
    history.turns
}

struct History<'a> {
    turns: Vec<Turn<'a>>,
    /// The calls of the last answer, if results may still follow.
    open: Option<OpenCalls<'a>>,
    /// Whether the last answer was aborted, and nothing follows it yet.
    aborted: bool,
    images: Images,
}

struct OpenCalls<'a> {
    calls: Vec<&'a ToolCall>,
    results: BTreeMap<&'a str, &'a ToolResult>,
    /// The text for a call without a result.
    missing: &'static str,
}

impl<'a> History<'a> {
    fn push_user(&mut self, pieces: Vec<ContentItem<'a>>) {
        let note = std::mem::take(&mut self.aborted).then_some(ContentItem::Text(TURN_ABORTED));
        self.turns.push(Turn::User(note.into_iter().chain(pieces).collect()));
    }

    fn push_answer(&mut self, answer: &'a AssistantMessage, reader: &Reader<'_>) {
        let failed = match answer.stop_reason {
            StopReason::Error | StopReason::Aborted => true,
            StopReason::Stop | StopReason::Length | StopReason::ToolUse => false,
        };
        let same = reader.is_author_of(answer);
        // What was cut off may have signatures that are not whole.
        let signatures = if same && !failed { Signatures::Own } else { Signatures::Foreign };
        let blocks: Vec<_> = answer.content.iter().filter_map(|it| block(it, signatures)).collect();
        if blocks.is_empty() {
            return;
        }
        if self.turns.is_empty() {
            self.turns.push(Turn::User(vec![ContentItem::Text(NO_BEGINNING)]));
        }
        if self.aborted {
            self.push_user(Vec::new());
        }
        self.aborted = answer.stop_reason == StopReason::Aborted;
        let calls: Vec<_> = answer.calls().collect();
        if !calls.is_empty() {
            let missing = if failed { ABORTED } else { NO_RESULT };
            self.open = Some(OpenCalls { calls, results: BTreeMap::new(), missing });
        }
        self.turns.push(Turn::Answer(blocks));
    }

    /// Takes the first result of each call of the last answer. Others answer nothing.
    fn take_result(&mut self, result: &'a ToolResult) {
        let Some(open) = &mut self.open else { return };
        let id = result.tool_call_id.as_str();
        if open.calls.iter().any(|call| call.id == id) {
            open.results.entry(id).or_insert(result);
        }
    }

    /// Adds the results of the calls of the last answer.
    fn close_calls(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        let results = open.calls.into_iter().map(|call| {
            let Some(result) = open.results.remove(call.id.as_str()) else {
                let content = vec![ContentItem::Text(open.missing)];
                return CallResult { call, content, is_error: true };
            };
            let mut content = self.pieces(&result.content);
            if content.is_empty() {
                content.push(ContentItem::Text(NO_OUTPUT));
            }
            CallResult { call, content, is_error: result.is_error }
        });
        let results = results.collect();
        self.turns.push(Turn::Results(results));
    }

    fn pieces(&self, content: &'a [Content]) -> Vec<ContentItem<'a>> {
        let piece = |content: &'a Content| match content {
            // Some providers refuse texts of white space.
            Content::Text { text } if text.trim().is_empty() => None,
            Content::Text { text } => Some(ContentItem::Text(text)),
            Content::Image { data, mime_type } => match self.images {
                Images::Seen if is_base64(data) => Some(ContentItem::Image { data, mime_type }),
                Images::Seen | Images::Replaced => Some(ContentItem::Text(NO_IMAGE)),
            },
        };
        content.iter().filter_map(piece).collect()
    }
}

/// Whether the reader gets the signatures of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signatures {
    /// They are its own.
    Own,
    /// They are those of another model, or not whole.
    Foreign,
}

/// Returns what the reader gets of a part.
fn block(part: &Part, signatures: Signatures) -> Option<Block<'_>> {
    let same = signatures == Signatures::Own;
    match part {
        Part::Text { text, signature } => {
            let signature = signature.as_deref().filter(|_| same);
            let said = !text.trim().is_empty() || signature.is_some();
            said.then_some(Block::Text { text, signature })
        }
        Part::Thinking { thinking, signature } if same => {
            let signature = signature.as_deref();
            let said = !thinking.is_empty() || signature.is_some();
            said.then_some(Block::Thinking { thinking, signature })
        }
        // To another model it is a text like any other.
        Part::Thinking { thinking, .. } => {
            let said = !thinking.trim().is_empty();
            said.then_some(Block::Text { text: thinking, signature: None })
        }
        Part::RedactedThinking { data } => same.then_some(Block::Redacted(data)),
        Part::ServerTool { block } => same.then_some(Block::ServerTool(block)),
        Part::ToolCall(call) => {
            let signature = call.thought_signature.as_deref().filter(|_| same);
            Some(Block::Call { call, signature })
        }
    }
}

/// Returns whether a text is base64 that is whole. Session logs shorten very long strings.
pub(crate) fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !digits.is_empty()
        && padding <= 2
        && text.len().is_multiple_of(4)
        && digits.bytes().all(allowed)
}

#[cfg(test)]
mod tests;
