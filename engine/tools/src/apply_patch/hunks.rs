//! Applies the hunks of a patch to the text of a file.

use engine::ports::ChangeShown;
use protocol::quote;

use super::parse::{Hunk, HunkLine};
use crate::nearest::nearest;
use crate::punctuation::plain;

/// Why a hunk does not apply.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HunkError {
    /// The line behind `@@` is not there.
    #[error("the line `{}` behind @@ on line {line} of the patch was not found{}", quote(.text), .place.describe())]
    Context { line: usize, text: String, place: WrongPlace },
    /// The lines of the hunk are not there.
    #[error(
        "the {} that the hunk on line {line} of the patch keeps or removes {} not found{}{nearest}",
        if *.count == 1 { "line".to_owned() } else { format!("{} lines", .count) },
        if *.count == 1 { "was" } else { "were" },
        .place.describe()
    )]
    Lines { line: usize, count: usize, place: WrongPlace, nearest: String },
}

impl HunkError {
    /// Returns the error without lines of the file if they may not be shown.
    pub(super) fn for_model(self, shown: ChangeShown) -> Self {
        match (self, shown) {
            (Self::Lines { line, count, place, nearest: _ }, ChangeShown::No) => {
                Self::Lines { line, count, place, nearest: String::new() }
            }
            (error, ChangeShown::Yes | ChangeShown::No) => error,
        }
    }
}

/// Where lines are instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrongPlace {
    /// Nowhere in the file.
    Nowhere,
    /// At this line, which is before the hunk above.
    Before(usize),
    /// At this line, which is not at the end of the file.
    NotAtEnd(usize),
}

impl WrongPlace {
    fn describe(self) -> String {
        match self {
            Self::Nowhere => String::new(),
            Self::Before(line) => {
                format!(
                    "; line {line} is before the hunk above: hunks are in the order of the file"
                )
            }
            Self::NotAtEnd(line) => {
                format!("; line {line} is not at the end: leave out `*** End of File`")
            }
        }
    }
}

/// How exactly lines of the file have to be those of the patch. The first that finds a place counts.
#[derive(Clone, Copy)]
enum Exactness {
    Exact,
    WithoutTrailing,
    WithoutSurrounding,
    PlainPunctuation,
}

const LEVELS: [Exactness; 4] = [
    Exactness::Exact,
    Exactness::WithoutTrailing,
    Exactness::WithoutSurrounding,
    Exactness::PlainPunctuation,
];

impl Exactness {
    fn same(self, one: &str, other: &str) -> bool {
        match self {
            Self::Exact => one == other,
            Self::WithoutTrailing => one.trim_end() == other.trim_end(),
            Self::WithoutSurrounding => one.trim() == other.trim(),
            Self::PlainPunctuation => {
                one.trim().chars().map(plain).eq(other.trim().chars().map(plain))
            }
        }
    }
}

/// A line, and its end in the file.
#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a str,
    end: &'a str,
}

/// Returns `text` with all hunks applied, in their order. Lines that a hunk keeps stay as they are in the
/// text; new ones get the line end of most lines, and the last line has an end if it had one.
pub(super) fn patched(text: &str, hunks: &[Hunk]) -> Result<String, HunkError> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<Line<'_>> = body.split_inclusive('\n').map(line).collect();
    let returns = lines.iter().filter(|line| line.end == "\r\n").count();
    let ends = lines.iter().filter(|line| !line.end.is_empty()).count();
    let end = if returns * 2 > ends { "\r\n" } else { "\n" };
    let (mut out, mut done): (Vec<Line<'_>>, usize) = (Vec::new(), 0);
    for hunk in hunks {
        let mut at = done;
        for context in &hunk.contexts {
            at = seek(&lines, &[context], at, Anchor::Anywhere).ok_or_else(|| {
                let place = elsewhere(&lines, &[context], Anchor::Anywhere);
                HunkError::Context { line: hunk.line, text: context.clone(), place }
            })? + 1;
        }
        let (begin, count) = place(&lines, hunk, at)?;
        out.extend(&lines[done..begin]);
        let mut kept = lines[begin..begin + count].iter();
        for line in &hunk.lines {
            match line {
                HunkLine::Added(text) => out.push(Line { text, end }),
                HunkLine::Kept(_) => out.extend(kept.next()),
                HunkLine::Removed(_) => drop(kept.next()),
            }
        }
        done = begin + count;
    }
    out.extend(&lines[done..]);
    let has_last_end = lines.last().is_none_or(|last| !last.end.is_empty());
    let mut after = text[..text.len() - body.len()].to_owned();
    for (number, line) in (1..).zip(&out) {
        let end = match (number == out.len(), has_last_end) {
            (true, false) => "",
            (true, true) | (false, _) if line.end.is_empty() => end,
            (true, true) | (false, _) => line.end,
        };
        after.push_str(line.text);
        after.push_str(end);
    }
    Ok(after)
}

