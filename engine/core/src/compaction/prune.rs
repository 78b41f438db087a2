//! Pruning: old outputs of tools are replaced by a notice.

use std::cmp::Reverse;
use std::sync::Arc;

use protocol::{Content, Message, ToolResult};

use crate::request::message_tokens;

/// The newest outputs with so many tokens are never pruned.
const PROTECTED: u64 = 40_000;

/// Pruning is worth it if it saves so many tokens.
const LEAST_SAVED: u64 = 20_000;

/// The tools whose outputs are kept: what they tell cannot be had again by looking.
const KEPT_TOOLS: [&str; 2] = ["read", "skill"];

/// The largest output for which pruning saves nothing, in tokens: about the size of a notice.
const SMALLEST: u64 = 16;

/// Prunes old outputs if that is worth it. Returns how many tokens that saves.
pub fn prune(messages: &mut [Arc<Message>]) -> u64 {
    let mut newer = 0_u64;
    let mut old = Vec::new();
    for (at, message) in messages.iter().enumerate().rev() {
        let Message::ToolResult(result) = message.as_ref() else { continue };
        let tokens = message_tokens(message);
        if newer >= PROTECTED && !KEPT_TOOLS.contains(&result.tool_name.as_str()) {
            old.push((at, tokens.saturating_sub(least_tokens(message))));
        }
        newer = newer.saturating_add(tokens);
    }
    let saved = old.iter().fold(0_u64, |sum, (_, saved)| sum.saturating_add(*saved));
    if saved < LEAST_SAVED {
        return 0;
    }
    for (at, _) in old {
        messages[at] = pruned(&messages[at]);
    }
    saved
}

/// Returns the ids of the calls whose outputs have to be pruned so that `messages` have at most
/// `most` tokens: the largest outputs first.
pub(super) fn oversized(messages: &[Arc<Message>], most: u64) -> Vec<String> {
    let mut tokens: u64 = messages.iter().map(|message| message_tokens(message)).sum();
    let mut outputs: Vec<_> = messages.iter().filter(|message| is_output(message)).collect();
    outputs.sort_by_key(|output| Reverse(message_tokens(output)));
    let mut ids = Vec::new();
    for output in outputs {
        if tokens <= most {
            break;
        }
        let Message::ToolResult(result) = output.as_ref() else { continue };
        tokens -= message_tokens(output).saturating_sub(least_tokens(output));
        ids.push(result.tool_call_id.clone());
    }
    ids
}

/// Returns the messages with a notice in the place of the outputs of `calls`.
#[must_use]
pub fn without_outputs(messages: &[Arc<Message>], calls: &[String]) -> Vec<Arc<Message>> {
    let without = |message: &Arc<Message>| match message.as_ref() {
        Message::ToolResult(result) if calls.contains(&result.tool_call_id) => pruned(message),
        Message::ToolResult(_) | Message::User(_) | Message::Assistant(_) => Arc::clone(message),
    };
    messages.iter().map(without).collect()
}

/// Returns the message with a notice in the place of its output.
fn pruned(message: &Message) -> Arc<Message> {
    let Message::ToolResult(result) = message else { return Arc::new(message.clone()) };
    let content = vec![Content::text(notice(message))];
    Arc::new(Message::ToolResult(ToolResult { content, ..result.clone() }))
}

/// Returns how many tokens a message has at least: those of the notice, if its output can be pruned.
pub(super) fn least_tokens(message: &Message) -> u64 {
    let tokens = message_tokens(message);
    if is_output(message) { tokens.min(SMALLEST) } else { tokens }
}

fn is_output(message: &Message) -> bool {
    matches!(message, Message::ToolResult(_))
}

fn notice(message: &Message) -> String {
    format!("[Output truncated - {} tokens]", message_tokens(message))
}

#[cfg(test)]
mod tests {
    use super::super::test_messages::{called, result, user};
    use super::*;

    fn tokens(messages: &[Arc<Message>]) -> u64 {
        messages.iter().map(|message| message_tokens(message)).sum()
    }

    #[test]
    fn old_outputs_are_pruned_if_that_is_worth_it_and_files_that_were_read_never() {
        let sized = |id: &str, tool: &str, tokens: usize| {
            [called(id, tool, "a"), result(id, tool, &"x".repeat(tokens * 4))]
        };
        let old = [sized("1", "bash", 15_000), sized("2", "read", 15_000)];
        let newer =
            [sized("3", "bash", 15_000), sized("4", "bash", 30_000), sized("5", "bash", 15_000)];
        let all: Vec<_> = old.into_iter().chain(newer).flatten().collect();
        let mut messages = all.clone();
        assert_eq!(prune(&mut messages), 2 * (15_000 - SMALLEST));
        let notice = "[Output truncated - 15000 tokens]";
        let texts = |messages: &[Arc<Message>]| -> Vec<bool> {
            let results = messages.iter().filter_map(|message| match message.as_ref() {
                Message::ToolResult(result) => Some(result.text() == notice),
                Message::User(_) | Message::Assistant(_) => None,
            });
            results.collect()
        };
        assert_eq!(texts(&messages), [true, false, true, false, false]);
        let again = messages.clone();
        assert_eq!((prune(&mut messages), &messages), (0, &again));
        let mut few = [&[user("a")], &all[4..]].concat();
        assert_eq!(prune(&mut few), 0, "it saves 15,000 tokens only");
        assert_eq!(few[1..], all[4..]);
    }

    #[test]
    fn the_largest_outputs_go_first_and_only_as_many_as_have_to() {
        let sizes = [("1", 100), ("2", 5_000), ("3", 3_000), ("4", 100)];
        let messages: Vec<_> =
            sizes.iter().map(|(id, tokens)| result(id, "bash", &"x".repeat(tokens * 4))).collect();
        assert_eq!(oversized(&messages, 8_200), Vec::<String>::new());
        assert_eq!(oversized(&messages, 8_199), ["2"]);
        assert_eq!(oversized(&messages, 3_200), ["2", "3"]);
        let fitting = without_outputs(&messages, &oversized(&messages, 3_300));
        assert!(tokens(&fitting) <= 3_300, "{}", tokens(&fitting));
        assert_eq!((&fitting[0], &fitting[2]), (&messages[0], &messages[2]));
    }
}
