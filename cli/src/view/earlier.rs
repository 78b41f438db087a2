//! What was said before in a session that is continued, as it was printed then.

use protocol::{
    AssistantMessage, BashExecution, FileMention, Message, Part as MessagePart, SessionEntry,
    SessionMessage, StopReason, ToolExecutionResult, UserMessage,
};

use super::answer_stream::AnswerStream;
use super::calls::EndedCall;
use super::entry::{Entry, NoteKind, Shown};
use super::highlight::Syntaxes;
use super::state::ViewState;
use super::todos::last_todos;
use crate::render::{count, result_of, tokens};

/// About the most lines that are printed of what was said before.
const LINES: usize = 400;

/// About how many letters are in a line, and how many lines a call has with its result.
const LINE: usize = 80;
const CALL_LINES: usize = 7;

/// The end of what was said before in a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Earlier {
    /// The last entries of its branch.
    pub(crate) entries: Vec<SessionEntry>,
    /// The number of messages before those.
    pub(crate) left_out: usize,
    /// Whether the view has printed it.
    pub(crate) is_printed: bool,
}

impl Earlier {
    /// Returns whether nothing was said.
    pub(super) fn is_silent(&self) -> bool {
        let is_message = |entry: &SessionEntry| matches!(entry, SessionEntry::Message { .. });
        self.left_out == 0 && !self.entries.iter().any(is_message)
    }

    /// Returns what was said from the last prompt on.
    pub(super) fn last_turn(mut self) -> Self {
        let is_prompt = |entry: &SessionEntry| match entry.model_message() {
            Some(Message::User(said)) => !said.synthetic,
            Some(Message::Assistant(_) | Message::ToolResult(_)) | None => false,
        };
        let begin = self.entries.iter().rposition(is_prompt).unwrap_or(0);
        let before = self.entries.drain(..begin);
        let is_message = |entry: &SessionEntry| matches!(entry, SessionEntry::Message { .. });
        self.left_out += before.filter(is_message).count();
        self
    }
}

impl ViewState {
    /// Prints what was said before, unless it is printed, and displays what it leaves: the size of the context,
    /// and what is to be done.
    pub(super) fn earlier(&mut self, earlier: &Earlier) {
        if !earlier.is_printed {
            self.print_earlier(earlier);
        }
        self.status.context = context_of(&earlier.entries);
        self.todos = last_todos(&earlier.entries);
    }

    /// Prints what was said before, and one line that counts what is left out of it.
    fn print_earlier(&mut self, earlier: &Earlier) {
        let entries = &earlier.entries;
        let (mut shown, mut lines) = (Vec::new(), 0);
        for (at, entry) in entries.iter().enumerate().rev() {
            let printed = printed(entry, &entries[at + 1..], &self.syntaxes);
            lines += printed.iter().map(about_lines).sum::<usize>();
            if lines > LINES && !shown.is_empty() {
                break;
            }
            shown.push(printed);
        }
        let before = &entries[..entries.len() - shown.len()];
        let is_message = |entry: &&SessionEntry| matches!(entry, SessionEntry::Message { .. });
        let left_out = earlier.left_out + before.iter().filter(is_message).count();
        if left_out > 0 {
            let text = format!("… {} not displayed", count(left_out, "earlier message"));
            self.note(NoteKind::Info, text);
        }
        shown.into_iter().rev().flatten().for_each(|entry| self.print(entry));
    }
}

/// Returns how many tokens the context has after these entries; 0 if that is not known.
fn context_of(entries: &[SessionEntry]) -> u64 {
    let said = entries.iter().rev().map_while(|entry| match entry {
        SessionEntry::Compaction { .. } => None,
        entry => Some(entry.model_message()),
    });
    let mut tokens = said.flatten().filter_map(|message| match message {
        Message::Assistant(answer) if answer.stop_reason != StopReason::Error => {
            Some(answer.usage.tokens())
        }
        _other => None,
    });
    tokens.find(|tokens| *tokens > 0).unwrap_or(0)
}

