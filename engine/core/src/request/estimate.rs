//! How many tokens a request will use, before it is sent.

use std::io;

use protocol::{Content, CostSource, Message, Part, ToolCall, Usage};
use serde_json::{Map, Value};

use super::policy::estimated_tokens;
use crate::ports::{ModelRequest, Provider};

/// Returns about how many tokens a request will use: what the last one used, which the conversation
/// repeats, and what was said since.
pub(super) fn estimated_request(request: &ModelRequest) -> u64 {
    let (last, since) = last_usage(request);
    last.map_or(0, |last| last.tokens()).saturating_add(since)
}

/// Returns what the last request used, and the estimated number of tokens that were added since.
fn last_usage(request: &ModelRequest) -> (Option<Usage>, u64) {
    let mut bytes = 0_usize;
    for message in request.messages.iter().rev() {
        if let Message::Assistant(answer) = message.as_ref()
            && answer.usage.tokens() > 0
        {
            return (Some(answer.usage), estimated_tokens(bytes));
        }
        bytes = bytes.saturating_add(size(message));
    }
    (None, estimated_tokens(bytes.saturating_add(request.system.len())))
}

/// Returns the estimated usage of an answer that was aborted after it had begun with `content`. Providers
/// count an answer only at its end. The cost is unknown if the price of the model is.
pub(crate) fn aborted_usage(
    provider: &dyn Provider,
    request: &ModelRequest,
    content: &[Part],
) -> Usage {
    let (last, since) = last_usage(request);
    let before = last.map_or(0, |last| last.tokens());
    // What a cache had of the last request, it has of this one.
    let (input, cache_read) = match last.is_some_and(|last| last.has_cached()) {
        true => (since, before),
        false => (before.saturating_add(since), 0),
    };
    let output = estimated_tokens(parts_size(content));
    let usage = Usage { input, output, cache_read, cost: None, ..Usage::ZERO };
    match provider.cost_of(&usage) {
        Some(cost) => Usage { cost: Some(cost), cost_source: CostSource::Priced, ..usage },
        None => usage,
    }
}

/// Returns about how many tokens a message has for a model.
#[must_use]
pub fn message_tokens(message: &Message) -> u64 {
    estimated_tokens(size(message))
}

fn size(message: &Message) -> usize {
    let content = |content: &[Content]| {
        let sizes = content.iter().map(|content| match content {
            Content::Text { text } => text.len(),
            // However many bytes it has, a model sees it in about this many tokens.
            Content::Image { .. } => IMAGE,
        });
        sizes.fold(0, usize::saturating_add)
    };
    match message {
        Message::User(user) => content(&user.content),
        Message::ToolResult(result) => content(&result.content),
        Message::Assistant(answer) => parts_size(&answer.content),
    }
}

fn parts_size(parts: &[Part]) -> usize {
    let sizes = parts.iter().map(|part| match part {
        Part::Text { text, .. } => text.len(),
        Part::Thinking { thinking, .. } => thinking.len(),
        Part::RedactedThinking { data } => data.len(),
        Part::ServerTool { block } => json_size(block),
        Part::ToolCall(call) => call_size(call),
    });
    sizes.fold(0, usize::saturating_add)
}

fn call_size(call: &ToolCall) -> usize {
    call.name.len().saturating_add(json_size(&call.arguments)).saturating_add(CALL)
}

fn json_size(fields: &Map<String, Value>) -> usize {
    let mut json = Counted(0);
    let _infallible = serde_json::to_writer(&mut json, fields);
    json.0
}

/// Counts what is written to it.
struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The size of an image, in bytes of text.
const IMAGE: usize = 4_800;

/// The size of what a call has beside its name and arguments, in bytes of text.
const CALL: usize = 100;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use protocol::{AssistantMessage, Cost, StopReason, Timestamp};

    use super::*;
    use crate::ports::{ModelStream, ProviderInfo, RequestOptions, ToolChoice};

    /// A model whose price is known or not.
    struct Priced(Option<Cost>);

    impl Provider for Priced {
        fn info(&self) -> &ProviderInfo {
            unreachable!("nothing asks for it")
        }

        fn stream(&self, _request: &ModelRequest) -> ModelStream {
            unreachable!("nothing is sent")
        }

        fn cost_of(&self, _usage: &Usage) -> Option<Cost> {
            self.0
        }
    }

    #[test]
    fn an_answer_that_was_aborted_has_an_estimated_usage_and_a_cost_if_the_price_is_known() {
        let request = |usage| {
            let answer = AssistantMessage {
                content: vec![Part::text("fine")],
                api: String::new(),
                provider: String::new(),
                model: String::new(),
                usage,
                stop_reason: StopReason::Stop,
                error_message: None,
                timestamp: Timestamp::from_millisecond(0),
            };
            ModelRequest {
                session: protocol::SessionId::generate(),
                system: "x".repeat(400).into(),
                messages: vec![Arc::new(Message::Assistant(answer))],
                tools: [].into(),
                choice: ToolChoice::Free,
                options: RequestOptions::default(),
            }
        };
        let content = [Part::text("half an answer")];
        let estimate = |price, used| aborted_usage(&Priced(price), &request(used), &content);
        let unknown = Usage { cost: None, ..Usage::ZERO };
        let first = Usage { input: 101, output: 4, ..unknown };
        assert_eq!(estimate(None, Usage::ZERO), first);
        let plain = Usage { input: 70, output: 5, ..Usage::ZERO };
        assert_eq!(estimate(None, plain), Usage { input: 75, output: 4, ..unknown });
        let cached = Usage { cache_write: 60, ..plain };
        let next = Usage { cache_read: 135, output: 4, ..unknown };
        assert_eq!(estimate(None, cached), next);
        let cost = Some(Cost::from_nanodollars(7));
        let priced = Usage { cost, cost_source: CostSource::Priced, ..next };
        assert_eq!(estimate(cost, cached), priced);
    }
}
