//! The place in a file that is most similar to a text that is not in it: what a model may have meant.

use std::cmp::{Ordering, Reverse};

use protocol::quote;

/// How many lines of the file are compared with a line that was not found, and how many columns of
/// each.
const COMPARED: usize = 20_000;
const COLUMNS: usize = 200;

/// How many lines that equal the first line of the old text are tried as its beginning.
const CANDIDATES: usize = 200;

/// How similar a line has to be to be suggested.
const SIMILARITY: f32 = 0.6;

/// The place that is most similar to a text that is not in the file.
#[derive(Debug)]
pub(crate) enum NearestMatch {
    /// The file contains the text with different white space.
    Blanks {
        /// The line on which it begins.
        line: usize,
        /// The text of that line.
        text: String,
    },
    /// The file contains the first lines of the text, up to a line that differs.
    Begins {
        /// The line on which it begins.
        line: usize,
        /// The line that differs.
        differs: usize,
        /// The text of that line.
        text: String,
    },
    /// The old text contains line numbers.
    Numbers,
    /// A line is similar to the first line of the text.
    Line {
        /// The line's number.
        line: usize,
        /// The line.
        text: String,
    },
    /// No line of the file is similar.
    Nothing,
    /// What is in the file may not be shown.
    Hidden,
}

impl NearestMatch {
    /// Returns what a message says about it, behind what is not there.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Blanks { line, text } => format!(
                "; with other blanks it is on line {line}: `{}`. Copy it exactly as it stands there",
                quote(text)
            ),
            Self::Begins { line, differs, text } => format!(
                "; it begins as line {line} does, but line {differs} is `{}`. Read it again",
                quote(text)
            ),
            Self::Numbers => "; leave out the line numbers that read shows".to_owned(),
            Self::Line { line, text } => {
                format!("; the nearest is line {line}: `{}`. Read the file again", quote(text))
            }
            Self::Nothing => "; read the file again".to_owned(),
            Self::Hidden => String::new(),
        }
    }
}

/// Returns the place in `text` that is most similar to `old`.
pub(crate) fn nearest(text: &str, old: &str) -> NearestMatch {
    let wanted = old.lines().find(|line| !line.trim().is_empty()).unwrap_or(old);
    let lines: Vec<&str> = text.lines().take(COMPARED).collect();
    if let Some(near) = longest_match(&lines, old) {
        return near;
    }
    if is_numbered(wanted) {
        return NearestMatch::Numbers;
    }
    let wanted = pairs(wanted);
    let likeness = |line: &str| similarity(&pairs(line), &wanted);
    let mut best = (SIMILARITY, None);
    for (number, line) in (1..).zip(&lines).filter(|(_, line)| !line.trim().is_empty()) {
        let alike = likeness(line);
        if alike > best.0 {
            best = (alike, Some((number, line)));
        }
    }
    match best.1 {
        Some((line, text)) => NearestMatch::Line { line, text: (*text).to_owned() },
        None => NearestMatch::Nothing,
    }
}

/// Returns the place in `lines` that matches the most consecutive lines of `old`, starting with its
/// first line. White space is ignored.
fn longest_match(lines: &[&str], old: &str) -> Option<NearestMatch> {
    let wanted: Vec<_> = old.trim().lines().map(without_spaces).collect();
    let first = wanted.first()?;
    let begins =
        (0..lines.len()).filter(|at| without_spaces(lines[*at]) == *first).take(CANDIDATES);
    let alike = begins.map(|at| {
        let there = lines[at..].iter().map(|line| without_spaces(line));
        (at, there.zip(&wanted).take_while(|(there, wanted)| there == *wanted).count())
    });
    let (at, count) = alike.max_by_key(|(at, count)| (*count, Reverse(*at)))?;
    if count == wanted.len() {
        return Some(NearestMatch::Blanks { line: at + 1, text: lines[at].to_owned() });
    }
    let text = lines.get(at + count).copied().unwrap_or("the end of the file");
    Some(NearestMatch::Begins { line: at + 1, differs: at + count + 1, text: text.to_owned() })
}

/// Returns a line without its white space.
fn without_spaces(line: &str) -> String {
    line.chars().filter(|letter| !letter.is_whitespace()).collect()
}

/// Returns the pairs of adjacent characters of a line, sorted.
fn pairs(line: &str) -> Vec<(char, char)> {
    let letters = || line.trim().chars().take(COLUMNS);
    let mut pairs: Vec<_> = letters().zip(letters().skip(1)).collect();
    pairs.sort_unstable();
    pairs
}

/// Returns the similarity of two lines between 0 and 1 (the Sørensen–Dice coefficient).
#[expect(clippy::cast_precision_loss, reason = "a few hundred at most")]
fn similarity(one: &[(char, char)], other: &[(char, char)]) -> f32 {
    let (mut here, mut there, mut same) = (0, 0, 0);
    while here < one.len() && there < other.len() {
        match one[here].cmp(&other[there]) {
            Ordering::Less => here += 1,
            Ordering::Greater => there += 1,
            Ordering::Equal => (here, there, same) = (here + 1, there + 1, same + 1),
        }
    }
    match one.len() + other.len() {
        0 => 0.0,
        all => (2 * same) as f32 / all as f32,
    }
}

/// Returns whether a line begins with a line number in the format of the tool `read`.
fn is_numbered(line: &str) -> bool {
    let rest = line.trim_start().trim_start_matches(|letter: char| letter.is_ascii_digit());
    rest.len() < line.trim_start().len() && (rest.starts_with("  ") || rest.starts_with('\t'))
}