/// Returns what is printed for an entry of a log. `after` are those that follow it.
fn printed(entry: &SessionEntry, after: &[SessionEntry], syntaxes: &Syntaxes) -> Vec<Entry> {
    match entry {
        SessionEntry::Compaction { tokens_before, .. } => {
            vec![Entry::Note(NoteKind::Info, compacted(*tokens_before))]
        }
        SessionEntry::BranchSummary { summary, .. } if !summary.is_empty() => {
            let line = summary.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            vec![Entry::Note(NoteKind::Info, format!("another branch was left: {line}"))]
        }
        SessionEntry::CustomMessage { content, display: true, .. } => {
            let at = protocol::Timestamp::from_millisecond(0);
            vec![Entry::Text(UserMessage::new(content.clone(), at).text())]
        }
        SessionEntry::Message { message, .. } => match message {
            SessionMessage::Model(Message::User(said)) if said.synthetic => Vec::new(),
            SessionMessage::Model(Message::User(said)) => vec![Entry::Prompt(said.text())],
            SessionMessage::Model(Message::Assistant(answer)) => answered(answer, after, syntaxes),
            SessionMessage::BashExecution(ran) => vec![Entry::Ran(Box::new(ran.clone()))],
            SessionMessage::FileMention(mention) => {
                vec![Entry::Note(NoteKind::Info, mentioned_text(mention))]
            }
            // A result is printed with its call.
            _other => Vec::new(),
        },
        _other => Vec::new(),
    }
}

/// Returns what is printed for an answer, with the results of its calls.
fn answered(answer: &AssistantMessage, after: &[SessionEntry], syntaxes: &Syntaxes) -> Vec<Entry> {
    let mut printed = Vec::new();
    for part in &answer.content {
        match part {
            MessagePart::Text { text, .. } => {
                let mut stream = AnswerStream::new();
                stream.push(text);
                let parts = stream.finish(syntaxes).into_iter();
                printed.extend(parts.map(|(part, gap)| Entry::Answer(part, gap)));
            }
            MessagePart::ToolCall(call) => {
                let after = after.iter().filter_map(SessionEntry::model_message);
                let result = result_of(call, after);
                let is_error = result.is_none_or(|result| result.is_error);
                let result = result.map(|result| ToolExecutionResult {
                    content: result.content.clone(),
                    details: result.details.clone(),
                });
                let call = call.clone();
                printed.push(Entry::Call(Box::new(EndedCall { call, result, is_error })));
            }
            MessagePart::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                printed.push(Entry::Thought(thinking.clone(), Shown::OneLine));
            }
            MessagePart::Thinking { .. }
            | MessagePart::RedactedThinking { .. }
            | MessagePart::ServerTool { .. } => {}
        }
    }
    match answer.stop_reason {
        StopReason::Aborted => printed.push(Entry::Note(NoteKind::Info, "stopped".to_owned())),
        StopReason::Error => {
            let why = answer.error_message.as_deref().unwrap_or("the answer failed");
            printed.push(Entry::Note(NoteKind::Error, why.to_owned()));
        }
        StopReason::Stop | StopReason::Length | StopReason::ToolUse => {}
    }
    printed
}

/// Returns the line of a compaction.
pub(super) fn compacted(tokens_before: u64) -> String {
    format!("the conversation was compacted ({} tokens before)", tokens(tokens_before))
}

/// Returns the line of the files that a prompt has named.
pub(super) fn mentioned_text(mention: &FileMention) -> String {
    let files = mention.files.iter().map(|file| match (file.skipped_reason, file.line_count) {
        (Some(_), _) => format!("@{} (too large, not sent)", file.path),
        (None, _) if file.image.is_some() => format!("@{} (an image)", file.path),
        (None, Some(lines)) => {
            let lines = count(usize::try_from(lines).unwrap_or(usize::MAX), "line");
            format!("@{} ({lines})", file.path)
        }
        (None, None) => format!("@{}", file.path),
    });
    files.collect::<Vec<_>>().join(", ")
}

