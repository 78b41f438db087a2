//! The refusal of one word beside a prompt of `-p`, where it is likely not meant as a second prompt.

use std::ffi::OsString;
use std::path::Path;

use crate::elsewhere::nearest;

use super::{
    ASKS, instead_of, is_one_word, is_print_option, names_file, typed_from, with_hints, with_rest,
};
use crate::args::command_names;
use crate::elsewhere::{TypedOption, may_be_target};
use crate::render::{shell_word, shell_words};
use regatta::error::Error;

/// Refuses the name of a command before a prompt, which would be two prompts: `-p run 'fix it'`.
pub(super) fn refuse_command(
    words: &[&str],
    line: &[OsString],
    folder: &Path,
    options: &[TypedOption],
) -> Result<(), Error> {
    let [first, rest @ ..] = words else { return Ok(()) };
    let names = command_names();
    let is_command =
        is_one_word(first) && nearest(first, names.iter().map(String::as_str)).is_some();
    if !is_command || rest.iter().all(|word| is_one_word(word)) {
        return Ok(());
    }
    let own = names.iter().find(|own| own == first).map(|own| format!("regatta {own}"));
    let typed = typed_from(first, line);
    let command = match own {
        Some(own) if rest.iter().any(|word| may_be_target(word)) => {
            vec![with_rest(&own, &typed[1..])]
        }
        Some(own) => vec![format!("{own} {}", shell_words(&typed[1..]))],
        None => instead_of(&typed, folder),
    };
    let as_one = format!("regatta -p {}", shell_word(&words.join(" ")));
    let as_typed = format!("regatta -p -- {} {ASKS}", shell_words(words));
    let error =
        Error::usage(format!("`{first}` is a command, and beside a prompt it is a second one"));
    Err(with_hints(error, command.into_iter().chain([as_one, as_typed]), options))
}

/// Refuses one word behind an option that takes no value, beside a prompt: another program's option of this
/// name may take one.
pub(super) fn refuse_value_of_flag(
    words: &[&str],
    line: &[OsString],
    options: &[TypedOption],
) -> Result<(), Error> {
    if words.iter().all(|word| is_one_word(word)) {
        return Ok(());
    }
    let line: Vec<_> = line.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let typed: Vec<_> = line.iter().copied().take_while(|word| *word != "--").collect();
    let is_flag =
        |word: &str| word.starts_with('-') && !word.contains('=') && !is_print_option(word);
    let is_value = |word: &str| words.contains(&word) && is_one_word(word) && !names_file(word);
    let found = typed.windows(2).find(|pair| is_flag(pair[0]) && is_value(pair[1]));
    let Some([flag, word]) = found else { return Ok(()) };
    let error = Error::usage(format!("`{flag}` takes no value, and `{word}` is one word"));
    let hints =
        [format!("leave out `{word}`"), format!("regatta -p -- {} {ASKS}", shell_words(words))];
    Err(with_hints(error, hints, options))
}
