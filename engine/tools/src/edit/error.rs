//! Why an edit does not fit its file, and what it was perhaps meant for.

use std::cmp::{Ordering, Reverse};

use engine::tools::quote;

/// How many lines are compared with a line that is not there, and how much of each.
const COMPARED: usize = 20_000;
const COLUMNS: usize = 200;

/// How many lines like the first of a text are looked at.
const BEGINNINGS: usize = 200;

/// How much a line must be like another to be named.
const ALIKE: f32 = 0.6;

/// Why a file was not edited. It is as it was.
#[derive(Debug, thiserror::Error)]
#[error("{path} was not edited: {}{mismatch}", which(*.count, .mismatch.number()))]
pub(crate) struct EditError {
    path: String,
    /// How many edits there were.
    count: usize,
    mismatch: Mismatch,
}

impl EditError {
    /// Returns why the file at `path` was not edited with `count` edits.
    pub(super) fn new(path: &str, count: usize, mismatch: Mismatch) -> Self {
        Self { path: path.to_owned(), count, mismatch }
    }
}

fn which(count: usize, number: Option<usize>) -> String {
    match number {
        Some(number) if count > 1 => format!("edit {number} of {count}: "),
        _ => String::new(),
    }
}

/// Why edits do not fit a text. Edits are counted from 1.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Mismatch {
    /// There is nothing to look for.
    #[error("oldText is empty; use write to make a file")]
    Empty {
        /// The edit.
        number: usize,
    },
    /// The old text is not there.
    #[error("oldText is not in it{}", .nearest.told())]
    Missing {
        /// The edit.
        number: usize,
        /// What comes nearest.
        nearest: Nearest,
    },
    /// The old text is there more than once.
    #[error(
        "oldText has {}{count} occurrences, on lines {}; it must have exactly one: add lines \
         around it",
        if .count == .most { "at least " } else { "" },
        told_lines(.lines, *.count)
    )]
    Several {
        /// The edit.
        number: usize,
        /// How often.
        count: usize,
        /// How many are counted.
        most: usize,
        /// The lines of the first of them.
        lines: Vec<usize>,
    },
    /// Two edits are for the same piece.
    #[error("edits {one} and {other} overlap; make one edit of them")]
    Overlap {
        /// One.
        one: usize,
        /// The other.
        other: usize,
    },
    /// Nothing would change.
    #[error("no change: the new text is the old text")]
    NoChange,
}

impl Mismatch {
    fn number(&self) -> Option<usize> {
        match self {
            Self::Empty { number }
            | Self::Missing { number, .. }
            | Self::Several { number, .. } => Some(*number),
            Self::Overlap { .. } | Self::NoChange => None,
        }
    }
}

fn told_lines(lines: &[usize], count: usize) -> String {
    let told: Vec<_> = lines.iter().map(usize::to_string).collect();
    let more = if count > lines.len() { ", …" } else { "" };
    format!("{}{more}", told.join(", "))
}

/// What comes nearest to a text that is not there.
#[derive(Debug)]
pub(crate) enum Nearest {
    /// It is there but for blanks.
    Blanks {
        /// The line it begins on.
        line: usize,
        /// That line.
        text: String,
    },
    /// It begins as this does, up to a line that is different.
    Begins {
        /// The line it begins on.
        line: usize,
        /// The line that is different.
        differs: usize,
        /// What stands there.
        text: String,
    },
    /// It has the numbers of lines in it.
    Numbers,
    /// Its first line is like this one.
    Line {
        /// The line's number.
        line: usize,
        /// The line.
        text: String,
    },
    /// Nothing does.
    Nothing,
}

impl Nearest {
    fn told(&self) -> String {
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
        }
    }
}

/// Returns what comes nearest to `old` in `text`.
pub(super) fn nearest(text: &str, old: &str) -> Nearest {
    let wanted = old.lines().find(|line| !line.trim().is_empty()).unwrap_or(old);
    let lines: Vec<&str> = text.lines().take(COMPARED).collect();
    if let Some(near) = same_but_for_blanks(&lines, old) {
        return near;
    }
    if is_numbered(wanted) {
        return Nearest::Numbers;
    }
    let wanted = pairs(wanted);
    let likeness = |line: &str| alike(&pairs(line), &wanted);
    let mut best = (ALIKE, None);
    for (number, line) in (1..).zip(&lines).filter(|(_, line)| !line.trim().is_empty()) {
        let alike = likeness(line);
        if alike > best.0 {
            best = (alike, Some((number, line)));
        }
    }
    match best.1 {
        Some((line, text)) => Nearest::Line { line, text: (*text).to_owned() },
        None => Nearest::Nothing,
    }
}

/// Returns where `lines` have the most lines of `old` in a row from its first, without regard to
/// blanks.
fn same_but_for_blanks(lines: &[&str], old: &str) -> Option<Nearest> {
    let wanted: Vec<_> = old.trim().lines().map(squeezed).collect();
    let first = wanted.first()?;
    let begins = (0..lines.len()).filter(|at| squeezed(lines[*at]) == *first).take(BEGINNINGS);
    let alike = begins.map(|at| {
        let there = lines[at..].iter().map(|line| squeezed(line));
        (at, there.zip(&wanted).take_while(|(there, wanted)| there == *wanted).count())
    });
    let (at, count) = alike.max_by_key(|(at, count)| (*count, Reverse(*at)))?;
    if count == wanted.len() {
        return Some(Nearest::Blanks { line: at + 1, text: lines[at].to_owned() });
    }
    let text = lines.get(at + count).copied().unwrap_or("the end of the file");
    Some(Nearest::Begins { line: at + 1, differs: at + count + 1, text: text.to_owned() })
}

/// A line without its blanks.
fn squeezed(line: &str) -> String {
    line.chars().filter(|letter| !letter.is_whitespace()).collect()
}

/// The pairs of letters of a line, sorted.
fn pairs(line: &str) -> Vec<(char, char)> {
    let letters = || line.trim().chars().take(COLUMNS);
    let mut pairs: Vec<_> = letters().zip(letters().skip(1)).collect();
    pairs.sort_unstable();
    pairs
}

/// How much of two lines is the same, between 0 and 1 (the Sørensen–Dice coefficient).
#[expect(clippy::cast_precision_loss, reason = "a few hundred at most")]
fn alike(one: &[(char, char)], other: &[(char, char)]) -> f32 {
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

/// Whether a line begins with a number as read shows them.
fn is_numbered(line: &str) -> bool {
    let rest = line.trim_start().trim_start_matches(|letter: char| letter.is_ascii_digit());
    rest.len() < line.trim_start().len() && (rest.starts_with("  ") || rest.starts_with('\t'))
}
