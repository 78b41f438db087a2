//! Replaces pieces of a text, and nothing else of it: line ends are all LF while pieces are looked
//! for, and each that is not replaced stays what it was.

use super::error::{Mismatch, nearest};

/// How many places are told where a piece stands more than once, and how many are counted.
const TOLD: usize = 5;
const COUNTED: usize = 100;

/// A piece of a text and what is to stand there instead, with line ends that are all LF.
pub(super) struct Piece {
    old: String,
    new: String,
}

impl Piece {
    /// Returns the wish to have `new` in the place of `old`.
    pub(super) fn new(old: &str, new: &str) -> Self {
        Self { old: old.replace("\r\n", "\n"), new: new.replace("\r\n", "\n") }
    }
}

/// Returns `text` with all pieces replaced.
pub(super) fn replaced(text: &str, pieces: &[Piece]) -> Result<String, Mismatch> {
    let lines = Lines::of(text);
    let mut found = Vec::with_capacity(pieces.len());
    for (number, piece) in (1..).zip(pieces) {
        let at = place(&lines.text, piece, number)?;
        found.push((at, at + piece.old.len(), number, piece));
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
    for (begin, end, _, piece) in found {
        out.push_str(&text[done..lines.original(begin)]);
        match lines.style {
            Style::Lf => out.push_str(&piece.new),
            Style::CrLf => out.push_str(&piece.new.replace('\n', "\r\n")),
        }
        done = lines.original(end);
    }
    out.push_str(&text[done..]);
    if out == text { Err(Mismatch::NoChange) } else { Ok(out) }
}

/// Returns the one place of a piece.
fn place(text: &str, piece: &Piece, number: usize) -> Result<usize, Mismatch> {
    if piece.old.is_empty() {
        return Err(Mismatch::Empty { number });
    }
    let mut places = occurrences(text, &piece.old);
    match (places.next(), places.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(Mismatch::Missing { number, nearest: nearest(text, &piece.old) }),
        (Some(first), Some(second)) => {
            let others: Vec<_> = [first, second].into_iter().chain(places).take(COUNTED).collect();
            let line = |at: &usize| text[..*at].matches('\n').count() + 1;
            let lines = others.iter().take(TOLD).map(line).collect();
            Err(Mismatch::Several { number, count: others.len(), most: COUNTED, lines })
        }
    }
}

/// Where `old` begins in `text`, also where that overlaps with another place.
fn occurrences<'a>(text: &'a str, old: &'a str) -> impl Iterator<Item = usize> + 'a {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text.get(from..)?.find(old)?;
        from = at + text[at..].chars().next().map_or(1, char::len_utf8);
        Some(at)
    })
}

/// A text with line ends that are all LF and without the mark at its beginning.
struct Lines {
    text: String,
    style: Style,
    /// Where the line feeds are, in `text`, that had a CR before them.
    returns: Vec<usize>,
    /// How long the mark at the beginning is.
    mark: usize,
}

/// What ends most lines of a text.
enum Style {
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
        let style = if returns.len() * 2 > feeds { Style::CrLf } else { Style::Lf };
        Self { text, style, returns, mark: original.len() - body.len() }
    }

    /// Where in the original is what is at `at` in `text`. A line end begins with its CR.
    fn original(&self, at: usize) -> usize {
        self.mark + at + self.returns.partition_point(|place| *place < at)
    }
}

#[cfg(test)]
mod tests;
