//! The error of an option that a command does not have: what does here what it does elsewhere, the command
//! that has it, or the option that is near in spelling.

use std::ffi::OsString;
use std::path::Path;

use crate::elsewhere::nearest;
use clap::Arg;

use super::forgotten_run::RunLine;
use super::{SECRET, command_of, help, mistyped, other_lines, public_grammar};
use crate::args::MergeChoice;
use crate::args::elsewhere::{self, CommandKind};
use crate::args::parse::launch_line::LAUNCH;
use crate::elsewhere::{TypedLine, level};
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

/// Refuses `-c KEY=VALUE` in a session: elsewhere it is a setting, and here a prompt behind `--continue`.
///
/// # Errors
/// There is such an option.
pub(super) fn refuse_setting(line: &[OsString]) -> Result<(), Error> {
    let words: Vec<_> = line.iter().skip(1).map_while(|word| word.to_str()).collect();
    let [LAUNCH, words @ ..] = words.as_slice() else { return Ok(()) };
    let words: Vec<_> = words.iter().copied().take_while(|word| *word != "--").collect();
    // A word that may be a command is refused with all that stands behind it.
    if words.first().is_some_and(|first| !first.starts_with('-') && mistyped::is_one_word(first)) {
        return Ok(());
    }
    let value = words.iter().enumerate().find_map(|(at, word)| {
        let attached = word.strip_prefix("-c").filter(|_| !word.starts_with("--"))?;
        let value = match attached.strip_prefix('=').unwrap_or(attached) {
            "" => words.get(at + 1).copied()?,
            attached => attached,
        };
        // What has blanks is a prompt, if they are not in quotes.
        let (_, set) = elsewhere::key_and_value(value)?;
        let is_quoted = set.starts_with(['"', '\'', '[', '{']);
        (is_quoted || !set.contains(char::is_whitespace)).then_some(value)
    });
    let Some(value) = value else { return Ok(()) };
    let instead = elsewhere::option("-c", CommandKind::Session, Some(value), &|_| true);
    let error = Error::usage("`-c` takes no value")
        .because("it continues the latest session of this folder");
    Err(instead.into_iter().flatten().chain([help(None)]).fold(error, Error::hint))
}

