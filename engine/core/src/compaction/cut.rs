//! Where a conversation is cut: what comes before is summed up, what follows is kept.

use std::sync::Arc;

use protocol::Message;

use super::prune::least_tokens;
use crate::request::message_tokens;

/// Returns the index of the first message that is kept, so that the newest messages with about
/// `recent` tokens are kept, and at most `most` without the outputs that can be pruned. `None` if
/// nothing would be summed up. The cut is never at the result of a tool.
pub(super) fn cut_point(messages: &[Arc<Message>], recent: u64, most: u64) -> Option<usize> {
    let cuts: Vec<usize> = (0..messages.len()).filter(|at| is_cut(&messages[*at])).collect();
    let newest = newest_with(messages, recent, message_tokens)?;
    // Where only results follow, the answer that asked for them is kept with them.
    let wanted = cuts.iter().position(|cut| *cut >= newest).unwrap_or(cuts.len().checked_sub(1)?);
    let fits = newest_with(messages, most, least_tokens).map_or(0, |at| at + 1);
    let cut = cuts[wanted..].iter().find(|cut| **cut >= fits).or(cuts.last());
    cut.copied().filter(|cut| *cut > 0)
}

/// Returns whether a conversation may be cut before this message.
fn is_cut(message: &Message) -> bool {
    match message {
        Message::User(_) | Message::Assistant(_) => true,
        Message::ToolResult(_) => false,
    }
}

/// Returns the index from which the messages have `tokens` or more; `None` if all have fewer.
fn newest_with(
    messages: &[Arc<Message>],
    tokens: u64,
    count: impl Fn(&Message) -> u64,
) -> Option<usize> {
    let mut sum = 0_u64;
    messages.iter().rposition(|message| {
        sum = sum.saturating_add(count(message));
        sum >= tokens
    })
}

/// Returns where the turn begins that the cut splits: at the last message of the user before it.
/// `None` if the kept messages begin with one themselves, or if the turn begins before them all.
pub(super) fn turn_start(messages: &[Arc<Message>], cut: usize) -> Option<usize> {
    if messages.get(cut).is_none_or(|message| begins_turn(message)) {
        return None;
    }
    messages[..cut].iter().rposition(|message| begins_turn(message))
}

fn begins_turn(message: &Message) -> bool {
    match message {
        Message::User(_) => true,
        Message::Assistant(_) | Message::ToolResult(_) => false,
    }
}
