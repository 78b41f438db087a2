//! A question on the terminal, and all about the call that it is about.

use protocol::Question;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::calls::diff_line;
use super::markdown::DIM;
use super::wrap::wrapped;
use crate::render::{CallDetails, Size, question_text};

/// Returns the lines of a question on a terminal of this size.
pub(super) fn question_lines(question: &Question, size: Size) -> Vec<Line<'static>> {
    let style = Style::new().fg(Color::Yellow);
    let lines = question_text("", question, "", size);
    lines.into_iter().map(|line| Line::styled(line, style)).collect()
}

/// Returns all about a call, wrapped to the width of the terminal.
pub(super) fn details_lines(details: &CallDetails, columns: usize) -> Vec<Line<'static>> {
    let indent = [Span::raw("  ")];
    let lines = details.lines.iter().map(|line| Line::styled(line.clone(), DIM));
    let lines = lines.chain(details.diff.iter().map(|line| diff_line(line)));
    let styled = |line: Line<'static>| Span::styled(line.to_string(), line.style);
    lines.flat_map(|line| wrapped(&[styled(line)], columns, &indent, &indent)).collect()
}
