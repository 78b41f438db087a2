//! Parses a command line, and turns the parser's errors into errors of this program.

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::num::ParseIntError;
use std::sync::LazyLock;

use crate::elsewhere::nearest;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};

use self::instead::{completed, lines_instead, near_value, other_lines};
use self::launch_line::{LAUNCH, with_launch};
use super::displayed_grammar::displayed_grammar;
use super::help_text;
use super::option_groups::grouped;
use super::{Arguments, Command};
use crate::not_implemented;
use crate::render::{Terminal, shell_word};
use crate::session::may_be_piped;
use regatta::error::Error;

/// The option whose value no message quotes.
const SECRET: &str = "--api-key";

/// Returns whether there is a terminal for a conversation.
fn can_converse() -> bool {
    // A terminal that cannot move its cursor has a conversation in plain lines.
    cfg!(feature = "tui") && std::io::stdin().is_terminal() && Terminal::here().stdout.is_some()
}

/// A parsed command line.
#[derive(Debug)]
pub enum Parsed {
    /// A command to run.
    Command(Box<Arguments>),
    /// A text to print: help that was asked for, or the version.
    Text(String),
}

/// Parses a command line, whose first word is the name of the program.
///
/// # Errors
/// The command line is invalid. The usage error suggests what to type instead.
pub fn parse(line: impl IntoIterator<Item = OsString>) -> Result<Parsed, Error> {
    let line: Vec<_> = line.into_iter().collect();
    if let [_program, word] = line.as_slice()
        && ["--version", "-V"].iter().any(|option| word == option)
    {
        // Programs ask for it often, and the grammar would be half of what it takes.
        return Ok(Parsed::Text(concat!("regatta ", env!("CARGO_PKG_VERSION"), "\n").to_owned()));
    }
    if let Some(help) = help_below(&line) {
        return Ok(Parsed::Text(help));
    }
    if let [_program, word] = line.as_slice()
        && (word == "-h" || word == "--help")
    {
        return Ok(Parsed::Text(match word == "-h" {
            true => help_text::DAILY.to_owned(),
            false => help_of(&[]).unwrap_or_default(),
        }));
    }
    let grammar = grammar();
    let mut line = with_launch(&grammar, line);
    unknown_option::refuse_one_dash(&line)?;
    unknown_option::refuse_setting(&line)?;
    let matches = match grammar.try_get_matches_from(&line) {
        Ok(matches) => matches,
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                refuse_help(&line)?;
                return Ok(Parsed::Text(error.render().to_string()));
            }
            ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                if command_of(&line).is_none() =>
            {
                // Without anything, a person begins a conversation, what is piped is a prompt, and else a
                // program gets the help.
                if can_converse() || may_be_piped() {
                    line.push(LAUNCH.into());
                    return parse(line);
                }
                return Ok(Parsed::Text(help_of(&[]).unwrap_or_default()));
            }
            _ => return Err(usage_error(&error, &line)),
        },
    };
    not_implemented::refuse(&matches).map_err(|error| completed(error, &line))?;
    let arguments =
        Arguments::from_arg_matches(&matches).map_err(|error| usage_error(&error, &line))?;
    refuse_several_repositories(&arguments)?;
    mistyped::refuse(&arguments, &line)?;
    Ok(Parsed::Command(Box::new(arguments)))
}

/// Returns the help that `regatta runs help` asks for: the same as `regatta help runs`. Only a command with
/// commands below it is asked so; others have targets, of which one may be called `help`.
fn help_below(line: &[OsString]) -> Option<String> {
    let [_program, command, help, below @ ..] = line else { return None };
    let has_commands = || {
        let grammar = Arguments::command();
        grammar.find_subcommand(command).is_some_and(clap::Command::has_subcommands)
    };
    if help != "help" || !has_commands() {
        return None;
    }
    let path = std::iter::once(command).chain(below).map(|word| word.to_str().map(str::to_owned));
    help_of(&path.collect::<Option<Vec<_>>>()?)
}

/// Refuses a question for the help of a command that there is not, such as `appply --help`.
fn refuse_help(line: &[OsString]) -> Result<(), Error> {
    if line.get(1).is_none_or(|word| word != LAUNCH) {
        return Ok(());
    }
    let dashes = line.iter().position(|word| word == "--").unwrap_or(line.len());
    let is_question = |word: &OsString| word == "-h" || word == "--help";
    let (before, behind) = line.split_at(dashes);
    let rest = before.iter().filter(|word| !is_question(word)).chain(behind);
    let matches = grammar().try_get_matches_from(rest).ok();
    let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches).ok());
    arguments.map_or(Ok(()), |arguments| mistyped::refuse_help(&arguments, line))
}

