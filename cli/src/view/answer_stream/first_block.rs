//! The first block of a text that is still arriving, and where it is complete.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use crate::view::markdown::options;

/// The first block of a text.
pub(super) struct FirstBlock {
    /// Where it is complete: where the next one begins, or behind an empty line that ends it. For a
    /// list, where its second item begins.
    pub(super) end: Option<usize>,
    pub(super) kind: Kind,
}

/// What a block is, as far as it matters for where it ends.
pub(super) enum Kind {
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
    pub(super) fn of(source: &str) -> Option<Self> {
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

/// The line that begins a block of code, and how one looks that ends it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fence {
    letter: char,
    length: usize,
}

impl Fence {
    pub(super) fn of(line: &str) -> Option<Self> {
        let line = line.trim_start();
        let letter = line.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
        let length = line.chars().take_while(|other| *other == letter).count();
        (length >= 3).then_some(Self { letter, length })
    }

    pub(super) fn is_closed_by(self, line: &str) -> bool {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let line = line.trim();
        indent < 4 && line.len() >= self.length && line.chars().all(|it| it == self.letter)
    }
}
