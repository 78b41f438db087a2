//! The order in which help lists commands, and the headings under which it lists their options.

use clap::ArgAction;

/// The commands in the order of `regatta -h`: by the course of a run.
pub(super) const COMMANDS: &str = "run runs results logs why diff conflicts show apply discard undo gc agents mcp models login \
     logout gates trust config demo schema completions man help";

/// The options of a command below one heading, in their order. Those after `|` are left out of `-h`.
type Group = (&'static str, &'static str);

const SESSION: &[Group] = &[
    ("Model", "model thinking | models provider api_key base_url list_models"),
    (
        "Session",
        "print continues resume isolated | mode fork no_session session_dir isolation allow_home notify",
    ),
    (
        "What the model gets",
        "| tools no_tools approval_mode system_prompt append_system_prompt no_context_files",
    ),
];

const RUN: &[Group] = &[
    ("Tasks", "exec model each plan | name schema chunk null agent approval_mode servers"),
    ("Run", "jobs setup carry dry_run | limits label fail_fast repo_list notify"),
    ("Workspaces", "| no_carry isolation pass_env"),
    ("Landing", "merge commands | onto resolve land union timeout anyway allow_loss"),
    ("Provider", "| api_key base_url"),
];

const RETRY: &[Group] = &[
    ("Which tasks", "failed cancelled all | conflicted"),
    ("How", "exec model dry_run | base_url limits jobs approval_mode notify"),
];

const APPLY: &[Group] = &[
    ("Work", "kept again dry_run | conflicted failed"),
    ("Conflicts", "ours theirs union markers | clean tool resolve allow_loss timeout index branch"),
];

/// The options of every command.
const GLOBAL: &[Group] = &[(GLOBAL_HEADING, "repos json quiet verbose | color progress")];
const GLOBAL_HEADING: &str = "Options of every command";

/// The place of the options of every command, after all others.
const LAST: usize = 1000;

/// The commands whose options are grouped, each with the names that lead to it.
const GROUPED: [(&[&str], &[Group]); 4] =
    [(&["launch"], SESSION), (&["run"], RUN), (&["runs", "retry"], RETRY), (&["apply"], APPLY)];

/// Returns the grammar with its commands and options in the order of the help.
pub(super) fn grouped(grammar: clap::Command) -> clap::Command {
    let grammar = group(grammar, GLOBAL, LAST);
    let grammar =
        COMMANDS.split_whitespace().enumerate().fold(grammar, |grammar, (place, name)| {
            grammar.mut_subcommand(name, |command| command.display_order(place))
        });
    GROUPED.into_iter().fold(grammar, |grammar, (path, groups)| {
        at(grammar, path, &|command| with_help(group(command, groups, 0)))
    })
}

/// Changes the command to which `path` leads.
pub(super) fn at(
    grammar: clap::Command,
    path: &[&'static str],
    change: &dyn Fn(clap::Command) -> clap::Command,
) -> clap::Command {
    match path {
        [] => change(grammar),
        [name, rest @ ..] => grammar.mut_subcommand(name, |command| at(command, rest, change)),
    }
}

/// Adds the option for help, so that the last line of the short help says what it leaves out.
fn with_help(command: clap::Command) -> clap::Command {
    let help = clap::Arg::new("help").short('h').long("help").action(ArgAction::Help);
    let help = help.help_heading(GLOBAL_HEADING).display_order(2 * LAST);
    command
        .disable_help_flag(true)
        .arg(help.help("Print this help; --help prints all options").long_help("Print this help"))
}

fn group(command: clap::Command, groups: &[Group], first: usize) -> clap::Command {
    let options = groups.iter().flat_map(|(heading, names)| {
        let (common, rare) = names.split_once('|').unwrap_or((names, ""));
        let common = common.split_whitespace().map(|name| (name, false));
        let rare = rare.split_whitespace().map(|name| (name, true));
        common.chain(rare).map(move |(name, is_rare)| (heading, name, is_rare))
    });
    options.enumerate().fold(command, |command, (place, (heading, name, is_rare))| {
        command.mut_arg(name, |option| {
            option.help_heading(*heading).display_order(first + place).hide_short_help(is_rare)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::{help_of, public_grammar};
    use super::*;

    #[test]
    fn every_command_and_every_option_of_a_long_help_has_its_place() {
        let grammar = public_grammar();
        let named: Vec<_> = COMMANDS.split_whitespace().collect();
        let commands = grammar.get_subcommands().filter(|command| !command.is_hide_set());
        for command in commands {
            assert!(named.contains(&command.get_name()), "{} has its place", command.get_name());
        }
        for (path, groups) in GROUPED {
            let name = path.join(" ");
            let grouped: Vec<_> =
                groups.iter().flat_map(|(_, names)| names.split(['|', ' '])).collect();
            let command = path.iter().fold(&grammar, |command, name| {
                command.find_subcommand(name).expect("a command that is grouped is there")
            });
            let options = command.get_arguments().filter(|option| !option.is_positional());
            for option in options.filter(|option| !option.is_global_set() && !option.is_hide_set())
            {
                let id = option.get_id().as_str();
                assert!(grouped.contains(&id) || id == "help", "{name}: {id} has a heading");
            }
        }
    }

    #[test]
    fn the_short_help_of_each_command_is_one_screen_and_says_where_the_rest_is() {
        let mut commands = vec![public_grammar()];
        while let Some(command) = commands.pop() {
            let inner = command.get_subcommands().filter(|it| !it.is_hide_set()).cloned();
            let is_root = commands.is_empty() && command.get_name() == "regatta";
            commands.extend(inner);
            // `-h` of the program has the commands of every day, and `--help` all of them.
            if is_root {
                let daily = super::super::help_text::DAILY;
                assert!(daily.lines().count() <= 24, "{daily}");
                assert!(daily.lines().all(|line| line.chars().count() <= 80), "{daily}");
                let named = daily.lines().filter_map(|line| line.strip_prefix("  regatta "));
                let named =
                    named.flat_map(|line| line.split("  ").next().unwrap_or("").split(", "));
                for name in named.filter_map(|name| name.split_whitespace().next()) {
                    let is_option = name.starts_with('-');
                    assert!(is_option || command.find_subcommand(name).is_some(), "{name}");
                }
                commands.extend(command.find_subcommand("launch").cloned());
                continue;
            }
            let help = command.clone().term_width(80).render_help().to_string();
            let lines = help.lines().count();
            assert!(lines <= 30, "{} has {lines} lines:\n{help}", command.get_name());
            assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
            let last = help.lines().last().unwrap_or_default();
            let has_rest = command.get_arguments().any(clap::Arg::is_hide_short_help_set);
            assert!(
                last.ends_with("--help prints all options")
                    || help.contains("see more with '--help'")
                    || !has_rest,
                "{help}"
            );
        }
        let run = help_of(&["run".to_owned()]).expect("a run has help");
        assert!(run.contains("--verify-anyway"), "the long help has everything: {run}");
    }
}
