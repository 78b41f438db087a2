//! Replaces exact blocks of a text. The search treats every line end as LF. Line ends outside of
//! replaced blocks are not changed.

use super::mismatch::{Mismatch, nearest};

/// How many occurrences of an ambiguous text are listed, and how many are counted.
const LISTED: usize = 5;
const COUNTED: usize = 100;

/// A block of text and its replacement, with line ends that are all LF.
pub(super) struct TextEdit {
    old: String,
    new: String,
}

impl TextEdit {
    /// Returns the edit that replaces `old` by `new`.
    pub(super) fn new(old: &str, new: &str) -> Self {
        Self { old: old.replace("\r\n", "\n"), new: new.replace("\r\n", "\n") }
    }
}

/// Returns `text` with all edits applied.
pub(super) fn replaced(text: &str, edits: &[TextEdit]) -> Result<String, Mismatch> {
    let lines = Lines::of(text);
    let mut found = Vec::with_capacity(edits.len());
    for (number, edit) in (1..).zip(edits) {
        let at = find_once(&lines.text, edit, number)?;
        found.push((at, at + edit.old.len(), number, edit));
    }
    found.sort_by_key(|(begin, _, number, _)| (*begin, *number));
    for pair in found.windows(2) {
        if let [(_, end, one, _), (begin, _, other, _)] = pair
            && begin < end
        {
            return Err(Mismatch::Overlap { one: *one.min(other), other: *one.max(other) });
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (begin, end, _, edit) in found {
        out.push_str(&text[done..lines.original_offset(begin)]);
        match lines.style {
            LineEnd::Lf => out.push_str(&edit.new),
            LineEnd::CrLf => out.push_str(&edit.new.replace('\n', "\r\n")),
        }
        done = lines.original_offset(end);
    }
    out.push_str(&text[done..]);
    if out == text { Err(Mismatch::NoChange) } else { Ok(out) }
}

/// Returns the offset of the only occurrence of the old text.
fn find_once(text: &str, edit: &TextEdit, number: usize) -> Result<usize, Mismatch> {
    if edit.old.is_empty() {
        return Err(Mismatch::Empty { number });
    }
    let mut places = occurrences(text, &edit.old);
    match (places.next(), places.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(Mismatch::Missing { number, nearest: nearest(text, &edit.old) }),
        (Some(first), Some(second)) => {
            let others: Vec<_> = [first, second].into_iter().chain(places).take(COUNTED).collect();
            let line = |at: &usize| text[..*at].matches('\n').count() + 1;
            let lines = others.iter().take(LISTED).map(line).collect();
            Err(Mismatch::Several { number, count: others.len(), most: COUNTED, lines })
        }
    }
}

/// Returns the offsets of `old` in `text`, including overlapping occurrences.
fn occurrences<'a>(text: &'a str, old: &'a str) -> impl Iterator<Item = usize> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text.get(from..)?.find(old)?;
        from = at + text[at..].chars().next().map_or(1, char::len_utf8);
        Some(at)
    })
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
