//! A word that may be a command with a mistake in it is no prompt: it would be sent to a model, which
//! may change files.

use std::ffi::OsString;

use config::nearest;
use unicode_width::UnicodeWidthStr as _;

use super::command_names;
use crate::args::{Command, elsewhere};
use crate::error::Error;
use crate::render::shell_word;

/// Refuses a session whose first prompt is one word, unless `-p` or `--` stands before it.
pub(super) fn refuse(command: &Command, line: &[OsString]) -> Result<(), Error> {
    let Command::Launch(args) = command else { return Ok(()) };
    let words: Option<Vec<_>> = args.prompts.iter().map(|word| word.to_str()).collect();
    let Some(words) = words else { return Ok(()) };
    let Some(first) = words.first().filter(|word| is_one_word(word)) else { return Ok(()) };
    let dashes = line.iter().position(|word| word == "--").unwrap_or(line.len());
    let asks_no_model = args.list_models.is_some();
    if asks_no_model || args.is_print() || !line[..dashes].iter().any(|word| word == first) {
        return Ok(());
    }
    let names = command_names();
    let near = || nearest(first, names.iter().map(String::as_str));
    let instead = elsewhere::command(first).map(str::to_owned);
    let instead = instead.or_else(|| near().map(|name| format!("regatta {name}")));
    let prompt = match words.len() {
        1 => format!("regatta -p {}, which asks a model", shell_word(first)),
        _ => format!("regatta {}, which asks a model", shell_word(&words.join(" "))),
    };
    let error = Error::usage(format!("no such command: `{first}`"));
    Err(instead.into_iter().chain([prompt]).fold(error, Error::hint))
}

/// Returns whether a prompt is one word. Scripts whose letters are wide have no spaces between words.
fn is_one_word(prompt: &str) -> bool {
    let is_wide = prompt.width() > prompt.chars().count();
    !prompt.starts_with('@') && !prompt.contains(char::is_whitespace) && !is_wide
}
