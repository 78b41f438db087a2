//! What a task yielded, as text: whole, or as much of it as is shown below the table.

use serde_json::Value;

use regatta::text::size_text;

use super::numbers::count;
use super::printable::{visible_line, width};
use super::terminal::OutputWidth;

/// The maximum number of lines of an answer below the table.
const LINES: usize = 12;

/// The maximum size of an answer below the table, in bytes.
const BYTES: usize = 4 << 10;

/// How much of a text is kept in memory: more than is shown, so that its last line is never taken
/// for a whole one.
const KEPT: usize = BYTES + 8;

/// How much of an answer is kept in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerPart {
    /// All of it.
    Whole,
    /// As much as is shown below the table.
    Beginning,
}

/// What a task yielded, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    text: String,
    /// The size of the whole text.
    size: TextSize,
}

/// The size of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextSize {
    lines: usize,
    bytes: usize,
}

/// An answer as lines to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShownAnswer {
    /// The lines; printable.
    pub(super) lines: Vec<String>,
    /// The size of the whole answer, if the lines are not all of it.
    pub(super) cut: Option<String>,
}

/// Returns a yielded value as text: a text as it is, other data as compact JSON. Returns `None` for
/// null and for a blank text, which are not answers.
#[must_use]
pub fn answer_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => {
            let text = text.trim_end();
            (!text.is_empty()).then(|| text.trim_start_matches(['\n', '\r']).to_owned())
        }
        data => Some(data.to_string()),
    }
}

/// Returns the lines of a text as printable lines.
pub fn answer_lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(visible_line)
}

impl Answer {
    /// Returns the answer of a task that yielded `value`, or `None` if that is not an answer.
    #[must_use]
    pub fn of(value: &Value, part: AnswerPart) -> Option<Self> {
        let mut text = answer_text(value)?;
        let size = TextSize { lines: text.lines().count(), bytes: text.len() };
        if part == AnswerPart::Beginning && text.len() > KEPT {
            text.truncate(text.floor_char_boundary(KEPT));
            text.shrink_to_fit();
        }
        Some(Self { text, size })
    }

    /// Returns all lines of the answer as printable lines.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        answer_lines(&self.text)
    }

    /// Returns the lines that are shown below the table, `indent` columns from the left: as many as
    /// fit into twelve lines of the terminal and 4 KB.
    pub(super) fn fit(&self, indent: usize, room: OutputWidth) -> ShownAnswer {
        let columns = match room {
            OutputWidth::Columns(columns) => columns.saturating_sub(indent).max(1),
            OutputWidth::Pipe => usize::MAX,
        };
        let (mut lines, mut rows, mut bytes) = (Vec::new(), 0, 0);
        let mut is_whole = self.text.len() == self.size.bytes;
        for line in self.text.lines() {
            let shown = visible_line(line);
            let needed = width(&shown).div_ceil(columns).max(1);
            if rows + needed > LINES || bytes + line.len() > BYTES {
                is_whole = false;
                if rows < LINES && bytes < BYTES {
                    let left = columns.saturating_mul(LINES - rows).min(BYTES - bytes);
                    lines.push(cut_line(&shown, left));
                }
                break;
            }
            rows += needed;
            bytes += line.len() + 1;
            lines.push(shown);
        }
        let cut = (!is_whole).then(|| match self.size {
            TextSize { lines: 1, bytes } => format!("{} in all", size_text(bytes)),
            TextSize { lines, bytes } => {
                format!("{} and {} in all", count(lines, "line"), size_text(bytes))
            }
        });
        ShownAnswer { lines, cut }
    }

    /// Returns the answer if it is one line of at most `room` columns.
    pub(super) fn short(&self, room: usize) -> Option<String> {
        let line = visible_line(&self.text);
        (self.size.lines == 1 && self.size.bytes == self.text.len() && width(&line) <= room)
            .then_some(line)
    }
}

/// How far a cut moves to the left to end between two words, in bytes.
const WORD: usize = 200;

