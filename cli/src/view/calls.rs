//! The calls of a model, and the commands of the user, as they are printed when they have ended.

use protocol::{BashExecution, Content, ToolCall, ToolExecutionResult};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use tools::{Builtins, ShownPart};

use super::entry::BAD;
use super::markdown::DIM;
use super::wrap::wrapped;
use crate::render::{call_summary, cut, one_line, short_error};

/// The most lines of a change, of an output, and of any other result.
const CHANGE_LINES: usize = 60;
const OUTPUT_LINES: usize = 5;

/// A tool call with its result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EndedCall {
    pub(super) call: ToolCall,
    pub(super) result: Option<ToolExecutionResult>,
    pub(super) is_error: bool,
}

/// Returns the line of a call: its name, and what it is about.
pub(super) fn call_line(call: &ToolCall, columns: usize) -> Line<'static> {
    let name = one_line(&call.name);
    let about = call_summary(call, columns.saturating_sub(name.len() + 3));
    let name = Span::styled(name, Modifier::BOLD);
    Line::from(vec![Span::raw("● "), name, Span::raw(" "), Span::raw(about)])
}

impl EndedCall {
    pub(super) fn lines(&self, columns: usize) -> Vec<Line<'static>> {
        let mut first = call_line(&self.call, columns);
        if self.is_error {
            first = first.patch_style(BAD);
        }
        let mut lines = vec![first];
        let Some(result) = &self.result else { return lines };
        let details = result.details.as_ref();
        let diff = details.and_then(|details| details.get("diff")?.as_str());
        let shown = || Builtins::shown_result(&self.call.name, details?);
        let body = match (diff, self.is_error) {
            (Some(diff), false) => diff_lines(diff, CHANGE_LINES),
            (None, false) => match shown() {
                Some(lines) => folded(&lines.join("\n"), LeftOut::End, CHANGE_LINES, DIM),
                None => self.output_lines(result),
            },
            (_, true) => self.output_lines(result),
        };
        lines.extend(body.into_iter().map(|line| indented(line, columns)));
        lines
    }

    /// Returns the last lines of an output, or the first ones of a file, and how many are left out.
    fn output_lines(&self, result: &ToolExecutionResult) -> Vec<Line<'static>> {
        let texts = result.content.iter().filter_map(|content| match content {
            Content::Text { text } => Some(text.as_str()),
            Content::Image { .. } => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        let style = if self.is_error { BAD } else { DIM };
        let part = match Builtins::shown_part(&self.call.name) {
            ShownPart::Beginning => LeftOut::End,
            ShownPart::End => LeftOut::Begin,
        };
        let text = match self.is_error {
            true => short_error(&self.call.name, &text, result.details.as_ref()),
            false => &text,
        };
        folded(text, part, OUTPUT_LINES, style)
    }
}

/// Which part of a long text is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeftOut {
    Begin,
    End,
}

/// Returns at most so many lines of a text, and a line that counts the others.
fn folded(text: &str, part: LeftOut, most: usize, style: Style) -> Vec<Line<'static>> {
    let all: Vec<&str> = text.trim_end().lines().collect();
    let more = all.len().saturating_sub(most);
    let left_out = Line::styled(format!("… {more} more lines, in the session's log"), DIM);
    let shown = match part {
        LeftOut::Begin => &all[more..],
        LeftOut::End => &all[..all.len().min(most)],
    };
    let shown = shown.iter().map(|line| Line::styled(one_line(line), style));
    match (more, part) {
        (0, _) => shown.collect(),
        (_, LeftOut::Begin) => std::iter::once(left_out).chain(shown).collect(),
        (_, LeftOut::End) => shown.chain([left_out]).collect(),
    }
}

