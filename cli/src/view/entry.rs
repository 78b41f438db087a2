//! What has happened in a session, as it is printed above the live part: once, and never again.

use protocol::{ToolCall, ToolExecutionResult};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::answer_stream::{Gap, Part};
use super::highlight::Syntaxes;
use super::markdown::{DIM, markdown};
use super::wrap::{span, wrapped};
use crate::render::{call_summary, cut, one_line};

/// The most lines of a change, of an output, and of any other result.
const CHANGE_LINES: usize = 60;
const OUTPUT_LINES: usize = 5;

/// The color of a failure.
const BAD: Style = Style::new().fg(Color::Red);

/// Something that is printed once.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Entry {
    /// A prompt of the user.
    Prompt(String),
    /// A part of an answer.
    Answer(Part, Gap),
    /// A tool call that has ended.
    Call(Box<EndedCall>),
    /// A line about the session.
    Note(NoteKind, String),
    /// What a turn took.
    TurnEnd(String),
    /// Text as it is, for instance of a command of the view.
    Text(String),
}

/// How important a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoteKind {
    Info,
    Warning,
    Error,
}

/// A tool call with its result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EndedCall {
    pub(super) call: ToolCall,
    pub(super) result: Option<ToolExecutionResult>,
    pub(super) is_error: bool,
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
            Self::Call(call) => call.lines(columns),
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
        });
        lines
    }

    fn gap(&self) -> Gap {
        match self {
            Self::Answer(_, gap) => *gap,
            Self::Prompt(_) | Self::TurnEnd(_) | Self::Text(_) | Self::Call(_) => Gap::Before,
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

/// Returns the line of a call: its name, and what it is about.
pub(super) fn call_line(call: &ToolCall, columns: usize) -> Line<'static> {
    let name = one_line(&call.name);
    let about = cut(&call_summary(call), columns.saturating_sub(name.len() + 3));
    let name = Span::styled(name, Modifier::BOLD);
    Line::from(vec![Span::raw("● "), name, Span::raw(" "), Span::raw(about)])
}

fn prompt_lines(text: &str, columns: usize) -> Vec<Line<'static>> {
    let style = Style::new().fg(Color::Cyan);
    let marks = [[Span::styled("> ", style)], [Span::styled("  ", style)]];
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let mark = &marks[at.min(1)];
        lines.extend(wrapped(&[span(line, style)], columns, mark, &marks[1]));
    }
    lines
}

fn text_lines(text: &str, style: Style, columns: usize) -> Vec<Line<'static>> {
    text.lines().flat_map(|line| wrapped(&[span(line, style)], columns, &[], &[])).collect()
}

impl EndedCall {
    fn lines(&self, columns: usize) -> Vec<Line<'static>> {
        let mut first = call_line(&self.call, columns);
        if self.is_error {
            first = first.patch_style(BAD);
        }
        let mut lines = vec![first];
        let Some(result) = &self.result else { return lines };
        let details = result.details.as_ref();
        let diff = details.and_then(|details| details.get("diff")?.as_str());
        let body = match diff {
            Some(diff) if !self.is_error => diff_lines(diff),
            _ => self.output_lines(result),
        };
        let fits = |line: Line<'static>| {
            let text = line.to_string();
            match crate::render::width(&text) + 2 > columns {
                true => Line::styled(cut(&text, columns.saturating_sub(2)), line.style),
                false => line,
            }
        };
        lines.extend(body.into_iter().map(|line| {
            let line = fits(line);
            let style = line.style;
            let mut spans = vec![Span::raw("  ")];
            spans.extend(line.spans);
            Line::from(spans).style(style)
        }));
        lines
    }

    /// Returns the last lines of an output, or the first ones of a file, and how many are left out.
    fn output_lines(&self, result: &ToolExecutionResult) -> Vec<Line<'static>> {
        let texts = result.content.iter().filter_map(|content| match content {
            protocol::Content::Text { text } => Some(text.as_str()),
            protocol::Content::Image { .. } => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        let all: Vec<&str> = text.trim_end().lines().collect();
        let style = if self.is_error { BAD } else { DIM };
        let more = all.len().saturating_sub(OUTPUT_LINES);
        let left_out = Line::styled(format!("… {more} more lines, in the session's log"), DIM);
        let is_output = self.call.name == "bash";
        let shown = if is_output { &all[more..] } else { &all[..all.len().min(OUTPUT_LINES)] };
        let shown = shown.iter().map(|line| Line::styled(one_line(line), style));
        match (more, is_output) {
            (0, _) => shown.collect(),
            (_, true) => std::iter::once(left_out).chain(shown).collect(),
            (_, false) => shown.chain([left_out]).collect(),
        }
    }
}

/// Returns the lines of a unified diff in their colours.
fn diff_lines(diff: &str) -> Vec<Line<'static>> {
    let line = |line: &str| {
        let style = match line.chars().next() {
            Some('+') => Style::new().fg(Color::Green),
            Some('-') => Style::new().fg(Color::Red),
            Some('@') => Style::new().fg(Color::Cyan),
            _ => DIM,
        };
        Line::styled(one_line(line), style)
    };
    let mut lines: Vec<_> = diff.lines().take(CHANGE_LINES).map(line).collect();
    let more = diff.lines().count().saturating_sub(CHANGE_LINES);
    if more > 0 {
        lines.push(Line::styled(format!("… {more} more lines"), DIM));
    }
    lines
}
