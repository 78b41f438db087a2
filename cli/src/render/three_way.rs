//! The three versions of lines that both sides of a conflict changed, bounded.

use protocol::ConflictHunk;

use super::numbers::count;
use super::printable::{cut, visible_line};
use super::terminal::{Meaning, Palette};

/// How many conflicts of a file, and how many lines of each version, are shown.
const MOST_HUNKS: usize = 3;
const MOST_LINES: usize = 20;

/// The longest line of a file, in columns; a terminal may be narrower.
const LONGEST: usize = 160;

/// Returns the lines that show conflicts as git's style `diff3` does, printable and in colour, each at
/// most `longest` columns wide.
#[must_use]
pub fn three_way_lines(hunks: &[ConflictHunk], palette: Palette, longest: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let part = |lines: &mut Vec<String>, part: &[Vec<u8>], meaning| {
        let shown = part.iter().take(MOST_LINES).map(|line| file_line(line, longest.min(LONGEST)));
        lines.extend(shown.map(|text| palette.paint(meaning, &text)));
        if let Some(more @ 1..) = part.len().checked_sub(MOST_LINES) {
            lines.push(format!("… {}", count(more, "more line")));
        }
    };
    let mark = |text: &str| palette.paint(Meaning::Place, text);
    for hunk in hunks.iter().take(MOST_HUNKS) {
        lines.push(mark(&format!("@@ line {} @@", hunk.line)));
        part(&mut lines, &hunk.before, Meaning::Neutral);
        lines.push(mark("<<<<<<< ours"));
        part(&mut lines, &hunk.ours, Meaning::Good);
        lines.push(mark("||||||| base"));
        part(&mut lines, &hunk.base, Meaning::Neutral);
        lines.push(mark("======="));
        part(&mut lines, &hunk.theirs, Meaning::Bad);
        lines.push(mark(">>>>>>> theirs"));
        part(&mut lines, &hunk.after, Meaning::Neutral);
    }
    if let Some(more @ 1..) = hunks.len().checked_sub(MOST_HUNKS) {
        lines.push(format!("… and {} more", count(more, "place")));
    }
    lines
}

fn file_line(line: &[u8], longest: usize) -> String {
    let text = String::from_utf8_lossy(line);
    cut(&visible_line(text.trim_end_matches(['\n', '\r'])), longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_or_hostile_lines_are_shown_bounded_and_printable() {
        let line = [b"\x1b[2J".as_slice(), &[b'7'; 1000], b"\n"].concat();
        let hunk = ConflictHunk {
            line: 2,
            before: vec![b"begin\n".to_vec()],
            base: Vec::new(),
            ours: vec![line.clone(); 1000],
            theirs: vec![line; 1000],
            after: Vec::new(),
        };
        let lines = three_way_lines(&vec![hunk; 5], Palette::Plain, usize::MAX);
        let more = lines.iter().filter(|line| *line == "… 980 more lines").count();
        assert_eq!(more, 2 * MOST_HUNKS, "{lines:?}");
        assert_eq!(lines.last().map(String::as_str), Some("… and 2 places more"));
        let text = lines.join("\n");
        assert!(text.len() < 60_000 && !text.contains('\u{1b}'), "{text}");
    }
}
