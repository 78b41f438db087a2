//! Breaks styled text into lines of a width. What does not fit breaks at a space, or anywhere if a
//! word is longer than a line.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::render::{one_line, width};

/// Returns `text` as lines of at most `columns` columns. The first one begins with `first`, the others
/// with `rest`. The text must be printable; a line break in it ends a line.
pub(super) fn wrapped(
    text: &[Span<'_>],
    columns: usize,
    first: &[Span<'static>],
    rest: &[Span<'static>],
) -> Vec<Line<'static>> {
    let letters: Vec<(char, Style)> = text
        .iter()
        .flat_map(|span| span.content.chars().map(move |letter| (letter, span.style)))
        .collect();
    let (mut lines, mut start) = (Vec::new(), 0);
    while start < letters.len() || lines.is_empty() {
        let prefix = if lines.is_empty() { first } else { rest };
        let room = columns.saturating_sub(spans_width(prefix)).max(1);
        let (end, next) = line_end(&letters[start..], room);
        lines.push(joined(prefix, &letters[start..start + end]));
        start += next;
    }
    lines
}

/// Returns a printable span: [`one_line`] of the text.
pub(super) fn span(text: &str, style: Style) -> Span<'static> {
    Span::styled(one_line(text), style)
}

/// Returns the width of spans in columns.
pub(super) fn spans_width(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| width(&span.content)).sum()
}

/// Returns how many characters the first line has, and how many it takes with the space at which it
/// breaks.
fn line_end(letters: &[(char, Style)], room: usize) -> (usize, usize) {
    let (mut used, mut space) = (0, None);
    for (at, (letter, _)) in letters.iter().enumerate() {
        if *letter == '\n' {
            return (at, at + 1);
        }
        let columns = letter_width(*letter);
        if used + columns > room && at > 0 {
            let end = if *letter == ' ' { Some(at) } else { space };
            let Some(end) = end else { return (at, at) };
            let spaces = letters[end..].iter().take_while(|(letter, _)| *letter == ' ').count();
            return (end, end + spaces);
        }
        // An indentation is not a place to break.
        if *letter == ' ' && letters[..at].iter().any(|(before, _)| *before != ' ') {
            space = Some(at);
        }
        used += columns;
    }
    (letters.len(), letters.len())
}

fn letter_width(letter: char) -> usize {
    unicode_width::UnicodeWidthChar::width(letter).unwrap_or(0)
}

fn joined(prefix: &[Span<'static>], letters: &[(char, Style)]) -> Line<'static> {
    let mut spans = prefix.to_vec();
    for run in letters.chunk_by(|(_, one), (_, other)| one == other) {
        let text: String = run.iter().map(|(letter, _)| letter).collect();
        spans.push(Span::styled(text, run[0].1));
    }
    trim_end(&mut spans);
    Line::from(spans)
}

/// Removes the spaces at the end of a line, but for those that show a cursor or a choice.
pub(super) fn trim_end(spans: &mut Vec<Span<'static>>) {
    while let Some(last) = spans.last_mut() {
        if last.style.add_modifier.contains(Modifier::REVERSED) {
            return;
        }
        let kept = last.content.trim_end_matches(' ').len();
        last.content.to_mut().truncate(kept);
        if kept > 0 {
            return;
        }
        spans.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, columns: usize) -> Vec<String> {
        let rest = [Span::raw("> ")];
        let lines = wrapped(&[Span::raw(text.to_owned())], columns, &[Span::raw("- ")], &rest);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn text_breaks_at_spaces_and_long_words_anywhere() {
        assert_eq!(lines("one two three", 9), ["- one two", "> three"]);
        assert_eq!(lines("one  two", 5), ["- one", "> two"]);
        assert_eq!(lines("abcdefgh", 5), ["- abc", "> def", "> gh"]);
        assert_eq!(lines("", 5), ["-"]);
        assert_eq!(lines("a\nb", 5), ["- a", "> b"]);
    }

    #[test]
    fn no_line_is_wider_than_its_columns() {
        let text = "日本語 and e\u{301}e\u{301} 👩🚀 words of aVeryLongKindWithoutSpaces";
        for columns in 4..30 {
            for line in lines(text, columns) {
                assert!(width(&line) <= columns, "{line:?} in {columns}");
            }
        }
    }
}