/// Returns about how many lines an entry has.
fn about_lines(entry: &Entry) -> usize {
    let of_text = |text: &str| text.lines().map(|line| 1 + line.len() / LINE).sum::<usize>();
    match entry {
        Entry::Answer(super::answer_stream::Part::Markdown { source, .. }, _) => of_text(source),
        Entry::Answer(..) => 1,
        Entry::Call(_) => CALL_LINES,
        Entry::Ran(ran) => ran_lines(ran),
        Entry::Prompt(text) => of_text(text).min(super::entry::PROMPT_LINES),
        Entry::Text(text) | Entry::Patch(text) => of_text(text),
        Entry::Details(details) => details.lines.len() + details.diff.len(),
        Entry::Note(..) | Entry::TurnEnd(_) | Entry::Thought(..) => 1,
    }
}

fn ran_lines(ran: &BashExecution) -> usize {
    CALL_LINES.min(2 + ran.output.lines().count())
}

#[cfg(test)]
mod tests {
    use protocol::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::view::state::test_view;

    fn entries(count: usize) -> Vec<SessionEntry> {
        let at = Timestamp::from_millisecond(0);
        let prompt = |number| Message::user(format!("prompt {number}"), at);
        (0..count).map(|number| SessionEntry::message(prompt(number))).collect()
    }

    fn earlier(entries: Vec<SessionEntry>, left_out: usize) -> Earlier {
        Earlier { entries, left_out, is_printed: false }
    }

    fn texts(earlier: &Earlier) -> Vec<Entry> {
        let mut view = test_view();
        view.earlier(earlier);
        view.take_finished(80)
    }

    #[test]
    fn a_long_conversation_is_printed_from_its_end_and_what_is_left_out_is_counted() {
        let printed = texts(&earlier(entries(LINES + 5), 7));
        assert_eq!(printed.len(), LINES + 1);
        let Entry::Note(NoteKind::Info, note) = &printed[0] else { panic!("{:?}", printed[0]) };
        assert_eq!(note, "… 12 earlier messages not displayed");
        assert_eq!(printed[1], Entry::Prompt("prompt 5".to_owned()));
        let last = Entry::Prompt(format!("prompt {}", LINES + 4));
        assert_eq!(printed.last(), Some(&last));
        assert_eq!(texts(&earlier(entries(2), 0)).len(), 2);
        assert_eq!(texts(&Earlier::default()), []);
    }

    #[test]
    fn the_context_is_that_of_the_last_answer_and_unknown_after_a_compaction() {
        let entry = |value| serde_json::from_value::<SessionEntry>(value).unwrap();
        let answered = entry(json!({ "type": "message", "message": {
            "role": "assistant", "content": [{ "type": "text", "text": "Yes." }],
            "api": "a", "provider": "b", "model": "c", "stopReason": "stop", "timestamp": 1,
            "usage": { "input": 90, "output": 10, "cacheRead": 0, "cacheWrite": 0,
                "totalTokens": 100, "cost": null } } }));
        let compacted = entry(json!({ "type": "compaction", "summary": "s", "tokensBefore": 9 }));
        let mut view = test_view();
        view.earlier(&earlier(vec![answered.clone()], 0));
        assert_eq!(view.status.context, 100);
        assert_eq!(view.take_finished(80).len(), 1);
        let printed = Earlier { is_printed: true, ..earlier(vec![answered.clone()], 0) };
        view.status.context = 0;
        view.earlier(&printed);
        assert_eq!((view.status.context, view.take_finished(80)), (100, Vec::new()));
        view.earlier(&earlier(vec![answered, compacted], 0));
        assert_eq!(view.status.context, 0);
    }
}
