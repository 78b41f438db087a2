//! A command of the program that is typed in a conversation, where it would be sent to the model.

use std::ffi::OsString;
use std::path::Path;

use config::nearest;

use super::instead_of;
use crate::args::{command_names, parse, public_grammar};
use crate::elsewhere::may_be_target;

/// Returns the command of this program that words in a conversation are meant as: `apply @ blue`, and the same
/// with a mistake in it or `regatta` before it. A sentence that begins with such a word is none.
pub(crate) fn meant_as_command(words: &[&str]) -> Option<String> {
    let (program, words) = match words {
        ["regatta", words @ ..] => (true, words),
        words => (false, words),
    };
    let (first, rest) = words.split_first()?;
    let grammar = public_grammar();
    let own = grammar.find_subcommand(first).filter(|command| !command.is_hide_set());
    let is_below = |word: &str| own.is_some_and(|own| own.find_subcommand(word).is_some());
    let is_typed = rest.iter().any(|it| it.starts_with('-') || may_be_target(it))
        || rest.first().is_some_and(|it| is_below(it));
    if own.is_some() {
        let line = std::iter::once("regatta").chain(words.iter().copied()).map(OsString::from);
        let is_valid = || parse(line).is_ok();
        return (program || is_typed && is_valid()).then(|| format!("regatta {}", words.join(" ")));
    }
    let near = nearest(first, command_names().iter().map(String::as_str)).is_some();
    let is_meant = is_typed && (near || program) || program && rest.is_empty();
    is_meant.then(|| instead_of(words, Path::new(".")).into_iter().next())?
}
