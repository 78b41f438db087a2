//! The error of an option that a command does not have: what does here what it does elsewhere, the command
//! that has it, or the option that is near in spelling.

use std::ffi::OsString;
use std::path::Path;

use clap::Arg;
use config::nearest;

use super::{SECRET, help, mistyped, public_grammar};
use crate::args::MergeChoice;
use crate::args::elsewhere::{self, CommandKind};
use crate::args::parse::launch_line::LAUNCH;
use crate::error::Error;
use crate::render::shell_word;

/// Returns the error of `part`, which no option of `command` is; without a command, of a session.
pub(super) fn unknown_option(part: &str, command: Option<&str>, line: &[OsString]) -> Error {
    // clap reports one letter of a cluster such as `-xyz`. The error shows the whole word instead.
    let words: Vec<_> = line.iter().filter_map(|word| word.to_str()).collect();
    let is_whole = |word: &&str| word.starts_with(part) && !part.starts_with("--");
    let word = words.iter().copied().find(is_whole).unwrap_or(part);
    if !word.starts_with('-') {
        return Error::usage(format!("unexpected argument `{part}`")).hint(help(command));
    }
    // Without a command, what stands first may be one with a mistake in it.
    if let (None, Some(first)) = (command, words.get(2))
        && !first.starts_with('-')
        && mistyped::is_one_word(first)
    {
        return mistyped::no_such_command(&[first], &words[2..], Path::new("."));
    }
    let error = Error::usage(format!("no such option: `{word}`"));
    if command == Some("run") && word.contains(char::is_whitespace) {
        return error
            .because("a TASK that begins with `-` has to stand after `--`")
            .hint(format!("regatta run -- {}", shell_word(word)))
            .hint(help(command));
    }
    let name = part.split('=').next().unwrap_or_default();
    let instead = instead_of(name, word, command, &words);
    instead.into_iter().chain([help(command)]).fold(error, Error::hint)
}

/// Returns what to type in place of the option `name` of `word`.
fn instead_of(name: &str, word: &str, command: Option<&str>, words: &[&str]) -> Option<String> {
    let grammar = public_grammar();
    let named = |name: &str| grammar.find_subcommand(name);
    let top = named(command.unwrap_or(LAUNCH))?;
    let below = words.iter().find_map(|word| top.find_subcommand(word));
    let own = below.unwrap_or(top);
    let value = value_of(name, words);
    let kind = match command {
        Some("run") => CommandKind::Run,
        None => CommandKind::Session,
        Some(_) => CommandKind::Other,
    };
    let takes = |option: &str| find(own, option).is_some();
    // Several letters are several options, of which one alone may mean something else.
    let letters = word.strip_prefix(name).filter(|_| !name.starts_with("--")).unwrap_or_default();
    let is_cluster = !letters.is_empty() && letters.chars().all(|it| it.is_ascii_alphabetic());
    if is_cluster {
        return None;
    }
    let of_command = || {
        let below =
            below.map(|below| format!("{} {}", command.unwrap_or_default(), below.get_name()));
        elsewhere::option_of(below.as_deref().or(command)?, name, value)
    };
    // `-m` is the model in other programs, and `--merge` in a run.
    let is_mode = || value.is_some_and(|value| value.parse::<MergeChoice>().is_ok());
    let of_others = || of_command().or_else(|| elsewhere::option(name, kind, value, &takes));
    if let Some(instead) = (name != "-m" || !is_mode()).then(of_others).flatten() {
        return Some(instead);
    }
    // The options of a run and those of a session are mistaken for each other.
    let other = match kind {
        CommandKind::Run => named(LAUNCH).map(|command| ("regatta", command)),
        CommandKind::Session => named("run").map(|command| ("regatta run", command)),
        CommandKind::Other => None,
    };
    let of_other = |option: &str| {
        let (command, grammar) = other?;
        find(grammar, option).map(|arg| format!("{command} {} …", text(arg, value)))
    };
    let near = || {
        let name = name.strip_prefix("--")?;
        let all = [Some(own), other.map(|(_, grammar)| grammar).filter(|_| command.is_none())];
        let options = all.into_iter().flatten().flat_map(clap::Command::get_arguments);
        let options = options.filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long);
        let near = format!("--{}", nearest(name, options)?);
        find(own, &near).map(|arg| text(arg, value)).or_else(|| of_other(&near))
    };
    of_other(name).or_else(near)
}

/// Returns the option of a command that is typed so.
fn find<'a>(command: &'a clap::Command, option: &str) -> Option<&'a Arg> {
    let is_it = |arg: &&Arg| match option.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| option == format!("-{short}")),
    };
    command.get_arguments().find(is_it)
}

/// Returns the value that was typed for an option, if there is one: `N` of `-PN`, `--option=N` and
/// `--option N`.
fn value_of<'a>(name: &str, words: &[&'a str]) -> Option<&'a str> {
    let is_long = name.starts_with("--");
    let attached = |word: &&'a str| {
        let rest = word.strip_prefix(name)?;
        (!is_long || rest.is_empty() || rest.starts_with('=')).then_some(rest)
    };
    let (at, attached) =
        words.iter().enumerate().find_map(|(at, word)| Some((at, attached(word)?)))?;
    match attached.strip_prefix('=').unwrap_or(attached) {
        "" => words.get(at + 1).copied().filter(|next| !next.starts_with('-')),
        value => Some(value),
    }
}

/// Returns an option with the value that was typed, or else with what it takes, such as `--jobs N`.
fn text(arg: &Arg, value: Option<&str>) -> String {
    let long = format!("--{}", arg.get_long().unwrap_or_default());
    let name = arg.get_value_names().and_then(|names| names.first());
    let Some(name) = name.filter(|_| arg.get_action().takes_values()) else { return long };
    match value.filter(|_| long != SECRET) {
        Some(value) => format!("{long} {}", shell_word(value)),
        None => format!("{long} {name}"),
    }
}
