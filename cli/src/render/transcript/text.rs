//! Texts of others as lines that can be printed, and as few of them as are worth reading.

use super::super::safe::{cut, one_line};

/// The widest that any line gets, in columns.
const WIDEST: usize = 2_000;

/// Which lines of a long text are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// So many of the first.
    First(usize),
    /// So many of the last.
    Last(usize),
}

/// Returns a line that a terminal can only print. Tabs stay: they are part of how text looks.
#[must_use]
pub fn visible_line(line: &str) -> String {
    let parts = line.trim_end_matches(['\n', '\r']).split('\t').map(one_line);
    parts.collect::<Vec<_>>().join("\t")
}

/// Returns the lines of a text that are to be shown, and a line that counts the others.
pub(super) fn lines(text: &str, part: Part) -> Vec<String> {
    let text = text.trim_end();
    let all = text.lines().count();
    let shown = |line: &str| cut(&visible_line(line), WIDEST);
    match part {
        Part::First(count) if all > count => {
            let mut lines: Vec<_> = text.lines().take(count).map(shown).collect();
            lines.push(more(all - count));
            lines
        }
        Part::Last(count) if all > count => {
            let mut lines = vec![more(all - count)];
            lines.extend(text.lines().skip(all - count).map(shown));
            lines
        }
        Part::First(_) | Part::Last(_) => text.lines().map(shown).collect(),
    }
}

fn more(count: usize) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("… {count} more line{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_counted() {
        let text = "a\nb\nc\n\n";
        assert_eq!(lines(text, Part::First(3)), ["a", "b", "c"]);
        assert_eq!(lines(text, Part::First(1)), ["a", "… 2 more lines"]);
        assert_eq!(lines(text, Part::Last(2)), ["… 1 more line", "b", "c"]);
        assert_eq!(lines("", Part::Last(2)), Vec::<String>::new());
    }

    #[test]
    fn a_line_obeys_nobody_and_keeps_its_tabs() {
        assert_eq!(visible_line("a\tb\u{1b}[2J\u{7}\r\n"), "a\tb␇");
        assert_eq!(visible_line("10%\r20%"), "10%␍20%");
        assert!(lines(&"x".repeat(9_000), Part::First(1))[0].chars().count() <= WIDEST);
    }
}
