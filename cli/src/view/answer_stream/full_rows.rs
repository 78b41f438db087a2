//! Where a paragraph that is still arriving can be split, so that both parts look as they do together.

use pulldown_cmark::{Event, Parser, Tag};

use crate::render::width;
use crate::view::highlight::Syntaxes;
use crate::view::markdown::{markdown, options};

/// Returns where the first row of a paragraph ends, if it is full and nothing in it can change.
pub(super) fn first_full_row(source: &str, columns: usize, syntaxes: &Syntaxes) -> Option<usize> {
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
/// whatever follows; `None` if the text is not a paragraph.
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
pub(super) fn block_marker(source: &str) -> Option<usize> {
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
