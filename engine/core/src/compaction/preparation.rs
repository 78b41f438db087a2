//! What one compaction does: where it cuts, what a model is asked, and what the summary becomes.

use std::sync::Arc;

use protocol::Message;

use super::cut::{cut_point, turn_start};
use super::details::CompactionDetails;
use super::transcript::{cut, transcript};
use super::{files, prompts, prune};

/// A conversation that is to be compacted.
#[derive(Clone, Copy, Debug)]
pub struct Oversized<'a> {
    /// The messages, without the summary of the compaction before.
    pub messages: &'a [Arc<Message>],
    /// The compaction before: its summary and what it knew.
    pub previous: Option<(&'a str, &'a CompactionDetails)>,
    /// How many tokens the messages may have afterwards, the summary included.
    pub room: u64,
    /// How many tokens of the newest messages are kept if there is room.
    pub keep_recent: u64,
    /// How many tokens a request for a summary may have.
    pub input: u64,
    /// What the user asks of the summary.
    pub instructions: Option<&'a str>,
    /// The task of the session, if it has one. It stays in every summary.
    pub task: Option<&'a str>,
}

/// What a conversation becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// What stands for the messages before the first that is kept.
    pub summary: String,
    /// What the next compaction has to know.
    pub details: CompactionDetails,
}

/// A compaction that lacks its summary only.
#[derive(Clone, Debug, PartialEq)]
pub struct Preparation {
    /// The index of the first message that is kept.
    pub first_kept: usize,
    /// What a model is asked for the summary, one request after the other; at most two.
    pub prompts: Vec<String>,
    history: Summed,
    turn: Summed,
    details: CompactionDetails,
    /// The number of bytes that each part of the summary may have.
    sizes: Sizes,
}

/// Where a part of the summary comes from.
#[derive(Clone, Debug, PartialEq)]
enum Summed {
    /// There is nothing to sum up.
    Nothing,
    /// The summary before still holds.
    Known(String),
    /// A model is asked.
    Asked,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sizes {
    summary: usize,
    request: usize,
    files: usize,
}

/// The largest summary, in tokens.
const LONGEST_SUMMARY: u64 = 12_000;

/// What a summary may have however little room there is, in tokens: a shorter one would say nothing.
const SHORTEST_SUMMARY: u64 = 256;

/// The tokens of a request for a summary beside the conversation.
const FIXED_INPUT: u64 = 1_000;

/// The tokens of a conversation that a model is shown at least: with less a summary would say nothing.
const SHORTEST_INPUT: u64 = 512;

/// Prepares a compaction. `None` if nothing can be summed up: all messages are kept.
#[must_use]
pub fn prepare(context: &Oversized<'_>) -> Option<Preparation> {
    let Oversized { messages, previous, room, .. } = *context;
    let sizes = Sizes {
        summary: bytes((room / 4).clamp(SHORTEST_SUMMARY, LONGEST_SUMMARY)),
        request: bytes((room / 8).max(SHORTEST_SUMMARY / 2)),
        files: bytes(room / 16),
    };
    let first_kept = cut_point(messages, context.keep_recent.min(room / 8 * 3), room / 2)?;
    let begins = turn_start(messages, first_kept);
    let (history, turn) = messages[..first_kept].split_at(begins.unwrap_or(first_kept));
    let mut prompts = Vec::new();
    let input = context.input.saturating_sub(FIXED_INPUT).max(SHORTEST_INPUT);
    let history = match (history, previous) {
        ([], None) => Summed::Nothing,
        ([], Some((summary, _))) => Summed::Known(summary.to_owned()),
        (messages, previous) => {
            let before = previous.map(|(summary, _)| cut(summary, bytes(input / 4)));
            let said = transcript(messages, input / 4 * 3);
            prompts.push(prompts::history(&said, before.as_deref(), context.instructions));
            Summed::Asked
        }
    };
    let known = previous.map(|(_, details)| details);
    let mut details = files::files_of(&messages[..first_kept], known);
    let request = context.task.map(str::to_owned).or_else(|| match (turn.first(), known) {
        (Some(request), _) => Some(text_of(request)),
        // The turn began before the last compaction.
        (None, Some(known)) if goes_on(messages, first_kept) => known.request.clone(),
        (None, _) => None,
    });
    details.request = request.map(|request| cut(&request, sizes.request));
    let turn = match turn {
        [] => Summed::Nothing,
        [_only_the_request] => Summed::Known(String::new()),
        messages => {
            prompts.push(prompts::turn(&transcript(messages, input), context.instructions));
            Summed::Asked
        }
    };
    details.pruned_calls = prune::oversized(&messages[first_kept..], room / 2);
    Some(Preparation { first_kept, prompts, history, turn, details, sizes })
}

/// Returns whether the kept messages go on with a turn that began before all messages.
fn goes_on(messages: &[Arc<Message>], first_kept: usize) -> bool {
    messages[..=first_kept].iter().all(|message| !matches!(**message, Message::User(_)))
}

fn text_of(message: &Message) -> String {
    match message {
        Message::User(user) => user.text(),
        Message::Assistant(answer) => answer.text(),
        Message::ToolResult(result) => result.text(),
    }
}

fn bytes(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX)
}

impl Preparation {
    /// The system prompt of the requests.
    pub const SYSTEM: &str = prompts::SYSTEM;

    /// Returns the result, with `answers`, which a model gave to the prompts in their order.
    #[must_use]
    pub fn finish(self, answers: Vec<String>) -> Compacted {
        let Self { history, turn, details, sizes, .. } = self;
        let mut answers = answers.into_iter();
        let mut part = |summed| match summed {
            Summed::Nothing => String::new(),
            Summed::Known(text) => text,
            Summed::Asked => answers.next().unwrap_or_default().trim().to_owned(),
        };
        let (history, turn) = (part(history), part(turn));
        let (history, turn) = match (history.is_empty(), turn.is_empty()) {
            (_, true) => (cut(&history, sizes.summary), turn),
            (true, false) => (history, cut(&turn, sizes.summary)),
            (false, false) => (cut(&history, sizes.summary / 2), cut(&turn, sizes.summary / 2)),
        };
        let mut summary = history;
        if !turn.is_empty() {
            let line = if summary.is_empty() { "" } else { "\n\n---\n\n" };
            summary.push_str(&format!("{line}**Turn Context (split turn):**\n\n{turn}"));
        }
        if let Some(request) = details.request.as_deref() {
            summary.push_str(&format!("\n\n<request>\n{}\n</request>", request.trim()));
        }
        summary.push_str(&files::blocks(&details, sizes.files));
        Compacted { summary: summary.trim_start().to_owned(), details }
    }
}

#[cfg(test)]
mod tests;
