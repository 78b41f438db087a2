//! What has happened in a session, as it is printed above the live part: once, and never again.

use protocol::BashExecution;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::answer_stream::{Gap, Part};
use super::calls::{EndedCall, diff_lines, ran_lines};
use super::highlight::Syntaxes;
use super::markdown::{DIM, markdown};
use super::question::details_lines;
use super::wrap::{span, wrapped};
use crate::render::{CallDetails, count, cut, one_line};

/// The most lines of a prompt.
pub(super) const PROMPT_LINES: usize = 40;

/// The most lines of a patch.
const PATCH_LINES: usize = 2_000;

/// The color of a failure.
pub(super) const BAD: Style = Style::new().fg(Color::Red);

/// Something that is printed once.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Entry {
    /// A prompt of the user.
    Prompt(String),
    /// A part of an answer.
    Answer(Part, Gap),
    /// What the model thought, whole or as one line.
    Thought(String, Shown),
    /// A tool call that has ended.
    Call(Box<EndedCall>),
    /// A command of the user that has ended.
    Ran(Box<BashExecution>),
    /// A line about the session.
    Note(NoteKind, String),
    /// What a turn took.
    TurnEnd(String),
    /// Text as it is, for instance of a command of the view.
    Text(String),
    /// Changes of files.
    Patch(String),
    /// All about a call that is asked about.
    Details(CallDetails),
}

/// How much of a text is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    OneLine,
    Whole,
}

/// How important a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoteKind {
    Info,
    Warning,
    Error,
}

impl Entry {
    /// Returns the lines of the entry, at most `columns` wide. An empty line comes first where the
    /// entry begins something new.
    pub(super) fn lines(&self, columns: usize, syntaxes: &Syntaxes) -> Vec<Line<'static>> {
        let mut lines = match self.gap() {
            Gap::Before => vec![Line::default()],
            Gap::None => Vec::new(),
        };
        lines.extend(match self {
            Self::Prompt(text) => prompt_lines(text, columns),
            Self::Answer(part, _) => part_lines(part, columns, syntaxes),
            Self::Thought(text, shown) => thought_lines(text, *shown, columns),
            Self::Call(call) => call.lines(columns),
            Self::Ran(ran) => ran_lines(ran, columns),
            Self::Note(kind, text) => {
                let style = match kind {
                    NoteKind::Info => DIM,
                    NoteKind::Warning => Style::new().fg(Color::Yellow),
                    NoteKind::Error => BAD,
                };
                text_lines(text, style, columns)
            }
            Self::TurnEnd(text) => text_lines(text, DIM, columns),
            Self::Text(text) => text_lines(text, Style::new(), columns),
            Self::Patch(patch) => diff_lines(patch, PATCH_LINES),
            Self::Details(details) => details_lines(details, columns),
        });
        lines
    }

    fn gap(&self) -> Gap {
        match self {
            Self::Answer(_, gap) => *gap,
            Self::Thought(..)
            | Self::Prompt(_)
            | Self::TurnEnd(_)
            | Self::Text(_)
            | Self::Patch(_)
            | Self::Details(_)
            | Self::Call(_)
            | Self::Ran(_) => Gap::Before,
            Self::Note(..) => Gap::None,
        }
    }
}

/// Returns the lines of a part of an answer.
pub(super) fn part_lines(part: &Part, columns: usize, syntaxes: &Syntaxes) -> Vec<Line<'static>> {
    match part {
        Part::Markdown { source, number } => markdown(source, *number, columns, syntaxes),
        Part::Code(spans) => {
            let indent = [Span::raw("  ")];
            wrapped(spans, columns, &indent, &indent)
        }
    }
}

fn prompt_lines(text: &str, columns: usize) -> Vec<Line<'static>> {
    let style = Style::new().fg(Color::Cyan);
    let marks = [[Span::styled("> ", style)], [Span::styled("  ", style)]];
    let mut lines = Vec::new();
    for (at, line) in text.lines().take(PROMPT_LINES).enumerate() {
        let mark = &marks[at.min(1)];
        lines.extend(wrapped(&[span(line, style)], columns, mark, &marks[1]));
    }
    let more = text.lines().count().saturating_sub(PROMPT_LINES);
    if more > 0 {
        let text = format!("… {} more", count(more, "line"));
        lines.extend(wrapped(&[span(&text, DIM)], columns, &marks[1], &marks[1]));
    }
    lines
}

fn thought_lines(text: &str, shown: Shown, columns: usize) -> Vec<Line<'static>> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    match shown {
        Shown::OneLine => {
            let first = lines.next().unwrap_or_default();
            let more = if lines.next().is_some() { " …" } else { "" };
            let first = one_line(&format!("thought: {}", first.trim()));
            let first = cut(&first, columns.saturating_sub(more.len()));
            vec![Line::styled(format!("{first}{more}"), DIM)]
        }
        Shown::Whole => {
            let indent = [Span::raw("  ")];
            let lines =
                lines.flat_map(|line| wrapped(&[span(line, DIM)], columns, &indent, &indent));
            std::iter::once(Line::styled("thought:", DIM)).chain(lines).collect()
        }
    }
}

fn text_lines(text: &str, style: Style, columns: usize) -> Vec<Line<'static>> {
    text.lines().flat_map(|line| wrapped(&[span(line, style)], columns, &[], &[])).collect()
}
