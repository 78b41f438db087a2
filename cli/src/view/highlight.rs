//! Colours code by its syntax. The syntaxes are loaded at the first block of code.

use std::sync::{Arc, OnceLock};

use ratatui::style::{Color, Style};
use ratatui::text::Span;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::wrap::span;
use crate::render::visible_line;

/// Longer lines are not coloured, in bytes.
const LONGEST_LINE: usize = 2_000;

/// The width of a tab, in columns.
const TAB: &str = "    ";

/// The beginnings of scopes and their colours. The innermost scope that has one counts.
const COLOURS: &[(&str, Color)] = &[
    ("comment", Color::DarkGray),
    ("string", Color::Green),
    ("constant.character.escape", Color::Cyan),
    ("constant", Color::Yellow),
    ("keyword", Color::Magenta),
    ("storage", Color::Magenta),
    ("entity.name.function", Color::Blue),
    ("support.function", Color::Blue),
    ("support.macro", Color::Blue),
    ("entity.name", Color::Cyan),
    ("support.type", Color::Cyan),
    ("markup.inserted", Color::Green),
    ("markup.deleted", Color::Red),
];

/// The known syntaxes. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Syntaxes(Arc<OnceLock<Loaded>>);

struct Loaded {
    set: SyntaxSet,
    colours: Vec<(Scope, Color)>,
}

/// Colours the lines of one block of code, from its first one on.
#[derive(Clone)]
pub(super) struct Highlighter {
    syntaxes: Syntaxes,
    /// `None` if the syntax is not known.
    state: Option<(ParseState, ScopeStack)>,
}

impl Syntaxes {
    fn loaded(&self) -> &Loaded {
        self.0.get_or_init(|| {
            let scope = |(name, colour): &(&str, Color)| Some((Scope::new(name).ok()?, *colour));
            let colours = COLOURS.iter().filter_map(scope).collect();
            Loaded { set: SyntaxSet::load_defaults_newlines(), colours }
        })
    }

    /// Returns a highlighter for a block with this language, as a fence names it.
    pub(super) fn highlighter(&self, language: &str) -> Highlighter {
        let language = language.split([' ', ',', '{']).next().unwrap_or_default();
        let state = (!language.is_empty())
            .then(|| self.find(language))
            .flatten()
            .map(|syntax| (ParseState::new(syntax), ScopeStack::new()));
        Highlighter { syntaxes: self.clone(), state }
    }

    fn find(&self, language: &str) -> Option<&SyntaxReference> {
        self.loaded().set.find_syntax_by_token(language)
    }
}

impl std::fmt::Debug for Highlighter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Highlighter").finish_non_exhaustive()
    }
}

impl Highlighter {
    /// Returns the next line of the block, without its line break, in printable spans.
    pub(super) fn line(&mut self, line: &str) -> Vec<Span<'static>> {
        let text = format!("{}\n", visible_line(line).replace('\t', TAB));
        let length = text.len() - 1;
        let Some((state, stack)) = self.state.as_mut().filter(|_| text.len() <= LONGEST_LINE)
        else {
            return vec![span(text.trim_end_matches('\n'), Style::new())];
        };
        let loaded = self.syntaxes.loaded();
        let Ok(steps) = state.parse_line(&text, &loaded.set) else {
            self.state = None;
            return vec![span(text.trim_end_matches('\n'), Style::new())];
        };
        let (mut spans, mut begin) = (Vec::new(), 0);
        for (end, step) in steps {
            // The syntaxes need the line break, which is not a part of the line.
            let end = end.min(length);
            if end > begin {
                spans.push(coloured(&text[begin..end], stack, &loaded.colours));
                begin = end;
            }
            if stack.apply(&step).is_err() {
                break;
            }
        }
        spans.push(coloured(&text[begin..length], stack, &loaded.colours));
        spans
    }
}

fn coloured(text: &str, stack: &ScopeStack, colours: &[(Scope, Color)]) -> Span<'static> {
    let colour = stack.as_slice().iter().rev().find_map(|scope| {
        colours.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)).map(|(_, colour)| *colour)
    });
    span(text, colour.map_or_else(Style::new, |colour| Style::new().fg(colour)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_keeps_its_text_and_what_the_lines_before_began() {
        let mut code = Syntaxes::default().highlighter("rust");
        let text = |spans: &[Span<'_>]| -> String {
            spans.iter().map(|span| span.content.as_ref()).collect()
        };
        let first = code.line("fn main() { /* a\u{1b}[2J");
        assert_eq!(text(&first), "fn main() { /* a");
        assert!(first.iter().any(|span| span.style.fg == Some(Color::Magenta)), "{first:?}");
        let second = code.line("\tstill */ }");
        assert_eq!(text(&second), "    still */ }");
        assert_eq!(second[0].style.fg, Some(Color::DarkGray), "{second:?}");
        // The scope of a comment ends with its line, after the line break.
        for (language, line) in [
            ("rust", "let x = 1; // one"),
            ("python", "# a"),
            ("sh", "ls # all"),
            ("js", "a(); // b"),
            ("diff", "+ a"),
            ("sql", "-- a"),
        ] {
            assert_eq!(text(&Syntaxes::default().highlighter(language).line(line)), line);
        }
        let plain = Syntaxes::default().highlighter("no such language").line("fn x");
        assert_eq!(plain, [Span::raw("fn x")]);
    }
}
