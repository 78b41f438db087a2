//! The list of what is planned but not implemented yet: commands, options, values and keys of plans.
//! The program refuses each of them by name, and ignores none.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command};

#[cfg(test)]
use crate::elsewhere::as_shown;
use crate::elsewhere::{STOP, UPDATE, with_value, with_words};
use regatta::error::Error;

/// A feature that the program recognises and refuses.
enum Missing {
    /// A command, by its parent (`regatta`, `mcp` or `runs`), with what it will do and what to do today.
    Command {
        parent: &'static str,
        name: &'static str,
        purpose: &'static str,
        instead: &'static str,
    },
    /// An option of a command, with what to do today.
    Option { command: &'static str, name: &'static str, takes: Takes, instead: &'static str },
    /// A value of an option, with what to use today.
    Value { option: &'static str, value: &'static str, instead: &'static str },
}

/// Whether a value follows an option.
#[derive(Clone, Copy)]
enum Takes {
    Value,
    Nothing,
}

/// The parent of top-level commands and options in the list: the program itself.
const ROOT: &str = "regatta";

const USE_RUN: &str = "regatta run --model PROVIDER/ID TASK (an agent does it)";
const OMIT: &str = "leave it out";
#[rustfmt::skip]
const MISSING: &[Missing] = &[
    command("resume", "continuing a run", "regatta runs retry <RUN> --cancelled (a run)\nregatta --continue (the latest session)\nregatta --resume (lists the sessions)"),
    command("replay", "replaying a recorded run", "regatta logs <RUN>\nregatta results <RUN>"),
    command("attach", "showing a detached run", "regatta logs <RUN> --follow"),
    command("task", "inspecting one task", "regatta runs show <RUN>\nregatta logs <RUN/TASK>\nregatta diff <RUN/TASK>"),
    command("budget", "raising a budget", "regatta run --limit cost=2.00USD TASK (of each task)"),
    command("workspaces", "listing workspaces", "regatta runs show <RUN>\nregatta diff <RUN/TASK>"),
    command("doctor", "checking the machine", "regatta run --dry-run --exec true\nregatta models"),
    command("batch", "running tasks over many repositories", "regatta run --repo A --repo B TASK"),
    command("serve", "serving other programs", "regatta run --json TASK\nregatta -p --mode json PROMPT (prints events)"),
    command("acp", "speaking ACP", "regatta -p --mode json PROMPT"),
    command("worker", "working for another engine", "ssh HOST regatta run"),
    command("commit", "writing commits", "regatta run --merge stack TASK (a commit per task)"),
    command("search", "searching the web", "regatta 'fetch URL with curl'"),
    command("ssh", "working over SSH", "regatta run --exec 'ssh HOST …'"),
    command("shell", "an interactive shell", "regatta (and in it !COMMAND)"),
    command("stats", "statistics of usage", "regatta runs show <RUN>"),
    command("join", "joining a session", "regatta logs SESSION --follow"),
    command("plugin", "managing plugins", "regatta 'run PROGRAM' (with the tool bash)"),
    command("setup", "setting up tools", "regatta run --setup CMD TASK"),
    command("update", "updating itself", UPDATE),
    command_below("mcp", "serve", "serving other agents", "regatta run --json TASK"),
    command_below("mcp", "login", "logging in to a server", "regatta mcp add NAME URL --header 'Authorization: Bearer ${TOKEN}'"),
    command_below("mcp", "logout", "logging out of a server", "regatta mcp remove NAME"),
    command_below("runs", "report", "reporting on a run", "regatta runs show <RUN>\nregatta results <RUN>"),
    command_below("runs", "cancel", "cancelling a run from outside", STOP),
    option("launch", "agent", Takes::Value, USE_RUN),
    option("run", "detach", Takes::Nothing, "regatta run … &\nregatta logs RUN --follow"),
    option("run", "record", Takes::Nothing, OMIT),
    option("run", "trust-changes", Takes::Nothing, OMIT),
    option("run", "require-confinement", Takes::Nothing, OMIT),
    option("run", "budget", Takes::Value, "--limit cost=<DOLLARS:2.00>USD (of each task)"),
    value("agent", "claude", "--exec 'claude -p {{item}}'"),
    value("agent", "codex", "--exec 'codex exec --sandbox workspace-write {{item}}'"),
    value("agent", "gemini", "--exec 'gemini -p {{item}}'"),
    value("agent", "opencode", "--exec 'opencode run {{item}}'"),
    value("agent", "pi", "--exec 'pi -p -ne {{item}}'"),
    value("limit", "processes", "leave it out: nothing limits the processes of a task yet"),
    value("limit", "memory", "--exec 'ulimit -v 1000000; CMD' (each process gets so many KiB)"),
];

const fn command(name: &'static str, purpose: &'static str, instead: &'static str) -> Missing {
    Missing::Command { parent: ROOT, name, purpose, instead }
}

const fn command_below(
    parent: &'static str,
    name: &'static str,
    purpose: &'static str,
    instead: &'static str,
) -> Missing {
    Missing::Command { parent, name, purpose, instead }
}

const fn option(
    command: &'static str,
    name: &'static str,
    takes: Takes,
    instead: &'static str,
) -> Missing {
    Missing::Option { command, name, takes, instead }
}

const fn value(option: &'static str, value: &'static str, instead: &'static str) -> Missing {
    Missing::Value { option, value, instead }
}

/// Adds the commands and options of the list to `root`, hidden from its help.
pub(crate) fn add_hidden(root: Command) -> Command {
    MISSING.iter().fold(root, |root, missing| match missing {
        Missing::Command { parent: ROOT, name, .. } => root.subcommand(hidden_command(name)),
        Missing::Command { parent, name, .. } => {
            root.mut_subcommand(parent, |parent| parent.subcommand(hidden_command(name)))
        }
        Missing::Option { command: ROOT, name, takes, .. } => root.arg(hidden_option(name, *takes)),
        Missing::Option { command, name, takes, .. } => {
            root.mut_subcommand(command, |command| command.arg(hidden_option(name, *takes)))
        }
        Missing::Value { .. } => root,
    })
}

/// The argument of a hidden command: all that is typed behind it.
const REST: &str = "rest";

fn hidden_command(name: &'static str) -> Command {
    let rest = Arg::new(REST)
        .num_args(0..)
        .trailing_var_arg(true)
        .allow_hyphen_values(true)
        .value_parser(clap::value_parser!(std::ffi::OsString));
    Command::new(name).hide(true).disable_help_flag(true).arg(rest)
}

fn hidden_option(name: &'static str, takes: Takes) -> Arg {
    let arg = Arg::new(name).long(name).hide(true);
    let arg = if name == "print" { arg.short('p') } else { arg };
    match takes {
        Takes::Value => arg.action(ArgAction::Append).allow_hyphen_values(true),
        Takes::Nothing => arg.action(ArgAction::Count),
    }
}

/// Refuses commands and options of the list.
///
/// # Errors
/// The command line has a command or an option of the list.
pub(crate) fn refuse(matches: &ArgMatches) -> Result<(), Error> {
    refuse_options(ROOT, matches)?;
    let Some((given, inner)) = matches.subcommand() else { return Ok(()) };
    refuse_command(ROOT, given, inner)?;
    refuse_options(given, inner)?;
    inner.subcommand().map_or(Ok(()), |(below, inner)| refuse_command(given, below, inner))
}

fn refuse_command(under: &str, given: &str, inner: &ArgMatches) -> Result<(), Error> {
    for missing in MISSING {
        if let Missing::Command { parent, name, purpose, instead } = missing
            && (*parent, *name) == (under, given)
        {
            let path = if *parent == ROOT { String::new() } else { format!("{parent} ") };
            let error = Error::not_implemented(&format!("`regatta {path}{name}` ({purpose})"));
            let rest = inner.try_get_many::<OsString>(REST).ok().flatten().into_iter().flatten();
            let words: Vec<_> =
                std::iter::once(given).chain(rest.filter_map(|word| word.to_str())).collect();
            return Err(with_words(instead, &words).into_iter().fold(error, Error::hint));
        }
    }
    Ok(())
}

fn refuse_options(of: &str, matches: &ArgMatches) -> Result<(), Error> {
    for missing in MISSING {
        let Missing::Option { command, name, takes, instead } = missing else { continue };
        if *command != of {
            continue;
        }
        let is_given = match takes {
            Takes::Nothing => matches.get_count(name) > 0,
            Takes::Value => matches.contains_id(name),
        };
        if is_given {
            let value = matches.try_get_one::<String>(name).ok().flatten();
            let refused = value.and_then(|value| refused_value(name, value));
            return Err(match refused {
                Some(why) => {
                    let why = why.replace("; use --", "; use regatta run --");
                    self::refused(&if of == "launch" { why + " …" } else { why })
                }
                None => refused_option(name, instead, value.map(String::as_str)),
            });
        }
    }
    Ok(())
}

/// Returns the refusal of a command line that has a flag of the program itself from the list. With
/// such a flag, what would be a command is a prompt.
pub(crate) fn refused_flag(line: &[OsString]) -> Option<Error> {
    let is_given = |name: &str| {
        let long = format!("--{name}");
        line.iter().any(|word| *word == *long || (name == "print" && word == "-p"))
    };
    MISSING.iter().find_map(|missing| {
        let Missing::Option { command: ROOT, name, takes: Takes::Nothing, instead } = missing
        else {
            return None;
        };
        is_given(name).then(|| refused_option(name, instead, None))
    })
}

fn refused_option(name: &str, instead: &str, value: Option<&str>) -> Error {
    let refused = Error::not_implemented(&format!("`--{name}`"));
    with_value(instead, value).into_iter().fold(refused, Error::hint)
}

/// Returns what to do instead of using a command of the program itself, if the list has it. `words` are the
/// command as typed.
pub(crate) fn instead_of_command(words: &[&str]) -> Option<Vec<String>> {
    MISSING.iter().find_map(|missing| match missing {
        Missing::Command { parent: ROOT, name, instead, .. } if words.first() == Some(name) => {
            Some(with_words(instead, words))
        }
        _ => None,
    })
}

/// Returns the options in the list that take a value.
pub(crate) fn valued_options() -> impl Iterator<Item = &'static str> {
    MISSING.iter().filter_map(|missing| match missing {
        Missing::Option { name, takes: Takes::Value, .. } => Some(*name),
        _ => None,
    })
}

/// Returns the commands of the program itself in the list.
pub(crate) fn commands() -> impl Iterator<Item = &'static str> {
    MISSING.iter().filter_map(|missing| match missing {
        Missing::Command { parent: ROOT, name, .. } => Some(*name),
        _ => None,
    })
}