/// Returns the beginning of a line of at most `columns` columns, with `…` after it. It ends between
/// two words if one begins near the end.
fn cut_line(line: &str, columns: usize) -> String {
    let whole = super::printable::cut(line, columns);
    let kept = whole.trim_end_matches('…');
    let near = kept.floor_char_boundary(kept.len().saturating_sub(WORD));
    match kept[near..].rfind([' ', '\t', ',']) {
        Some(at) if near + at > 0 => format!("{}…", &kept[..near + at]),
        _ => format!("{kept}…"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fitted(value: &Value, room: OutputWidth) -> ShownAnswer {
        let answer = Answer::of(value, AnswerPart::Beginning).expect("it is an answer");
        answer.fit(4, room)
    }

    #[test]
    fn a_text_is_shown_as_text_and_data_as_json_on_one_line() {
        let lines = |value: &Value| fitted(value, OutputWidth::Pipe).lines;
        assert_eq!(lines(&json!("one\n\n  two\n")), ["one", "", "  two"]);
        assert_eq!(
            lines(&json!({ "b": [1, null], "a": "x\ny" })),
            [r#"{"b":[1,null],"a":"x\ny"}"#]
        );
        assert_eq!(lines(&json!(0)), ["0"]);
        for nothing in [json!(null), json!(""), json!(" \n\t")] {
            assert_eq!(Answer::of(&nothing, AnswerPart::Whole), None, "{nothing}");
        }
    }

    #[test]
    fn twelve_lines_and_four_kilobytes_are_shown_and_the_size_of_all() {
        let many: String = (1..=40).map(|line| format!("line {line}\n")).collect();
        let cut = fitted(&json!(many), OutputWidth::Pipe);
        assert_eq!((cut.lines.len(), cut.lines[11].as_str()), (12, "line 12"));
        assert_eq!(cut.cut.as_deref(), Some("40 lines and 310 bytes in all"));
        let twelve: String = (1..=12).map(|line| format!("line {line}\n")).collect();
        assert_eq!(fitted(&json!(twelve), OutputWidth::Pipe).cut, None);

        let long = "nonce-4711 ".repeat(1_000);
        let cut = fitted(&json!(long), OutputWidth::Pipe);
        assert_eq!(cut.cut.as_deref(), Some("10 KB in all"));
        assert!(cut.lines[0].len() <= BYTES + "…".len(), "{}", cut.lines[0].len());
        let words = cut.lines[0].trim_end_matches('…');
        assert!(words.split(' ').all(|word| word == "nonce-4711"), "no word is cut: {words}");
    }

    #[test]
    fn lines_that_a_terminal_wraps_count_as_often_as_it_shows_them() {
        let cut = fitted(&json!("x".repeat(3_000)), OutputWidth::Columns(80));
        assert_eq!(cut.lines.len(), 1);
        assert!(width(&cut.lines[0]) <= 12 * 76, "{}", width(&cut.lines[0]));
        let text = format!("{}\n{}", "x".repeat(10 * 76), "y".repeat(3 * 76));
        let cut = fitted(&json!(text), OutputWidth::Columns(80));
        assert_eq!(cut.lines, ["x".repeat(10 * 76), format!("{}…", "y".repeat(2 * 76 - 1))]);
        assert_eq!(cut.cut.as_deref(), Some("2 lines and 989 bytes in all"));
    }

    #[test]
    fn nothing_of_it_moves_the_cursor_and_memory_is_bounded() {
        let hostile = "a\u{1b}[2Jb\u{9b}c\u{202e}\r\nd\te\u{7}".to_owned();
        let lines = fitted(&json!(hostile), OutputWidth::Pipe).lines;
        assert_eq!(lines, ["ab�c�", "d\te␇"]);
        let huge = json!("ä".repeat(5_000_000));
        let answer = Answer::of(&huge, AnswerPart::Beginning).unwrap();
        assert!(answer.text.capacity() <= KEPT);
        assert_eq!(answer.fit(0, OutputWidth::Pipe).cut.as_deref(), Some("10.0 MB in all"));
    }
}
