//! A question on the terminal: its line, and all about the call that it is about.

use protocol::{Question, ToolCall, quote_within};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use serde_json::Value;

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

/// Returns the whole command of a call, what it changes, or its arguments.
pub(super) fn request_details(call: &ToolCall) -> Vec<String> {
    let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
    let marked = |mark: &str, text: &str| -> Vec<String> {
        text.lines().map(|line| format!("{mark}{line}")).collect()
    };
    // The others may change what the call does: the folder of a command.
    let others = |shown: &str| -> Vec<String> {
        let others = call.arguments.iter().filter(|(name, _)| *name != shown);
        let line = |(name, value): (&String, &Value)| match value.as_str() {
            Some(text) => format!("{name}: {text}"),
            None => format!("{name}: {value}"),
        };
        others.map(line).collect()
    };
    if let Some(command) = text("command") {
        return [others("command"), marked("", command)].concat();
    }
    if let Some(content) = text("content") {
        return [others("content"), marked("+ ", content)].concat();
    }
    let edits = call.arguments.get("edits").and_then(Value::as_array);
    if let Some(edits) = edits {
        let part = |edit: &Value, name: &str, mark: &str| {
            edit.get(name)
                .and_then(Value::as_str)
                .map(|text| marked(mark, text))
                .unwrap_or_default()
        };
        let lines = edits
            .iter()
            .flat_map(|edit| [part(edit, "oldText", "- "), part(edit, "newText", "+ ")].concat());
        return others("edits").into_iter().chain(lines).collect();
    }
    let arguments = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
    marked("", &arguments)
}
