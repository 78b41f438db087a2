//! The order in which help lists commands, and the headings under which it lists their options.

/// The commands in the order of `regatta -h`: by the course of a run.
const COMMANDS: &str = "run runs results logs diff conflicts show apply discard undo gc models login logout gates \
                        demo schema completions man help";

/// The options of a command below one heading, in their order. Those after `|` are left out of `-h`.
type Group = (&'static str, &'static str);

const SESSION: &[Group] = &[
    ("Model", "model thinking models | provider api_key base_url list_models"),
    ("Session", "continues resume | fork no_session session_dir allow_home"),
    ("Output", "print mode"),
    ("What the model gets", "tools | no_tools approval_mode system_prompt append_system_prompt no_context_files"),
];

const RUN: &[Group] = &[
    ("Tasks", "exec model each plan name | schema chunk null agent approval_mode"),
    ("Run", "jobs limits dry_run | label fail_fast"),
    ("Workspaces", "setup carry | no_carry isolation pass_env"),
    ("Landing", "merge onto commands resolve | land union timeout anyway allow_loss"),
    ("Provider", "| api_key base_url"),
];

const APPLY: &[Group] = &[
    ("Work", "kept conflicted failed again dry_run"),
    ("Conflicts", "clean ours theirs union markers tool resolve | allow_loss timeout index branch"),
];

/// The options of every command.
const GLOBAL: &[Group] =
    &[("Options of every command", "repo json quiet verbose | color progress")];

/// The place of the options of every command, after all others.
const LAST: usize = 1000;

const GROUPED: [(&str, &[Group]); 3] = [("launch", SESSION), ("run", RUN), ("apply", APPLY)];

/// Returns the grammar with its commands and options in the order of the help.
pub(super) fn grouped(grammar: clap::Command) -> clap::Command {
    let grammar = group(grammar, GLOBAL, LAST);
    let grammar =
        COMMANDS.split_whitespace().enumerate().fold(grammar, |grammar, (place, name)| {
            grammar.mut_subcommand(name, |command| command.display_order(place))
        });
    GROUPED.into_iter().fold(grammar, |grammar, (name, groups)| {
        grammar.mut_subcommand(name, |command| group(command, groups, 0))
    })
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
        for (name, groups) in GROUPED {
            let grouped: Vec<_> =
                groups.iter().flat_map(|(_, names)| names.split(['|', ' '])).collect();
            let command =
                grammar.find_subcommand(name).expect("a command that is grouped is there");
            let options = command.get_arguments().filter(|option| !option.is_positional());
            for option in options.filter(|option| !option.is_global_set() && !option.is_hide_set())
            {
                let id = option.get_id().as_str();
                assert!(grouped.contains(&id) || id == "help", "{name}: {id} has a heading");
            }
        }
    }

    #[test]
    fn the_short_help_of_each_command_is_one_screen() {
        let grammar = public_grammar();
        for command in grammar.get_subcommands().filter(|command| !command.is_hide_set()) {
            let help = command.clone().term_width(80).render_help().to_string();
            let lines = help.lines().count();
            assert!(lines <= 42, "{} has {lines} lines:\n{help}", command.get_name());
        }
        let run = help_of(&["run".to_owned()]).expect("a run has help");
        assert!(run.contains("--verify-anyway"), "the long help has everything: {run}");
    }
}
