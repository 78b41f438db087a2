//! An answer of a model while it arrives: splits off what is complete.

use ratatui::text::Span;

use super::highlight::{Highlighter, Syntaxes};

mod first_block;
mod full_rows;

use first_block::{Fence, FirstBlock, Kind};
use full_rows::{block_marker, first_full_row};

/// The most bytes of a block that is not complete. A longer one is split.
const LONGEST: usize = 16 << 10;

/// A complete part of an answer. It does not change when more text arrives.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// Markdown. A list at its beginning begins with the number.
    Markdown { source: String, number: Option<u64> },
    /// A line of code.
    Code(Vec<Span<'static>>),
}

/// Whether an empty line comes before a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// It begins a block of its own.
    Before,
    /// It belongs to the part before.
    None,
}

/// An answer while it arrives.
#[derive(Debug)]
pub(super) struct AnswerStream {
    /// The text that is not complete.
    rest: String,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The rest begins a block.
    Block,
    /// The rest goes on with a list: the number of its next item, and whether its items are apart.
    List { number: Option<u64>, gap: Gap },
    /// The rest goes on with a paragraph that was split because it is long, in a line of the text or
    /// at its begin.
    Split(SplitAt),
    /// The rest is inside of a block of code.
    Code { fence: Fence, code: Highlighter, gap: Gap },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SplitAt {
    /// In a line, where no block begins.
    Space,
    /// At the begin of a line, where another block may begin.
    Line,
}

impl AnswerStream {
    pub(super) fn new() -> Self {
        Self { rest: String::new(), state: State::Block }
    }

    /// Appends text.
    pub(super) fn push(&mut self, text: &str) {
        self.rest.push_str(text);
        self.escape_begin();
    }

    /// What goes on with a paragraph begins nothing else.
    fn escape_begin(&mut self) {
        if let State::Split(SplitAt::Space) = self.state
            && let Some(at) = block_marker(&self.rest)
        {
            self.rest.insert(at, '\\');
        }
    }

    /// Returns whether everything was taken.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.trim().is_empty()
    }

    /// Returns what is not complete, as it would look if nothing followed.
    pub(super) fn unfinished(&self) -> Option<(Part, Gap)> {
        let (number, gap) = match &self.state {
            State::Block => (None, Gap::Before),
            State::List { number, gap } => (*number, *gap),
            State::Split(_) => (None, Gap::None),
            State::Code { code, gap, fence } => {
                let is_end = fence.is_closed_by(&self.rest);
                let line = code.clone().line(&self.rest);
                return (!self.rest.is_empty() && !is_end).then_some((Part::Code(line), *gap));
            }
        };
        let source = self.rest.clone();
        (!self.is_empty()).then_some((Part::Markdown { source, number }, gap))
    }

    /// Takes the parts that are complete.
    pub(super) fn take_complete(&mut self, syntaxes: &Syntaxes) -> Vec<(Part, Gap)> {
        let mut parts = Vec::new();
        loop {
            let progress = match &self.state {
                State::Code { .. } => self.take_code_line(&mut parts),
                _ => self.take_block(&mut parts, syntaxes),
            };
            if !progress {
                return parts;
            }
        }
    }

    /// Takes the rows of a paragraph that are full at this width, so that what is not complete stays
    /// small. What may still change its style is left.
    pub(super) fn take_full_rows(
        &mut self,
        columns: usize,
        syntaxes: &Syntaxes,
    ) -> Vec<(Part, Gap)> {
        let mut parts = Vec::new();
        if !matches!(self.state, State::Block | State::Split(_)) {
            return parts;
        }
        while let Some(end) = first_full_row(&self.rest, columns, syntaxes) {
            let next = State::Split(SplitAt::of(&self.rest[..end]));
            self.take(end, next, &mut parts);
        }
        parts
    }

    /// Takes everything, because nothing follows.
    pub(super) fn finish(&mut self, syntaxes: &Syntaxes) -> Vec<(Part, Gap)> {
        let mut parts = self.take_complete(syntaxes);
        parts.extend(self.unfinished());
        *self = Self::new();
        parts
    }

    fn take_code_line(&mut self, parts: &mut Vec<(Part, Gap)>) -> bool {
        let Some(end) = self.rest.find('\n') else { return false };
        let State::Code { fence, code, gap } = &mut self.state else { return false };
        let line = &self.rest[..end];
        if fence.is_closed_by(line) {
            self.state = State::Block;
        } else {
            parts.push((Part::Code(code.line(line)), std::mem::replace(gap, Gap::None)));
        }
        self.rest.drain(..=end);
        true
    }

    /// Takes the first block, or the first item of a list, if it is complete. Only whole lines are
    /// looked at: a part of one may become something else.
    fn take_block(&mut self, parts: &mut Vec<(Part, Gap)>, syntaxes: &Syntaxes) -> bool {
        let Some(end) = self.rest.rfind('\n') else { return self.take_long(parts) };
        let Some(FirstBlock { end, kind }) = FirstBlock::of(&self.rest[..=end]) else {
            return self.take_long(parts);
        };
        if let Kind::Code { language } = &kind
            && let Some(line) = self.rest.find('\n')
            && let Some(fence) = Fence::of(&self.rest[..line])
        {
            let code = syntaxes.highlighter(language);
            self.rest.drain(..=line);
            self.state = State::Code { fence, code, gap: Gap::Before };
            return true;
        }
        let Some(end) = end else { return self.take_long(parts) };
        let next = match kind {
            Kind::Item { first } => {
                let number = match &self.state {
                    State::List { number, .. } => number.or(first),
                    _ => first,
                };
                let is_loose = self.rest[..end].ends_with("\n\n");
                let gap = if is_loose { Gap::Before } else { Gap::None };
                State::List { number: number.map(|number| number.saturating_add(1)), gap }
            }
            Kind::Code { .. } | Kind::Paragraph | Kind::Other => State::Block,
        };
        self.take(end, next, parts);
        true
    }

    /// Splits a block that is too long.
    fn take_long(&mut self, parts: &mut Vec<(Part, Gap)>) -> bool {
        if self.rest.len() <= LONGEST {
            return false;
        }
        let limit = (0..=LONGEST).rev().find(|at| self.rest.is_char_boundary(*at)).unwrap_or(0);
        let head = &self.rest[..limit];
        let end = head.rfind(['\n', ' ']).filter(|at| *at > 0).map_or(limit, |at| at + 1);
        let next = State::Split(SplitAt::of(&self.rest[..end]));
        self.take(end, next, parts);
        true
    }

    fn take(&mut self, end: usize, next: State, parts: &mut Vec<(Part, Gap)>) {
        let rest = self.rest.split_off(end);
        let taken = std::mem::replace(&mut self.rest, rest);
        let (number, gap) = match std::mem::replace(&mut self.state, next) {
            State::List { number, gap } => (number, gap),
            State::Split(_) => (None, Gap::None),
            State::Block | State::Code { .. } => (None, Gap::Before),
        };
        if !taken.trim().is_empty() {
            parts.push((Part::Markdown { source: taken, number }, gap));
        }
        self.escape_begin();
    }
}

impl SplitAt {
    fn of(taken: &str) -> Self {
        if taken.ends_with('\n') { Self::Line } else { Self::Space }
    }
}

#[cfg(test)]
mod tests;