/// Returns a line below that of a call, cut to the width of the terminal.
fn indented(line: Line<'static>, columns: usize) -> Line<'static> {
    let text = line.to_string();
    let line = match crate::render::width(&text) + 2 > columns {
        true => Line::styled(cut(&text, columns.saturating_sub(2)), line.style),
        false => line,
    };
    let style = line.style;
    let mut spans = vec![Span::raw("  ")];
    spans.extend(line.spans);
    Line::from(spans).style(style)
}

/// Returns a call that has ended as one plain line.
pub(super) fn plain_call(ended: &EndedCall, columns: usize) -> String {
    let mark = if ended.is_error { " (failed)" } else { "" };
    format!("{}{mark}", call_line(&ended.call, columns.saturating_sub(mark.len())))
}

/// Returns the line of a command of the user, behind `!` or `!!`.
pub(super) fn command_line(mark: &str, command: &str, columns: usize) -> Line<'static> {
    let room = columns.saturating_sub(mark.len() + 1);
    let command = cut(&one_line(command), room);
    let mark = Span::styled(format!("{mark} "), Modifier::BOLD);
    Line::from(vec![mark, Span::raw(command)])
}

/// Returns the lines of a command of the user that has ended.
pub(super) fn ran_lines(ran: &BashExecution, columns: usize) -> Vec<Line<'static>> {
    let end = match (ran.cancelled, ran.exit_code) {
        (true, _) => Some("stopped".to_owned()),
        (false, Some(0)) => None,
        (false, Some(code)) => Some(format!("exit code {code}")),
        (false, None) => Some("it did not end by itself".to_owned()),
    };
    let mark = if ran.exclude_from_context { "!!" } else { "!" };
    let mut first = command_line(mark, &ran.command, columns);
    if end.is_some() {
        first = first.patch_style(BAD);
    }
    let mut body = folded(&ran.output, LeftOut::Begin, OUTPUT_LINES, DIM);
    body.extend(end.map(|end| Line::styled(end, BAD)));
    let body = body.into_iter().map(|line| indented(line, columns));
    // A path that is cut leads nowhere, so it takes as many rows as it needs.
    let file = ran.full_output_path.as_ref().filter(|_| ran.truncated);
    let file = file.map(|path| Span::styled(format!("all of it: {}", one_line(path)), DIM));
    let rows = file.into_iter().flat_map(|file| {
        let (first, rest) = (vec![Span::raw("  ")], vec![Span::raw("  ")]);
        wrapped(&[file], columns, &first, &rest)
    });
    std::iter::once(first).chain(body).chain(rows).collect()
}

/// Returns the lines of a unified diff in their colours.
pub(super) fn diff_lines(diff: &str, most: usize) -> Vec<Line<'static>> {
    let mut lines: Vec<_> = diff.lines().take(most).map(diff_line).collect();
    let more = diff.lines().count().saturating_sub(most);
    if more > 0 {
        lines.push(Line::styled(format!("… {more} more lines"), DIM));
    }
    lines
}

/// Returns a line of a unified diff in its colour.
pub(super) fn diff_line(line: &str) -> Line<'static> {
    let style = match line.chars().next() {
        Some('+') => Style::new().fg(Color::Green),
        Some('-') => Style::new().fg(Color::Red),
        Some('@') => Style::new().fg(Color::Cyan),
        _ => DIM,
    };
    Line::styled(one_line(line), style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_is_cut_names_the_file_with_all_of_it_over_as_many_rows_as_it_takes() {
        let ran = BashExecution {
            command: "seq 9".to_owned(),
            output: (1..=9).map(|number| format!("{number}\n")).collect(),
            exit_code: Some(0),
            cancelled: false,
            truncated: true,
            full_output_path: Some("/a/folder/1.bash.log".to_owned()),
            meta: None,
            exclude_from_context: false,
            timestamp: protocol::Timestamp::from_millisecond(0),
        };
        let lines: Vec<_> = ran_lines(&ran, 24).iter().map(ToString::to_string).collect();
        let told = lines[1].trim_start();
        assert!(told.starts_with("… 4 more lines"), "{lines:?}");
        assert_eq!(lines[2..7], ["  5", "  6", "  7", "  8", "  9"]);
        assert_eq!(
            lines[7..].iter().map(|line| line.trim()).collect::<String>(),
            "all of it:/a/folder/1.bash.log"
        );
        let whole = BashExecution { truncated: false, ..ran };
        assert_eq!(ran_lines(&whole, 24).len(), 7);
    }
}
