//! Parses texts that may be hostile: within a time, and not too deep for what walks them recursively.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ast_grep_core::tree_sitter::{LanguageExt as _, StrDoc};
use ast_grep_language::SupportLang;
use engine::ports::SyntaxError;
use tree_sitter::{ParseOptions, Parser, Tree};

/// How long one text may be parsed.
const TIME: Duration = Duration::from_secs(1);

/// How deep the syntax of a text may be nested.
const DEPTH: usize = 1_000;

/// Parses a text.
pub(crate) fn parse(language: SupportLang, text: &str) -> Result<StrDoc<SupportLang>, SyntaxError> {
    let error = |what: &str| SyntaxError(what.to_owned());
    let mut parser = Parser::new();
    let set = parser.set_language(&language.get_ts_language());
    set.map_err(|reason| SyntaxError(reason.to_string()))?;
    let end = Instant::now() + TIME;
    let mut progress = |_state: &_| match Instant::now() < end {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = text.as_bytes();
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    let tree = tree.ok_or_else(|| error("it takes too long to parse"))?;
    match is_deep(&tree) {
        true => Err(error("it is nested too deeply")),
        false => Ok(StrDoc { src: text.to_owned(), lang: language, tree }),
    }
}

fn is_deep(tree: &Tree) -> bool {
    let mut cursor = tree.walk();
    let mut depth = 0;
    loop {
        if cursor.goto_first_child() {
            depth += 1;
            if depth > DEPTH {
                return true;
            }
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
            depth -= 1;
        }
    }
}
