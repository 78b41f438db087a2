//! A question on the terminal: its line, and all about the call that it is about.

use protocol::{Question, quote_within};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

use super::markdown::DIM;
use super::wrap::{span, wrapped};
use crate::render::{cut, one_line, width};

/// The fewest columns of what is asked.
const SHORTEST: usize = 12;

/// Returns the keys that answer a question.
pub(super) fn keys(question: &Question) -> String {
    let choices = question.choices.iter().map(|choice| format!("{} {}", choice.key, choice.label));
    let keys: Vec<_> = choices.chain(["d details".to_owned()]).collect();
    one_line(&keys.join(" · "))
}

/// Returns the line of a question, and below it the details, wrapped to the width of the terminal.
pub(super) fn question_lines(
    question: &Question,
    details: &[String],
    columns: usize,
) -> Vec<Line<'static>> {
    let style = Style::new().fg(Color::Yellow);
    let keys = keys(question);
    let room = columns.saturating_sub(width(&keys) + width("allow ? ")).max(SHORTEST);
    let asked = format!("allow {}? {keys}", cut(&one_line(&question.text), room));
    let mut lines = vec![Line::from(Span::styled(cut(&asked, columns), style))];
    // What cannot be seen is shown: a person decides by these lines.
    for line in details {
        let line = span(&format!("  {}", quote_within(line, usize::MAX)), DIM);
        lines.extend(wrapped(&[line], columns, &[], &[]));
    }
    lines
}
