//! Replaces exact pieces of a text. The search treats every line end as LF. Line ends outside of
//! replaced pieces are not changed.

use std::borrow::Cow;

use super::folded::{Folded, indented, with_indentation};
use super::mismatch::Mismatch;
use super::places::{SoughtText, Wanted, places};
use crate::display::MAX_FILE_BYTES;

/// A piece of text and its replacement, with line ends that are all LF.
pub(super) struct TextEdit {
    old: String,
    new: String,
    wanted: Wanted,
}

impl TextEdit {
    /// Returns the edit that replaces `old` by `new`.
    pub(super) fn new(old: &str, new: &str, wanted: Wanted) -> Self {
        Self { old: old.replace("\r\n", "\n"), new: new.replace("\r\n", "\n"), wanted }
    }
}

/// A text after its edits.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Replaced {
    pub(super) text: String,
    /// How many places were replaced.
    pub(super) places: usize,
    /// The edits whose old text differs from the file in blanks or punctuation.
    pub(super) inexact: Vec<Inexact>,
}

/// An edit whose old text differs from the file in blanks or punctuation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Inexact {
    /// The edit.
    pub(super) number: usize,
    /// The line on which its text begins in the file.
    pub(super) line: usize,
}

/// A place, and what is to be there.
struct FoundEdit<'a> {
    begin: usize,
    end: usize,
    number: usize,
    new: Cow<'a, str>,
}

/// Returns `text` with all edits applied.
pub(super) fn replaced(text: &str, edits: &[TextEdit]) -> Result<Replaced, Mismatch> {
    let lines = Lines::of(text);
    let (mut found, inexact) = find(&lines.text, edits)?;
    found.sort_by_key(|place| (place.begin, place.number));
    for pair in found.windows(2) {
        if let [one, other] = pair
            && other.begin < one.end
        {
            let (one, other) = (one.number.min(other.number), one.number.max(other.number));
            return Err(Mismatch::Overlap { one, other });
        }
    }
    let added: usize = found.iter().map(|place| place.new.len()).sum();
    check_size(added.saturating_add(text.len()))?;
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for place in &found {
        out.push_str(&text[done..lines.original_offset(place.begin)]);
        match lines.style {
            LineEnd::Lf => out.push_str(&place.new),
            LineEnd::CrLf => out.push_str(&place.new.replace('\n', "\r\n")),
        }
        done = lines.original_offset(place.end);
    }
    out.push_str(&text[done..]);
    match out == text {
        true => Err(Mismatch::NoChange),
        false => Ok(Replaced { text: out, places: found.len(), inexact }),
    }
}

/// Refuses a text that would be larger than files that are written.
fn check_size(bytes: usize) -> Result<(), Mismatch> {
    let most = usize::try_from(MAX_FILE_BYTES).unwrap_or(usize::MAX);
    // What is replaced is part of the file, so that twice as much is surely too large.
    if bytes > 2 * most { Err(Mismatch::Grows { most }) } else { Ok(()) }
}

/// Returns the places of all edits.
fn find<'a>(
    text: &str,
    edits: &'a [TextEdit],
) -> Result<(Vec<FoundEdit<'a>>, Vec<Inexact>), Mismatch> {
    if let Some(empty) = edits.iter().position(|edit| edit.old.is_empty()) {
        return Err(Mismatch::Empty { number: empty + 1 });
    }
    let piece = |(number, edit): (usize, &'a TextEdit)| SoughtText {
        text: &edit.old,
        wanted: edit.wanted,
        number,
    };
    let pieces: Vec<_> = (1..).zip(edits).map(piece).collect();
    let exact = places(text, &pieces)?;
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for ((number, edit), places) in (1..).zip(edits).zip(exact) {
        if places.is_empty() {
            missing.push((number, edit));
        }
        found.extend(places.into_iter().map(|begin| {
            let end = begin + edit.old.len();
            FoundEdit { begin, end, number, new: edit.new.as_str().into() }
        }));
    }
    let places = find_inexact(text, &missing)?;
    let inexact = inexact(text, &places);
    found.extend(places);
    Ok((found, inexact))
}

