//! A command that was meant, with those of the words behind it that it takes.

use super::is_print_option;
use crate::args::public_grammar;
use crate::elsewhere::may_be_target;
use crate::render::{shell_word, shell_words};

/// Returns a command that was meant with what was typed behind it, unless those are words only, which would be
/// prompts.
pub(super) fn with_rest(command: &str, rest: &[&str]) -> String {
    let grammar = public_grammar();
    let found = grammar_of(command, &grammar);
    // Only a session prints an answer.
    let takes_print =
        found.is_some_and(|it| it.get_arguments().any(|arg| arg.get_short() == Some('p')));
    let rest: Vec<_> =
        rest.iter().copied().filter(|word| takes_print || !is_print_option(word)).collect();
    let names = found.into_iter().flat_map(clap::Command::get_subcommands);
    let names: Vec<_> = names.map(clap::Command::get_name).collect();
    if let Some((first, rest)) = rest.split_first()
        && let Some(below) = names.iter().find(|name| *name == first).copied()
    {
        return with_rest(&format!("{command} {below}"), rest);
    }
    match rest.iter().any(|word| word.starts_with('-')) {
        true => format!("{command} {}", shell_words(&rest)),
        false if command == "regatta run" && !rest.is_empty() => {
            format!("{command} {}", shell_word(&rest.join(" ")))
        }
        false => with_targets(command, &rest),
    }
}

/// Returns a command with what stands behind it, if that names a run or tasks of it.
pub(super) fn with_targets(command: &str, rest: &[&str]) -> String {
    let is_kept = |first: &&str| may_be_target(first) || takes_names(command);
    match rest.first().is_some_and(is_kept) {
        true => format!("{command} {}", shell_words(rest)),
        false => command.to_owned(),
    }
}

/// Returns the grammar of a command such as `regatta runs show`.
fn grammar_of<'a>(command: &str, grammar: &'a clap::Command) -> Option<&'a clap::Command> {
    let mut words = command.split(' ').skip(1);
    words.try_fold(grammar, |command, word| command.find_subcommand(word))
}

/// Returns whether a command takes names that are not runs, tasks or prompts, such as that of a shell.
fn takes_names(command: &str) -> bool {
    let grammar = public_grammar();
    let names = grammar_of(command, &grammar).into_iter().flat_map(clap::Command::get_positionals);
    let mut names = names.filter_map(clap::Arg::get_value_names).flatten().peekable();
    names.peek().is_some()
        && names.all(|name| !["RUN", "TASK", "PROMPT"].iter().any(|it| name.contains(it)))
}
