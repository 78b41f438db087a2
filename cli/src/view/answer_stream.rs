//! An answer of a model while it arrives: splits off what is complete.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};
use ratatui::text::Span;

use super::highlight::{Highlighter, Syntaxes};
use super::markdown::{markdown, options};
use crate::render::width;

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

/// The line that begins a block of code, and how one looks that ends it.
#[derive(Clone, Copy, Debug)]
struct Fence {
    letter: char,
    length: usize,
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

/// Returns where the first row of a paragraph ends, if it is full and nothing in it can change.
fn first_full_row(source: &str, columns: usize, syntaxes: &Syntaxes) -> Option<usize> {
    if width(source) <= columns || source.lines().next()?.contains('|') {
        return None;
    }
    let rows = |end: usize| markdown(&source[..end], None, columns, syntaxes).len();
    let mut before = None;
    for at in stable_spaces(source)? {
        if rows(at) > 1 {
            return before;
        }
        before = Some(at + 1);
    }
    None
}

/// Returns the spaces of a text at which it can be split, so that both parts look as they do together,
/// whatever follows; `None` if the text is no paragraph.
fn stable_spaces(source: &str) -> Option<Vec<usize>> {
    let mut events = Parser::new_ext(source, options()).into_offset_iter();
    let (Event::Start(Tag::Paragraph), _) = events.next()? else { return None };
    let (mut depth, mut spaces) = (1_usize, Vec::new());
    for (event, range) in events {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::SoftBreak | Event::HardBreak if depth == 1 => spaces.push(range.start),
            Event::Text(text) if depth == 1 => {
                let open = text.find(['*', '_', '`', '[', ']', '~', '<', '&', '\\', '|']);
                let stable = &text[..open.unwrap_or(text.len())];
                let spaces_in = stable.match_indices(' ').map(|(at, _)| range.start + at);
                // Code must not become a block of code.
                spaces.extend(spaces_in.filter(|at| !source[at + 1..].starts_with(['`', '~'])));
                if open.is_some() {
                    break;
                }
            }
            _ => {}
        }
    }
    Some(spaces)
}

/// Returns the place of a character that would begin a block if it were at the beginning of one.
fn block_marker(source: &str) -> Option<usize> {
    let text = source.trim_start_matches(' ');
    let begin = source.len() - text.len();
    let digits = text.len() - text.trim_start_matches(|it: char| it.is_ascii_digit()).len();
    let (marker, rest) = match text.trim_start_matches('#') {
        rest if rest.len() < text.len() => (begin, rest),
        _ if (1..10).contains(&digits) && text[digits..].starts_with(['.', ')']) => {
            (begin + digits, &text[digits + 1..])
        }
        _ if text.starts_with(['-', '+', '*']) => (begin, &text[1..]),
        _ if text.starts_with(['>', '=']) => return Some(begin),
        _ => return None,
    };
    (rest.is_empty() || rest.starts_with([' ', '\n', '-', '*'])).then_some(marker)
}

impl SplitAt {
    fn of(taken: &str) -> Self {
        if taken.ends_with('\n') { Self::Line } else { Self::Space }
    }
}

impl Fence {
    fn of(line: &str) -> Option<Self> {
        let line = line.trim_start();
        let letter = line.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
        let length = line.chars().take_while(|other| *other == letter).count();
        (length >= 3).then_some(Self { letter, length })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let line = line.trim();
        indent < 4 && line.len() >= self.length && line.chars().all(|it| it == self.letter)
    }
}

/// The first block of a text.
struct FirstBlock {
    /// Where it is complete: where the next one begins, or behind an empty line that ends it. For a
    /// list, where its second item begins.
    end: Option<usize>,
    kind: Kind,
}

enum Kind {
    /// An item of a list, after which another one follows, with the number of the list.
    Item {
        first: Option<u64>,
    },
    Code {
        language: String,
    },
    Paragraph,
    Other,
}

impl FirstBlock {
    fn of(source: &str) -> Option<Self> {
        let (mut depth, mut kind, mut list, mut items) = (0_usize, None, None, 0);
        for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
            let begins_block = depth == 0 && matches!(event, Event::Start(_) | Event::Rule);
            if begins_block && let Some(kind) = kind.take() {
                return Some(Self { end: Some(range.start), kind });
            }
            match event {
                Event::Start(tag) => {
                    match (depth, &tag) {
                        (0, Tag::List(first)) => (list, kind) = (Some(*first), Some(Kind::Other)),
                        (0, _) => kind = Some(Kind::of(&tag)),
                        (1, Tag::Item) => items += 1,
                        _ => {}
                    }
                    if let (Some(first), 2, 1, Tag::Item) = (list, items, depth, &tag) {
                        return Some(Self { end: Some(range.start), kind: Kind::Item { first } });
                    }
                    depth += 1;
                }
                Event::End(_) => depth = depth.saturating_sub(1),
                Event::Rule if depth == 0 => kind = Some(Kind::Other),
                _inline => {}
            }
        }
        let kind = kind?;
        let is_ended = source.ends_with("\n\n") && matches!(kind, Kind::Paragraph);
        Some(Self { end: is_ended.then_some(source.len()), kind })
    }
}

