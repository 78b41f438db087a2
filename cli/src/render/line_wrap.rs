//! Wraps printed lines at the width of a terminal: between words, and never inside of a command to copy.

use super::printable;
use super::terminal::OutputWidth;

/// The fewest columns that the rest of a cell gets below its beginning. With less room, it begins at the
/// left.
const NARROWEST: usize = 24;

/// The words after which `git` begins a command, and not a sentence.
const GIT_COMMANDS: [&str; 8] =
    ["--git-dir", "add", "apply", "config", "diff", "fetch", "merge", "switch"];

/// Returns `text` with its long lines wrapped, if there is a terminal. The rest of a line stands below the
/// cell in which it began; two blanks end a cell. The text must be printable, and may be coloured.
#[must_use]
pub fn wrapped(text: &str, room: OutputWidth) -> String {
    let OutputWidth::Columns(columns) = room else { return text.to_owned() };
    let lines = text.split('\n').map(|line| match width(line) <= columns {
        true => line.to_owned(),
        false => wrapped_line(line, columns),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A word or a command, with the blanks before it.
struct Token<'a> {
    gap: usize,
    text: &'a str,
    /// Whether a cell begins with it.
    begins_cell: bool,
}

fn wrapped_line(line: &str, columns: usize) -> String {
    let tokens = tokens(line);
    let left = indent_below(&tokens, columns);
    let (mut out, mut column, mut hanging) = (String::new(), 0, left);
    for (at, token) in tokens.iter().enumerate() {
        let begin = column + token.gap;
        let end = begin + width(token.text);
        let is_squeezed = token.begins_cell && columns < begin + NARROWEST.min(cell(&tokens[at..]));
        // A long word may fit at the left only.
        let fits_below = hanging + width(token.text) <= columns;
        let indent = if token.begins_cell || !fits_below { left } else { hanging };
        // The terminal itself breaks a command that fits nowhere.
        let fits_nowhere =
            (at == 1 || is_command(token.text)) && indent + width(token.text) > columns;
        if at > 0 && (end > columns || is_squeezed) && !fits_nowhere {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent + width(token.text);
            hanging = indent;
        } else {
            out.push_str(&" ".repeat(token.gap));
            column = end;
            if token.begins_cell && at > 0 {
                hanging = if begin + NARROWEST <= columns { begin } else { left };
            }
        }
        out.push_str(token.text);
    }
    out
}

/// Returns where a cell begins that does not fit beside those before it: below the second one, if that is
/// near, and a little to the right.
fn indent_below(tokens: &[Token<'_>], columns: usize) -> usize {
    let indent = tokens.first().map_or(0, |first| first.gap);
    let mut column = 0;
    for (at, token) in tokens.iter().enumerate() {
        column += token.gap;
        if at > 0 && token.begins_cell {
            return if column <= columns / 8 { column + 2 } else { indent + 2 };
        }
        column += width(token.text);
    }
    indent + 2
}

/// Returns the width of the cell at the beginning of `tokens`.
fn cell(tokens: &[Token<'_>]) -> usize {
    let rest = tokens.iter().skip(1).take_while(|token| !token.begins_cell);
    let rest: usize = rest.map(|token| token.gap + width(token.text)).sum();
    tokens.first().map_or(0, |first| width(first.text)) + rest
}

/// Splits a line into words, and commands as a whole.
fn tokens(line: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut rest = line.trim_end_matches(' ');
    while !rest.is_empty() {
        let word = rest.trim_start_matches(' ');
        let gap = rest.len() - word.len();
        let begins_cell = gap > 1 || tokens.is_empty();
        let can_begin =
            begins_cell || tokens.last().is_some_and(|before| before.text.ends_with(':'));
        let end = if can_begin && is_command(word) { command_end(word) } else { word_end(word) };
        tokens.push(Token { gap, text: &word[..end], begins_cell });
        rest = &word[end..];
    }
    tokens
}

fn word_end(text: &str) -> usize {
    text.find(' ').unwrap_or(text.len())
}

/// Returns whether a text begins with a command, or with an option to add to one.
fn is_command(text: &str) -> bool {
    let mut words = text.split(' ');
    match words.next().unwrap_or_default() {
        "regatta" | "$" => true,
        "git" => words.next().is_some_and(|word| GIT_COMMANDS.contains(&word)),
        word => word.starts_with("REGATTA_HOME=") || word.starts_with("--"),
    }
}

/// Returns where a command ends: before two blanks or brackets, or with the sentence or the brackets
/// around it.
fn command_end(text: &str) -> usize {
    let ends = ["  ", " ("].iter().filter_map(|end| text.find(end));
    let cell = ends.min().unwrap_or(text.len());
    let mark = [";", ",", ")"].iter().filter_map(|mark| {
        text[..cell].match_indices(' ').map(|(at, _)| at).find(|at| text[..*at].ends_with(mark))
    });
    mark.min().unwrap_or(cell)
}

/// Returns the width of a text without its colours.
fn width(text: &str) -> usize {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().map_or(0, printable::width);
    let coloured = parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text));
    first + coloured.map(printable::width).sum::<usize>()
}

/// Returns the lines that are too long for a terminal of 80 columns, but for those that end with a command
/// to copy which fits on no line.
#[cfg(test)]
pub fn too_long(text: &str) -> Vec<&str> {
    let is_command = |line: &str| {
        let last = tokens(line).pop();
        last.is_some_and(|last| is_command(last.text) && width(last.text) > 70)
    };
    text.lines().filter(|line| width(line) > 80 && !is_command(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::terminal::{Meaning, Palette};
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        wrapped(text, OutputWidth::Columns(80)).split('\n').map(str::to_owned).collect()
    }

    #[test]
    fn the_rest_of_a_line_stands_below_its_cell_and_no_line_is_longer_than_the_terminal() {
        let word = "word ".repeat(40);
        let beside = " ".repeat(30) + "word";
        for (line, expected) in [
            (format!("note: {word}"), "  word word"),
            (format!("    because {word}"), "      word word"),
            (format!("left        {word}"), "            word word"),
            (format!("kept    regatta diff r1/t1    {word}"), &*beside),
            (
                format!("kept    regatta diff r1/{}    {word}", "t".repeat(50)),
                "          word word",
            ),
            (format!("{}  landed  {word}", "t".repeat(60)), "  word word"),
            (
                "note: the session works in /tmp/regatta-1000-home, not in your home folder \
                 (--allow-home works there), and has read AGENTS.md"
                    .to_owned(),
                "  (--allow-home works there), ",
            ),
        ] {
            let lines = lines(&line);
            assert!(lines.len() > 1 && lines.iter().all(|line| width(line) <= 80), "{lines:#?}");
            assert!(lines[1].starts_with(expected), "{lines:#?}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&lines.join(" ")), words(&line));
        }
        assert_eq!(wrapped(&word, OutputWidth::Pipe), word);
        assert_eq!(lines("short\n\n  lines "), ["short", "", "  lines "]);
    }

    #[test]
    fn a_command_is_on_one_line_whatever_its_length() {
        let target = format!("r1/{}", "t".repeat(45));
        for command in [
            format!("regatta apply {target} --markers --repo '/a b'"),
            format!("REGATTA_HOME=/x regatta diff {target} | git apply --3way"),
            format!("git fetch /store {target} and more words of it"),
            format!("--setup 'python3 -m venv .venv && .venv/bin/pip install {target}'"),
        ] {
            for text in [
                format!("kept    {command}  its changes; git add first, and then all of the rest"),
                format!("nothing of the run is ready to land, but for: {command}"),
                format!("note: it lacks a version; first: {command}; then the rest"),
                format!("  try: {command} (says what is there, and what is not)"),
            ] {
                let lines = lines(&text);
                assert!(lines.iter().any(|line| line.contains(&command)), "{lines:#?}");
                let others = lines.iter().filter(|line| !line.contains(&command));
                assert!(others.clone().all(|line| width(line) <= 80), "{lines:#?}");
            }
        }
        let sentence = "note: git lacks the version of three files with which the task began, so that it fails";
        let [first, second] = lines(sentence).try_into().unwrap();
        assert!(first.ends_with("so that it") && second == "  fails", "{first}\n{second}");
    }

    #[test]
    fn colours_take_no_room() {
        let word = Palette::Colour.paint(Meaning::Kept, "left");
        let line = [&*word; 16].join(" ");
        assert_eq!((lines(&line).len(), width(&line)), (1, 79));
        assert_eq!(lines(&format!("{line} x")).len(), 2);
    }
}
