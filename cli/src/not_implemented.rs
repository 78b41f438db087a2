//! The list of what is planned but not implemented yet: commands, options, values and keys of plans.
//! The program refuses each of them by name, and ignores none.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::error::Error;

/// A feature that the program recognises and refuses.
enum Missing {
    /// A command, by its parent (`regatta` or `runs`), with what it will do.
    Command { parent: &'static str, name: &'static str, purpose: &'static str },
    /// An option of a command, with what to do today.
    Option { command: &'static str, name: &'static str, takes: Takes, instead: &'static str },
    /// A value of an option, with what to use today, if there is something.
    Value { option: &'static str, value: &'static str, instead: &'static str },
    /// A key of a table of a plan, with what to do today.
    PlanKey { table: &'static str, key: &'static str, instead: &'static str },
}

/// Whether a value follows an option.
#[derive(Clone, Copy)]
enum Takes {
    Value,
    Nothing,
}

/// The parent of top-level commands and options in the list: the program itself.
const ROOT: &str = "regatta";

const USE_RUN: &str = "let an agent do it: regatta run --model PROVIDER/ID TASK";
const OMIT: &str = "leave it out";
const OWN_CHECK: &str = "check it at the end of the command, or say so in the prompt";

#[rustfmt::skip]
const MISSING: &[Missing] = &[
    command("resume", "going on with a run"),
    command("replay", "playing a recorded run back"),
    command("attach", "showing a detached run"),
    command("task", "looking into one task"),
    command("why", "telling what a task waits for"),
    command("budget", "raising a budget"),
    command("workspaces", "listing workspaces"),
    command("agents", "listing agents"),
    command("config", "editing the settings"),
    command("trust", "trusting a project"),
    command("doctor", "examining the machine"),
    command("batch", "a campaign over many repositories"),
    command("serve", "serving other programs"),
    command("acp", "speaking ACP"),
    command("mcp", "speaking MCP"),
    command("worker", "working for another engine"),
    command("commit", "writing commits"),
    command("search", "searching the web"),
    command("ssh", "working over SSH"),
    command("shell", "an interactive shell"),
    command("stats", "counting what was used"),
    command("join", "joining a session"),
    command("plugin", "handling plugins"),
    command("setup", "setting up tools"),
    command("update", "updating itself"),
    runs_command("report", "reporting on a run"),
    runs_command("cancel", "cancelling a run from outside"),
    option("launch", "agent", Takes::Value, USE_RUN),
    option("run", "detach", Takes::Nothing, OMIT),
    option("run", "record", Takes::Nothing, OMIT),
    option("run", "trust-changes", Takes::Nothing, OMIT),
    option("run", "require-confinement", Takes::Nothing, OMIT),
    option("run", "budget", Takes::Value, OMIT),
    value("limit", "processes", ""),
    value("limit", "memory", ""),
    plan_key("a task", "agent", "leave it out: every prompt has the agent `task`"),
    plan_key("a task", "scope", OWN_CHECK),
    plan_key("a task", "proofs", OWN_CHECK),
];

const fn command(name: &'static str, purpose: &'static str) -> Missing {
    Missing::Command { parent: ROOT, name, purpose }
}

const fn runs_command(name: &'static str, purpose: &'static str) -> Missing {
    Missing::Command { parent: "runs", name, purpose }
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

const fn plan_key(table: &'static str, key: &'static str, instead: &'static str) -> Missing {
    Missing::PlanKey { table, key, instead }
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
        Missing::Value { .. } | Missing::PlanKey { .. } => root,
    })
}

fn hidden_command(name: &'static str) -> Command {
    let rest = Arg::new("rest")
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
    refuse_command(ROOT, given)?;
    refuse_options(given, inner)?;
    inner.subcommand_name().map_or(Ok(()), |below| refuse_command(given, below))
}

fn refuse_command(under: &str, given: &str) -> Result<(), Error> {
    for missing in MISSING {
        if let Missing::Command { parent, name, purpose } = missing
            && (*parent, *name) == (under, given)
        {
            let path = if *parent == ROOT { String::new() } else { format!("{parent} ") };
            let what = format!("`regatta {path}{name}` ({purpose})");
            return Err(Error::not_implemented(&what));
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
            return Err(refused_option(name, instead));
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
        is_given(name).then(|| refused_option(name, instead))
    })
}

fn refused_option(name: &str, instead: &str) -> Error {
    let refused = Error::not_implemented(&format!("`--{name}`"));
    Error { what: format!("{}; {instead}", refused.what), ..refused }
}

/// Returns whether a message about a value says that it is not implemented yet.
pub(crate) fn is_refusal(message: &str) -> bool {
    message.contains("not implemented yet")
}

/// Returns why a value of an option is refused, if the list has it.
pub(crate) fn refused_value(of: &str, given: &str) -> Option<String> {
    MISSING.iter().find_map(|missing| {
        let Missing::Value { option, value, instead } = missing else { return None };
        let instead = if instead.is_empty() { "" } else { &format!("; use {instead}") };
        let refused = || format!("{option} `{value}` is not implemented yet{instead}");
        ((*option, *value) == (of, given)).then(refused)
    })
}

/// Returns what to do instead of using a key of a plan, if the list has it.
pub(crate) fn instead_of_plan_key(of: &str, given: &str) -> Option<&'static str> {
    MISSING.iter().find_map(|missing| {
        let Missing::PlanKey { table, key, instead } = missing else { return None };
        ((*table, *key) == (of, given)).then_some(*instead)
    })
}