/// Returns the error of a value that is not implemented yet, from the message about it.
pub(crate) fn refused(message: &str) -> Error {
    match message.split_once("; use ") {
        Some((what, instead)) => Error::usage(what).hint(instead),
        None => Error::usage(message),
    }
}

/// Returns whether a message about a value says that it is not implemented yet.
pub(crate) fn is_refusal(message: &str) -> bool {
    message.contains("not implemented yet")
}

/// Returns why a value of an option is refused, if the list has it.
pub(crate) fn refused_value(of: &str, given: &str) -> Option<String> {
    MISSING.iter().find_map(|missing| {
        let Missing::Value { option, value, instead } = missing else { return None };
        let refused = || format!("{option} `{value}` is not implemented yet; use {instead}");
        ((*option, *value) == (of, given)).then(refused)
    })
}

/// Returns the page of what is planned, `docs/planned.md`.
#[cfg(test)]
pub(crate) fn page() -> String {
    let mut page =
        "# What is planned\n\nThe program refuses each of these by its name. The last column \
                    says what to do today.\n\n| planned | today |\n|---|---|\n"
            .to_owned();
    for missing in MISSING {
        let (planned, today) = match missing {
            Missing::Command { parent: ROOT, name, purpose, instead } => {
                (format!("`regatta {name}`: {purpose}"), *instead)
            }
            Missing::Command { parent, name, purpose, instead } => {
                (format!("`regatta {parent} {name}`: {purpose}"), *instead)
            }
            Missing::Option { command: "launch", name, instead, .. } => {
                (format!("`regatta --{name}`"), *instead)
            }
            Missing::Option { command, name, instead, .. } => {
                (format!("`regatta {command} --{name}`"), *instead)
            }
            Missing::Value { option, value, instead } => {
                (format!("`--{option} {value}`"), *instead)
            }
        };
        let today = as_shown(today).join("; ");
        page.push_str(&format!("| {planned} | {today} |\n"));
    }
    for (table, key, today) in regatta::plan::PLANNED_KEYS {
        page.push_str(&format!("| the key `{key}` of {table} in a plan | {today} |\n"));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elsewhere::assert_can_be_copied;

    #[test]
    fn what_to_do_today_can_be_copied() {
        for missing in MISSING {
            let (Missing::Command { instead, .. }
            | Missing::Option { instead, .. }
            | Missing::Value { instead, .. }) = missing;
            assert_can_be_copied(instead);
        }
        for (_, _, instead) in regatta::plan::PLANNED_KEYS {
            assert_can_be_copied(instead);
        }
    }

    #[test]
    fn the_page_of_what_is_planned_is_this_list() {
        let written = include_str!("../../docs/planned.md");
        assert!(page() == written, "docs/planned.md must be:\n{}", page());
    }
}
