//! A command of the program that is typed in a conversation, where it would be sent to the model.

use std::ffi::OsString;
use std::path::Path;

use crate::elsewhere::nearest;

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
    let names = command_names();
    let near = nearest(first, names.iter().map(String::as_str));
    let found = |name: &str| grammar.find_subcommand(name).filter(|command| !command.is_hide_set());
    let own = found(first);
    let meant = own.or_else(|| found(near?));
    let is_below = |word: &str| meant.is_some_and(|meant| meant.find_subcommand(word).is_some());
    let is_target = rest.first().is_some_and(|it| may_be_target(it) || is_below(it));
    let is_typed = is_target || rest.iter().any(|it| it.starts_with('-') || may_be_target(it));
    if own.is_some() {
        let line = std::iter::once("regatta").chain(words.iter().copied()).map(OsString::from);
        let as_typed = format!("regatta {}", words.join(" "));
        return match parse(line) {
            _ if program => Some(as_typed),
            Ok(_) => is_typed.then_some(as_typed),
            Err(error) => {
                let hint = error.hints.into_iter().next().filter(|_| is_target)?;
                hint.starts_with("regatta ").then_some(hint)
            }
        };
    }
    let is_meant = is_typed && (near.is_some() || program) || program && rest.is_empty();
    is_meant.then(|| instead_of(words, Path::new(".")).into_iter().next())?
}
