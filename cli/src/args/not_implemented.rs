//! What is promised but not yet built: recognised and refused, never ignored.

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::error::Error;

/// Commands that come later, with what they will do.
const COMMANDS: [(&str, &str); 33] = [
    ("resume", "going on with a run"),
    ("replay", "playing a recorded run back"),
    ("attach", "showing a detached run"),
    ("task", "looking into one task"),
    ("undo", "taking a landing back"),
    ("why", "telling what a task waits for"),
    ("budget", "raising a budget"),
    ("gates", "showing provider accounts"),
    ("workspaces", "listing workspaces"),
    ("gc", "clearing old captures"),
    ("agents", "listing agents"),
    ("models", "listing models"),
    ("login", "logging in to a provider"),
    ("logout", "logging out of a provider"),
    ("config", "editing the settings"),
    ("trust", "trusting a project"),
    ("doctor", "examining the machine"),
    ("completions", "completing in a shell"),
    ("man", "printing the manual"),
    ("batch", "a campaign over many repositories"),
    ("serve", "serving other programs"),
    ("acp", "speaking ACP"),
    ("mcp", "speaking MCP"),
    ("worker", "working for another engine"),
    ("commit", "writing commits"),
    ("search", "searching the web"),
    ("ssh", "working over SSH"),
    ("shell", "an interactive shell"),
    ("stats", "counting what was used"),
    ("join", "joining a session"),
    ("plugin", "handling plugins"),
    ("setup", "setting up tools"),
    ("update", "updating itself"),
];

/// The same below `regatta runs`.
const RUNS_COMMANDS: [(&str, &str); 3] = [
    ("report", "reporting on a run"),
    ("cancel", "cancelling a run from outside"),
    ("retry", "running failed tasks again"),
];

/// What stands after an option.
#[derive(Clone, Copy)]
enum Takes {
    Value,
    Nothing,
}

/// An option: its name and what stands after it.
type Flag = (&'static str, Takes);

const ROOT_FLAGS: [Flag; 6] = [
    ("print", Takes::Nothing),
    ("mode", Takes::Value),
    ("continue", Takes::Nothing),
    ("resume", Takes::Nothing),
    ("model", Takes::Value),
    ("agent", Takes::Value),
];

const RUN_FLAGS: [Flag; 10] = [
    ("detach", Takes::Nothing),
    ("record", Takes::Nothing),
    ("verify", Takes::Value),
    ("resolve", Takes::Value),
    ("land", Takes::Value),
    ("onto", Takes::Value),
    ("union", Takes::Value),
    ("trust-changes", Takes::Nothing),
    ("require-confinement", Takes::Nothing),
    ("budget", Takes::Value),
];

const APPLY_FLAGS: [Flag; 4] = [
    ("ours", Takes::Value),
    ("theirs", Takes::Value),
    ("markers", Takes::Value),
    ("branch", Takes::Value),
];

const LOGS_FLAGS: [Flag; 1] = [("follow", Takes::Nothing)];

/// The one form of an option that is what happens anyway.
const BUILT: (&str, &str) = ("land", "end");

/// Teaches `root` the names of what is not yet built, without showing them.
pub(super) fn add(root: Command) -> Command {
    let root = flagged(root, &ROOT_FLAGS)
        .mut_subcommand("run", |run| flagged(run, &RUN_FLAGS))
        .mut_subcommand("apply", |apply| flagged(apply, &APPLY_FLAGS))
        .mut_subcommand("logs", |logs| flagged(logs, &LOGS_FLAGS))
        .mut_subcommand("runs", |runs| runs.subcommands(RUNS_COMMANDS.map(hidden)));
    root.subcommands(COMMANDS.map(hidden))
}

fn flagged(command: Command, flags: &[Flag]) -> Command {
    flags.iter().fold(command, |command, (name, takes)| {
        let arg = Arg::new(*name).long(*name).hide(true);
        let arg = if *name == "print" { arg.short('p') } else { arg };
        command.arg(match takes {
            Takes::Value => arg.action(ArgAction::Append).allow_hyphen_values(true),
            Takes::Nothing => arg.action(ArgAction::Count),
        })
    })
}

fn hidden((name, _): (&'static str, &'static str)) -> Command {
    let rest = Arg::new("rest")
        .num_args(0..)
        .trailing_var_arg(true)
        .allow_hyphen_values(true)
        .value_parser(clap::value_parser!(std::ffi::OsString));
    Command::new(name).hide(true).disable_help_flag(true).arg(rest)
}

/// Refuses what is not yet built.
pub(super) fn refuse(matches: &ArgMatches) -> Result<(), Error> {
    refuse_flags(matches, &ROOT_FLAGS)?;
    let Some((name, inner)) = matches.subcommand() else { return Ok(()) };
    if let Some((name, what)) = COMMANDS.iter().find(|(command, _)| *command == name) {
        return Err(command(name, what));
    }
    match name {
        "run" => refuse_flags(inner, &RUN_FLAGS),
        "apply" => refuse_flags(inner, &APPLY_FLAGS),
        "logs" => refuse_flags(inner, &LOGS_FLAGS),
        "runs" => match inner.subcommand_name() {
            Some(below) => match RUNS_COMMANDS.iter().find(|(command, _)| *command == below) {
                Some((below, what)) => Err(command(&format!("runs {below}"), what)),
                None => Ok(()),
            },
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn command(name: &str, what: &str) -> Error {
    Error::not_implemented(&format!("`regatta {name}` ({what})")).hint("regatta --help")
}

fn refuse_flags(matches: &ArgMatches, flags: &[Flag]) -> Result<(), Error> {
    for (name, takes) in flags {
        let given = match takes {
            Takes::Nothing => matches.get_count(name) > 0,
            Takes::Value => {
                let values = matches.get_many::<String>(name).into_iter().flatten();
                values.into_iter().any(|value| (*name, value.as_str()) != BUILT)
            }
        };
        if given {
            return Err(Error::not_implemented(&format!("--{name}")).hint(hint_for(name)));
        }
    }
    Ok(())
}

/// Returns what works today instead of an option.
fn hint_for(flag: &str) -> &'static str {
    match flag {
        "agent" | "model" | "print" | "mode" | "continue" | "resume" => {
            "let an agent do it: regatta run --model PROVIDER/ID TASK"
        }
        "land" | "onto" => "leave it out: work lands once, at the end, where you are",
        "ours" | "theirs" | "markers" => "see what it wanted with `regatta diff RUN/TASK`",
        "branch" => "regatta run --merge branch",
        "follow" => "leave it out: what is there so far is shown",
        _ => "leave it out",
    }
}