/// Refuses a second `--repo` where a command works in one repository.
fn refuse_several_repositories(arguments: &Arguments) -> Result<(), Error> {
    match (&arguments.command, arguments.globals.repos.as_slice()) {
        (Command::Run(_), _) | (_, [] | [_]) => Ok(()),
        (_, [first, ..]) => Err(Error::usage("`--repo` cannot be used more than once here")
            .because("only `regatta run` works in several repositories")
            .hint(format!("--repo {}", shell_word(&first.to_string_lossy())))),
    }
}

/// Returns the long help of a command, or of the program if `path` is empty. Returns `None` if
/// there is no such command.
#[must_use]
pub fn help_of(path: &[String]) -> Option<String> {
    let mut command = displayed_grammar();
    let mut found = &mut command;
    for name in path {
        found = found.find_subcommand_mut(name).filter(|command| has_help(command))?;
    }
    Some(found.render_long_help().to_string())
}

/// Returns whether a command has a help and a manual page. `launch` is hidden only because its name may be
/// left out.
#[must_use]
pub fn has_help(command: &clap::Command) -> bool {
    !command.is_hide_set() || command.get_name() == "launch"
}

/// Returns the grammar without what is not implemented yet, for completions and manual pages.
#[must_use]
pub fn public_grammar() -> clap::Command {
    let mut grammar = grouped(Arguments::command());
    grammar.build();
    grammar
}

fn grammar() -> clap::Command {
    not_implemented::add_hidden(grouped(Arguments::command()))
}

/// Returns the names of the commands.
#[must_use]
pub fn command_names() -> Vec<String> {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| names_of(&Arguments::command()));
    NAMES.clone()
}

/// Returns the names of the commands of `regatta runs`.
fn names_of_runs() -> Vec<String> {
    Arguments::command().find_subcommand("runs").map(names_of).unwrap_or_default()
}

fn names_of(grammar: &clap::Command) -> Vec<String> {
    let commands = grammar.get_subcommands().filter(|command| !command.is_hide_set());
    commands.map(|command| command.get_name().to_owned()).collect()
}

/// Returns the usage error for an error of the parser.
fn usage_error(error: &clap::Error, line: &[OsString]) -> Error {
    let command = command_of(line);
    let what = match error.kind() {
        ErrorKind::InvalidSubcommand if command == Some("runs") => {
            return unknown_runs_command(error, line);
        }
        ErrorKind::InvalidSubcommand => {
            return not_implemented::refused_flag(line).unwrap_or_else(|| unknown_command(error));
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return Error::usage("the command is not complete").hint(help(command));
        }
        ErrorKind::UnknownArgument => {
            let part = text(error, ContextKind::InvalidArg);
            return unknown_option::unknown_option(&part, command, line);
        }
        ErrorKind::InvalidValue => match text(error, ContextKind::InvalidValue) {
            value if value.is_empty() => format!("`{}` needs a value", typed_name(error, line)),
            value => format!("invalid value `{value}` for `{}`", argument(error)),
        },
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error).map(ToString::to_string);
            if let Some(why) = why.filter(|why| not_implemented::is_refusal(why)) {
                return not_implemented::refused(&why);
            }
            let (value, option) = (text(error, ContextKind::InvalidValue), argument(error));
            match option.as_str() {
                SECRET => format!("invalid value for `{option}`"),
                _ => format!("invalid value `{value}` for `{option}`"),
            }
        }
        ErrorKind::ArgumentConflict => match text(error, ContextKind::PriorArg) {
            _ if is_repeated(error) => {
                format!("`{}` cannot be used more than once", argument(error))
            }
            prior => format!("`{}` cannot be used with `{prior}`", argument(error)),
        },
        ErrorKind::MissingRequiredArgument if command == Some("trust") => {
            "this command takes a NAME with `--revoke` only".to_owned()
        }
        ErrorKind::MissingRequiredArgument => {
            format!("`{}` is required", missing(error).join("` and `"))
        }
        ErrorKind::TooManyValues => format!("`{}` takes no value", argument(error)),
        ErrorKind::InvalidUtf8 => "the command line is not UTF-8".to_owned(),
        _ => "invalid command line".to_owned(),
    };
    let mut usage_error = Error::usage(what);
    if is_repeated(error) && argument(error) == "--exec" {
        usage_error =
            usage_error.hint("regatta run --exec CMD TASK…").hint("regatta run --plan FILE");
    }
    if let Some(source) = std::error::Error::source(error) {
        usage_error = match source.downcast_ref::<ParseIntError>() {
            Some(_) => usage_error.because("it takes a whole number, 1 or more"),
            None => usage_error.because(source.to_string()),
        };
    }
    let valid = texts(error, ContextKind::ValidValue);
    if !valid.is_empty() {
        usage_error = usage_error.because(format!("the values are {}", valid.join(", ")));
    }
    let is_short = |word: &OsString| word.to_str().is_some_and(|word| word.starts_with("-m"));
    if argument(error) == "--merge" && line.iter().any(is_short) {
        let model = shell_word(&text(error, ContextKind::InvalidValue));
        usage_error = usage_error.hint(format!("--model {model}"));
    }
    for line in lines_instead(error, command, line).into_iter().chain(other_lines(command, line)) {
        usage_error = usage_error.hint(line);
    }
    if let Some(near) = near_value(error, &valid, line) {
        let option = argument(error);
        usage_error = usage_error.hint(match (option.starts_with('-'), command) {
            (true, _) => format!("{option} {near}"),
            (false, Some(command)) => format!("regatta {command} {near}"),
            (false, None) => near,
        });
    }
    usage_error.hint(help(command))
}