/// Returns a word such as `-json` with two dashes, if it may be an option with a long name.
pub(super) fn with_two_dashes(word: &str) -> Option<String> {
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
    let is_key = |word: &&str| *word == "--key";
    if let (Some("login"), Some(at)) = (command, words.iter().position(is_key))
        && !word.starts_with('-')
    {
        // What stands behind it is the key, which no message quotes.
        let is_provider =
            |(place, it): &(usize, &&str)| *place > 1 && *place != at + 1 && !it.starts_with('-');
        let provider = words.iter().enumerate().find(is_provider);
        let provider = provider.map_or("PROVIDER".to_owned(), |(_, it)| shell_word(it));
        return Error::usage("`--key` takes no value")
            .because("the key is typed at a prompt, or read from standard input")
            .hint(format!("regatta login {provider} --key"));
    }
    if !word.starts_with('-') {
        let error = Error::usage(format!("unexpected argument `{part}`"));
        return other_lines(command, line)
            .into_iter()
            .chain([help(command)])
            .fold(error, Error::hint);
    }
    // Without a command, what stands first may be one with a mistake in it.
    if let (None, Some(first)) = (command, words.get(2))
        && !first.starts_with('-')
        && mistyped::is_one_word(first)
    {
        let options = mistyped::typed_options(LAUNCH, line);
        return mistyped::no_such_command(&[first], &words[2..], Path::new("."), &options);
    }
    if let Some(error) = lacks_value(word, command, &words) {
        return error;
    }
    let mut before = words.iter().take_while(|it| **it != word).copied();
    if command == Some("run")
        && before.any(|it| it == "run")
        && let Some(error) = mistyped::refuse_program(&before.collect::<Vec<_>>(), line)
    {
        return error;
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
    let is_run = instead.iter().flatten().next().is_some_and(|it| it.starts_with("regatta run "));
    let as_run = command.is_none().then(|| RunLine::of(line)).flatten();
    if let Some(run) = as_run.filter(|run| is_run || run.has_run_option) {
        return error.hint(run.line).hint(help(command));
    }
    let typed = TypedLine::of(command.unwrap_or(LAUNCH), line).without(value_of(name, &words));
    let instead = instead.into_iter().flatten().map(|hint| typed.complete(&hint));
    instead.chain([help(command)]).fold(error, Error::hint)
}

/// Returns the error of an option without its value, where the next option was taken for it: `--name -x`.
fn lacks_value(word: &str, command: Option<&str>, words: &[&str]) -> Option<Error> {
    let grammar = public_grammar();
    let (top, below) = commands_of(&grammar, command, words)?;
    let at = words.iter().position(|it| *it == word)?;
    let before = *words.get(at.checked_sub(1)?)?;
    let arg = find(below.unwrap_or(top), before).filter(|arg| arg.get_action().takes_values())?;
    let least = arg.get_num_args().map_or(1, |range| range.min_values());
    (least > 0).then(|| {
        Error::usage(format!("`{before}` needs a value"))
            .because(format!("`{word}` is taken as an option"))
            .hint(text(arg, None))
            .hint(help(command))
    })
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
    let of_each = || {
        let is_each = |word: &&str| *word == "--each" || word.starts_with("--each=");
        let has_items = kind == CommandKind::Run && words.iter().any(is_each);
        has_items.then(|| elsewhere::option_of("run --each", name, value))?
    };
    let of_command = || {
        let below =
            below.map(|below| format!("{} {}", command.unwrap_or_default(), below.get_name()));
        elsewhere::option_of(below.as_deref().or(command)?, name, value)
    };
    // `-m` is the model in other programs, and `--merge` in a run.
    let is_mode = || value.is_some_and(|value| value.parse::<MergeChoice>().is_ok());
    let of_others =
        || of_each().or_else(of_command).or_else(|| elsewhere::option(name, kind, value, &takes));
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
pub(super) fn find<'a>(command: &'a clap::Command, option: &str) -> Option<&'a Arg> {
    let is_it = |arg: &&Arg| match option.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| option == format!("-{short}")),
    };
    command.get_arguments().find(is_it)
}

/// Returns whether a word is the short name of the option `long` of the command of a line.
pub(super) fn is_short_of(word: &str, long: &str, line: &[OsString]) -> bool {
    let grammar = public_grammar();
    let words: Vec<_> = line.iter().filter_map(|word| word.to_str()).collect();
    let own = commands_of(&grammar, command_of(line), &words);
    let found = own.and_then(|(top, below)| find(below.unwrap_or(top), long));
    let short = found.and_then(Arg::get_short);
    short.is_some_and(|short| word == format!("-{short}"))
}

/// Returns the value that was typed for an option, if there is one: `N` of `-PN`, `--option=N` and
/// `--option N`.
pub(super) fn value_of<'a>(name: &str, words: &[&'a str]) -> Option<&'a str> {
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
    let meant = value.filter(|_| long == "--thinking").and_then(level).or(value);
    match meant.filter(|value| long != SECRET && is_value_of(arg, value)) {
        Some(value) => format!("{long} {}", shell_word(value)),
        None => format!("{long} {name}"),
    }
}

/// Returns whether an option takes this value. Another program may have other values.
pub(super) fn is_value_of(arg: &Arg, value: &str) -> bool {
    let parser = arg.get_value_parser().clone();
    let one = clap::Command::new("one").no_binary_name(true);
    let one = one.arg(Arg::new("value").allow_hyphen_values(true).value_parser(parser));
    let mut values = value.split(|it| Some(it) == arg.get_value_delimiter());
    values.all(|value| one.clone().try_get_matches_from([value]).is_ok())
}