/// Returns the lines of places, in their order, in one pass over the text.
fn inexact(text: &str, places: &[FoundEdit<'_>]) -> Vec<Inexact> {
    let mut numbered: Vec<_> = places.iter().enumerate().collect();
    numbered.sort_by_key(|(_, place)| place.begin);
    let (mut line, mut counted) = (1, 0);
    let mut lines: Vec<_> = numbered
        .into_iter()
        .map(|(at, place)| {
            line += text[counted..place.begin].matches('\n').count();
            counted = place.begin;
            (at, Inexact { number: place.number, line })
        })
        .collect();
    lines.sort_by_key(|(at, _)| *at);
    lines.into_iter().map(|(_, inexact)| inexact).collect()
}

/// Returns the places of edits whose old text is in `text` with other blanks or punctuation.
fn find_inexact<'a>(
    text: &str,
    edits: &[(usize, &'a TextEdit)],
) -> Result<Vec<FoundEdit<'a>>, Mismatch> {
    if edits.is_empty() {
        return Ok(Vec::new());
    }
    let there = Folded::of(text);
    let olds: Vec<_> = edits.iter().map(|(_, edit)| Folded::of(&edit.old)).collect();
    let mut pieces = Vec::new();
    for ((number, edit), old) in edits.iter().zip(&olds) {
        if !old.has_letters() {
            return Err(Mismatch::missing(*number, text, &edit.old));
        }
        pieces.push(SoughtText { text: &old.text, wanted: edit.wanted, number: *number });
    }
    let found = places(&there.text, &pieces)?;
    let mut out = Vec::new();
    for (((number, edit), old), places) in edits.iter().zip(&olds).zip(found) {
        let missing = || Mismatch::missing(*number, text, &edit.old);
        check_size(places.len().saturating_mul(edit.new.len()))?;
        let ends = places.into_iter().map(|begin| (begin, begin + old.text.len()));
        let whole = ends.filter(|(begin, end)| there.is_whole(*begin, *end));
        let before = out.len();
        for (begin, end) in whole {
            let (begin, end) = there.place(text, begin, end);
            let (begin, start) = with_indentation(text, begin);
            let new = indented(&edit.old, &text[begin..end], &edit.new, start);
            let new = new.ok_or_else(missing)?.into();
            out.push(FoundEdit { begin, end, number: *number, new });
        }
        if out.len() == before {
            return Err(missing());
        }
    }
    Ok(out)
}

/// A text whose line ends are all LF, without its byte order mark.
struct Lines {
    text: String,
    style: LineEnd,
    /// The offsets in `text` of line feeds that had a CR before them.
    returns: Vec<usize>,
    /// The length of the byte order mark.
    mark: usize,
}

/// The line end of most lines.
enum LineEnd {
    Lf,
    CrLf,
}

impl Lines {
    fn of(original: &str) -> Self {
        let body = original.strip_prefix('\u{feff}').unwrap_or(original);
        let mut text = String::with_capacity(body.len());
        let mut returns = Vec::new();
        for (count, part) in body.split("\r\n").enumerate() {
            if count > 0 {
                returns.push(text.len());
                text.push('\n');
            }
            text.push_str(part);
        }
        let feeds = text.matches('\n').count();
        let style = if returns.len() * 2 > feeds { LineEnd::CrLf } else { LineEnd::Lf };
        Self { text, style, returns, mark: original.len() - body.len() }
    }

    /// Converts the offset `at` in `text` to an offset in the original. An LF that had a CR before
    /// it gets the offset of the CR.
    fn original_offset(&self, at: usize) -> usize {
        self.mark + at + self.returns.partition_point(|place| *place < at)
    }
}

#[cfg(test)]
mod tests;