impl Kind {
    fn of(tag: &Tag<'_>) -> Self {
        match tag {
            Tag::CodeBlock(CodeBlockKind::Fenced(language)) => {
                Self::Code { language: language.to_string() }
            }
            // An empty line ends each of these.
            Tag::Paragraph | Tag::Heading { .. } | Tag::Table(_) => Self::Paragraph,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(parts: &[(Part, Gap)]) -> Vec<String> {
        let text = |part: &Part| match part {
            Part::Markdown { source, number } => {
                let number = number.map(|number| format!("{number}|")).unwrap_or_default();
                format!("{number}{}", source.trim_end())
            }
            Part::Code(spans) => {
                let line: String = spans.iter().map(|span| span.content.as_ref()).collect();
                format!("code {line}")
            }
        };
        parts.iter().map(|(part, _)| text(part)).collect()
    }

    /// Feeds `source` in pieces of so many characters, and returns all parts.
    fn streamed(source: &str, size: usize) -> Vec<String> {
        let (mut stream, syntaxes) = (AnswerStream::new(), Syntaxes::default());
        let mut parts = Vec::new();
        let letters: Vec<char> = source.chars().collect();
        for piece in letters.chunks(size) {
            stream.push(&piece.iter().collect::<String>());
            parts.extend(stream.take_complete(&syntaxes));
        }
        parts.extend(stream.finish(&syntaxes));
        text(&parts)
    }

    #[test]
    fn however_an_answer_arrives_its_parts_are_the_same() {
        let source = "Hello\nthere.\n\n# Title\ntext\n\n1. a\n1. b\n   more\n1. c\n\n```rust\nlet x;\n\n\
                      ``\n```\nafter\n\n---\n\n| a |\n|---|\n| b |\n\n~~~\nopen";
        let whole = streamed(source, 10_000);
        assert_eq!(
            whole,
            [
                "Hello\nthere.",
                "# Title",
                "text",
                "1. a",
                "2|1. b\n   more",
                "3|1. c",
                "code let x;",
                "code ",
                "code ``",
                "after",
                "---",
                "| a |\n|---|\n| b |",
                "code open",
            ]
            .map(str::to_owned)
        );
        for size in 1..12 {
            assert_eq!(streamed(source, size), whole, "in pieces of {size}");
        }
    }

    #[test]
    fn a_block_without_end_is_split_between_words_and_loses_nothing() {
        let source = "word ".repeat(20_000);
        let parts = streamed(&source, 1_000);
        assert!(parts.len() > 5 && parts.iter().all(|part| part.len() <= LONGEST));
        assert!(parts.iter().all(|part| part.split(' ').all(|word| word == "word")));
        assert_eq!(parts.iter().map(|part| part.split(' ').count()).sum::<usize>(), 20_000);
    }

    #[test]
    fn full_rows_of_a_paragraph_are_complete_and_no_word_is_lost_or_changed() {
        let source = "It is so - 1. first # and > then + more. Some *soft words in between* follow, \
                      and 12) more ```code``` of it - with words, words, words\nand words.\n\nEnd.";
        let whole: Vec<_> = markdown(source, None, 10_000, &Syntaxes::default())
            .iter()
            .flat_map(|line| line.to_string().split(' ').map(str::to_owned).collect::<Vec<_>>())
            .filter(|word| !word.is_empty())
            .collect();
        for columns in 8..40 {
            let (mut stream, syntaxes) = (AnswerStream::new(), Syntaxes::default());
            let mut parts = Vec::new();
            for letter in source.chars() {
                stream.push(&letter.to_string());
                parts.extend(stream.take_complete(&syntaxes));
                parts.extend(stream.take_full_rows(columns, &syntaxes));
            }
            parts.extend(stream.finish(&syntaxes));
            let lines: Vec<String> = parts
                .iter()
                .flat_map(|(part, _)| match part {
                    Part::Markdown { source, .. } => markdown(source, None, columns, &syntaxes),
                    Part::Code(_) => panic!("there is no code"),
                })
                .map(|line| line.to_string())
                .collect();
            let words = lines.iter().flat_map(|line| line.split(' '));
            let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
            assert_eq!(words, whole, "in {columns} columns: {lines:#?}");
            assert!(parts.len() > 4 || columns > 30, "{parts:?}");
            let gaps = parts.iter().filter(|(_, gap)| *gap == Gap::Before).count();
            assert_eq!(gaps, 2, "{parts:?}");
        }
    }

    #[test]
    fn what_is_not_complete_is_there_to_be_displayed() {
        let (mut stream, syntaxes) = (AnswerStream::new(), Syntaxes::default());
        stream.push("One.\n\nTwo *mo");
        assert_eq!(text(&stream.take_complete(&syntaxes)), ["One."]);
        assert_eq!(text(&stream.unfinished().into_iter().collect::<Vec<_>>()), ["Two *mo"]);
    }
}