/// Returns the missing arguments: the name of an option, and what another argument is.
fn missing(error: &clap::Error) -> Vec<String> {
    let name = |text: String| match text.split_once(' ') {
        Some((option, _value)) if option.starts_with("--") => option.to_owned(),
        _ => text,
    };
    texts(error, ContextKind::InvalidArg).into_iter().map(name).collect()
}

/// Returns the option of an error as it was typed: `-n` or its long name.
fn typed_name(error: &clap::Error, line: &[OsString]) -> String {
    let long = argument(error);
    let short = |word: &OsString| {
        unknown_option::is_short_of(word.to_str()?, &long, line)
            .then(|| word.to_str())
            .flatten()
            .map(str::to_owned)
    };
    let short = || line.iter().find_map(short);
    if line.iter().any(|word| *word == *long) { long } else { short().unwrap_or(long) }
}

/// Returns whether an option was given again that takes one value.
fn is_repeated(error: &clap::Error) -> bool {
    let prior = || text(error, ContextKind::PriorArg);
    error.kind() == ErrorKind::ArgumentConflict
        && (prior().is_empty() || prior() == argument(error))
}

/// Returns the command of a command line, if it names one.
fn command_of(line: &[OsString]) -> Option<&str> {
    if line.get(1).is_some_and(|word| word == LAUNCH) {
        return None;
    }
    let names = command_names();
    let words = line.iter().skip(1).filter_map(|word| word.to_str());
    words.into_iter().find(|word| names.iter().any(|name| name == word))
}

fn help(command: Option<&str>) -> String {
    command.map_or_else(|| "regatta --help".to_owned(), |name| format!("regatta {name} --help"))
}

fn unknown_command(error: &clap::Error) -> Error {
    let word = text(error, ContextKind::InvalidSubcommand);
    let error = Error::usage(format!("no such command: `{word}`"));
    if word.trim().contains(char::is_whitespace) {
        // Several words are a prompt.
        let task = shell_word(&word);
        return error.hint(format!("regatta run --model PROVIDER/ID {task}"));
    }
    let names = command_names();
    match nearest(&word, names.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("regatta {near}")),
        None => error.hint("regatta --help"),
    }
}

fn unknown_runs_command(error: &clap::Error, line: &[OsString]) -> Error {
    let word = text(error, ContextKind::InvalidSubcommand);
    let error = Error::usage(format!("no such command: `runs {word}`"));
    let mut hints = mistyped::instead_of_runs(&mistyped::typed_from(&word, line));
    if hints.is_empty() {
        let all = ["regatta runs list", "regatta runs show RUN", "regatta runs retry RUN"];
        hints.extend(all.map(str::to_owned));
    } else {
        hints.push("regatta runs --help".to_owned());
    }
    hints.into_iter().fold(error, Error::hint)
}

/// Returns the name of the invalid argument, without its value.
fn argument(error: &clap::Error) -> String {
    let whole = text(error, ContextKind::InvalidArg);
    whole.split(' ').next().unwrap_or_default().trim_end_matches("...").to_owned()
}

fn text(error: &clap::Error, kind: ContextKind) -> String {
    let whole = texts(error, kind).into_iter().next().unwrap_or_default();
    match kind {
        ContextKind::PriorArg => whole.split(' ').next().unwrap_or_default().to_owned(),
        _ => whole,
    }
}

fn texts(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(all)) => all.clone(),
        Some(ContextValue::StyledStr(one)) => vec![one.to_string()],
        Some(ContextValue::StyledStrs(all)) => all.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}

#[cfg(feature = "tui")]
pub(crate) use mistyped::meant_as_command;
pub(crate) use mistyped::{glob_of, instead_of_path};

mod forgotten_run;
mod instead;
mod launch_line;
mod mistyped;
mod unknown_option;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod typed_tests;
