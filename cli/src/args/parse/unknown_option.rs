//! The error of an option that a command does not have: what does here what it does elsewhere, the command
//! that has it, or the option that is near in spelling.

use std::ffi::OsString;
use std::path::Path;

use clap::Arg;
use config::nearest;

use super::{SECRET, command_of, help, mistyped, public_grammar};
use crate::args::MergeChoice;
use crate::args::elsewhere::{self, CommandKind};
use crate::args::parse::launch_line::LAUNCH;
use crate::render::shell_word;
use regatta::error::Error;

/// Refuses an option that is typed with one dash in place of two, such as `-json`, which is `-j son` to the
/// parser.
///
/// # Errors
/// The command has an option of this name.
pub(super) fn refuse_one_dash(line: &[OsString]) -> Result<(), Error> {
    let words: Vec<_> = line.iter().filter_map(|word| word.to_str()).collect();
    let mut typed = words.iter().take_while(|word| **word != "--");
    let Some((word, long)) = typed.find_map(|word| Some((word, with_two_dashes(word)?))) else {
        return Ok(());
    };
    let (grammar, command) = (public_grammar(), command_of(line));
    let name = long.split('=').next().unwrap_or_default();
    let own = commands_of(&grammar, command, &words).map(|(top, below)| below.unwrap_or(top));
    match own.and_then(|own| find(own, name)) {
        Some(_) => Err(unknown_option(word, command, line)),
        None => Ok(()),
    }
}

/// Returns a word such as `-json` with two dashes, if it may be an option with a long name.
fn with_two_dashes(word: &str) -> Option<String> {
    let name = word.strip_prefix('-')?.split('=').next()?;
    let is_name = name.len() > 2 && name.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_name = is_name && name.chars().all(|it| it.is_ascii_alphabetic() || it == '-');
    is_name.then(|| format!("-{word}"))
}

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
    let long = with_two_dashes(word).and_then(|long| {
        let as_meant = |it: &&str| if *it == word { long.clone() } else { (*it).to_owned() };
        let words: Vec<_> = words.iter().map(as_meant).collect();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        instead_of(long.split('=').next()?, &long, command, &words)
    });
    let name = part.split('=').next().unwrap_or_default();
    let instead = long.or_else(|| instead_of(name, word, command, &words));
    instead.into_iter().flatten().chain([help(command)]).fold(error, Error::hint)
}

/// Returns the grammar of a command, and that of the command below it that the words name.
fn commands_of<'a>(
    grammar: &'a clap::Command,
    command: Option<&str>,
    words: &[&str],
) -> Option<(&'a clap::Command, Option<&'a clap::Command>)> {
    let top = grammar.find_subcommand(command.unwrap_or(LAUNCH))?;
    Some((top, words.iter().find_map(|word| top.find_subcommand(word))))
}

/// Returns what to type in place of the option `name` of `word`.
fn instead_of(
    name: &str,
    word: &str,
    command: Option<&str>,
    words: &[&str],
) -> Option<Vec<String>> {
    let grammar = public_grammar();
    let named = |name: &str| grammar.find_subcommand(name);
    let (top, below) = commands_of(&grammar, command, words)?;
    let own = below.unwrap_or(top);
    let value = value_of(name, words);
    if let Some(own) = find(own, name) {
        return Some(vec![text(own, value)]);
    }
    let kind = match command {
        Some("run") => CommandKind::Run,
        None => CommandKind::Session,
        Some(_) => CommandKind::Other,
    };
    let takes = |option: &str| find(own, option).is_some();
    // Several letters are several options, of which one alone may mean something else.
    let letters = word.strip_prefix(name).filter(|_| !name.starts_with("--")).unwrap_or_default();
    let is_letter = |it: char| it.is_ascii_alphabetic() || it == '-';
    if !letters.is_empty() && letters.chars().all(is_letter) {
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
    // The program itself has `--version`.
    let of_other = |option: &str| {
        let of_other = || {
            let (command, grammar) = other?;
            find(grammar, option).map(|arg| format!("{command} {} …", text(arg, value)))
        };
        let of_root = || find(&grammar, option).map(|arg| format!("regatta {}", text(arg, None)));
        of_other().or_else(of_root)
    };
    let near = || {
        let name = name.strip_prefix("--")?;
        let other = other.map(|(_, grammar)| grammar).filter(|_| command.is_none());
        let all = [Some(own), other, Some(&grammar)];
        let options = all.into_iter().flatten().flat_map(clap::Command::get_arguments);
        let options = options.filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long);
        let near = format!("--{}", nearest(name, options)?);
        find(own, &near).map(|arg| text(arg, value)).or_else(|| of_other(&near))
    };
    of_other(name).or_else(near).map(|instead| vec![instead])
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
