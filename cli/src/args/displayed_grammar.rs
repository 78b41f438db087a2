//! The grammar as help, manual pages and completions show it. The word `launch` may be left out, so the options
//! of a session are options of the program there.

use clap::CommandFactory as _;
use clap::builder::PossibleValuesParser;

use super::Arguments;
use super::option_groups::{COMMANDS, at, grouped};

/// The heading of the options of a session.
const SESSION: &str = "Options of a session";

/// Returns the grammar for help and manual pages.
#[must_use]
pub fn displayed_grammar() -> clap::Command {
    let mut grammar = with_session_options(grouped(Arguments::command()));
    grammar.build();
    grammar
}

/// Returns the grammar for completions, in which values that are names are listed.
#[must_use]
pub fn completion_grammar() -> clap::Command {
    let topics: Vec<_> = COMMANDS.split_whitespace().chain(["exit-codes"]).collect();
    let grammar = grouped(Arguments::command());
    let grammar = with_values(grammar, &["run"], "merge", &["patch", "branch", "stack", "none"]);
    let grammar = with_values(grammar, &["run"], "land", &["end", "eager"]);
    let grammar = with_values(grammar, &["schema"], "name", &["plan", "events", "settings"]);
    let mut grammar = with_session_options(with_values(grammar, &["help"], "topic", &topics));
    grammar.build();
    grammar
}

fn with_session_options(grammar: clap::Command) -> clap::Command {
    let session = grammar.find_subcommand("launch").into_iter();
    let options = session.flat_map(clap::Command::get_arguments);
    let options = options.filter(|it| !it.is_positional() && it.get_id() != "help");
    let options: Vec<_> = options.map(|it| it.clone().help_heading(SESSION)).collect();
    grammar.args(options)
}

/// Lists the values that an argument of the command at `path` takes.
fn with_values(
    grammar: clap::Command,
    path: &[&'static str],
    argument: &'static str,
    values: &[&'static str],
) -> clap::Command {
    at(grammar, path, &|command| {
        let values = PossibleValuesParser::new(values.iter().copied());
        command.mut_arg(argument, |it| it.value_parser(values))
    })
}

#[cfg(test)]
mod tests {
    use regatta::plan::{land_time, merge_mode};

    use super::*;

    fn values(path: &str, argument: &str) -> Vec<String> {
        let grammar = completion_grammar();
        let command = grammar.find_subcommand(path).unwrap();
        let argument = command.get_arguments().find(|it| it.get_id() == argument).unwrap();
        argument.get_possible_values().iter().map(|it| it.get_name().to_owned()).collect()
    }

    #[test]
    fn the_options_of_a_session_are_among_those_of_the_program() {
        let mut grammar = displayed_grammar();
        let help = grammar.render_long_help().to_string();
        for option in
            ["-p, --print", "-c, --continue", "-r, --resume", "--model <MODEL>", "--isolated"]
        {
            assert!(help.contains(option), "{option} in {help}");
        }
        let mut script = Vec::new();
        let bash = clap_complete::Shell::Bash;
        clap_complete::generate(bash, &mut completion_grammar(), "regatta", &mut script);
        let script = String::from_utf8(script).unwrap();
        let root = script.lines().find(|line| line.trim().starts_with("opts=\"-")).unwrap();
        assert!(root.contains("--approval-mode") && root.contains(" --mode"), "{root}");
    }

    #[test]
    fn values_that_are_names_are_completed() {
        assert!(values("run", "merge").iter().all(|name| merge_mode(name).is_ok()));
        assert_eq!(values("run", "merge").len(), 4);
        assert!(values("run", "land").iter().all(|name| land_time(name).is_ok()));
        assert_eq!(values("schema", "name"), ["plan", "events", "settings"]);
        let topics = values("help", "topic");
        assert!(
            topics.iter().any(|it| it == "apply") && topics.iter().any(|it| it == "exit-codes")
        );
    }
}