fn line(text: &str) -> Line<'_> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let body = if body.len() < text.len() { body.strip_suffix('\r').unwrap_or(body) } else { body };
    Line { text: body, end: &text[body.len()..] }
}

/// Returns where the lines are that a hunk keeps or removes, and how many they are.
fn place(lines: &[Line<'_>], hunk: &Hunk, at: usize) -> Result<(usize, usize), HunkError> {
    let old = hunk.lines.iter().filter_map(|line| match line {
        HunkLine::Kept(text) | HunkLine::Removed(text) => Some(text),
        HunkLine::Added(_) => None,
    });
    let old: Vec<&String> = old.collect();
    let anchor = if hunk.is_at_end { Anchor::End } else { Anchor::Anywhere };
    if old.is_empty() {
        let begin = match (hunk.contexts.is_empty(), anchor) {
            (false, Anchor::Anywhere) => at,
            (true, _) | (_, Anchor::End) => lines.len(),
        };
        return Ok((begin, 0));
    }
    if let Some(begin) = seek(lines, &old, at, anchor) {
        return Ok((begin, old.len()));
    }
    // A blank line between two hunks is not a line of the file.
    if let (Some(HunkLine::Kept(last)), Some((_, fewer))) = (hunk.lines.last(), old.split_last())
        && last.is_empty()
        && !fewer.is_empty()
        && let Some(begin) = seek(lines, fewer, at, anchor)
    {
        return Ok((begin, fewer.len()));
    }
    let place = elsewhere(lines, &old, anchor);
    let nearest = match place {
        WrongPlace::Nowhere => {
            let text: Vec<_> = lines.iter().map(|line| line.text).collect();
            let old: Vec<_> = old.iter().map(|line| line.as_str()).collect();
            nearest(&text.join("\n"), &old.join("\n")).describe()
        }
        WrongPlace::Before(_) | WrongPlace::NotAtEnd(_) => String::new(),
    };
    Err(HunkError::Lines { line: hunk.line, count: old.len(), place, nearest })
}

/// Where lines may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Anywhere,
    End,
}

/// Returns where `wanted` is at or behind `from`: the first place with the most exact comparison that finds one.
fn seek(lines: &[Line<'_>], wanted: &[&String], from: usize, anchor: Anchor) -> Option<usize> {
    let last = lines.len().checked_sub(wanted.len())?;
    let from = match anchor {
        Anchor::Anywhere => from,
        Anchor::End => from.max(last),
    };
    LEVELS.into_iter().find_map(|level| {
        (from..=last).find(|at| {
            let there = lines[*at..].iter().zip(wanted);
            there.into_iter().all(|(line, wanted)| level.same(line.text, wanted))
        })
    })
}

/// Returns where lines are that are not where they are sought.
fn elsewhere(lines: &[Line<'_>], wanted: &[&String], anchor: Anchor) -> WrongPlace {
    match (seek(lines, wanted, 0, Anchor::Anywhere), anchor) {
        (None, _) => WrongPlace::Nowhere,
        (Some(at), Anchor::Anywhere) => WrongPlace::Before(at + 1),
        (Some(at), Anchor::End) => WrongPlace::NotAtEnd(at + 1),
    }
}

#[cfg(test)]
mod tests;
