//! Finds what does here what an option of other programs does there.

use super::option_table::OPTIONS;
use crate::elsewhere::{SETTINGS, UPDATE, with_value};

/// The command that gets an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::args) enum CommandKind {
    Run,
    Session,
    /// Another command. Only what it takes helps there.
    Other,
}

/// What stands before the reason why an option is not needed.
const OMIT: &str = "leave it out";

/// Returns what does here what an option of other programs does there. `takes` says which options the
/// command takes, and `value` is what was typed as the value.
pub(in crate::args) fn option(
    word: &str,
    kind: CommandKind,
    value: Option<&str>,
    takes: &dyn Fn(&str) -> bool,
) -> Option<Vec<String>> {
    let of =
        |typed: &str| OPTIONS.iter().find(|(names, ..)| names.split(' ').any(|name| name == typed));
    let with_value_only = value.and_then(|value| of(&format!("{word}={value}")));
    let (_, run, session) = with_value_only.or_else(|| of(word))?;
    let first = |text: &str| takes(text.split_whitespace().next().unwrap_or_default());
    let is_same = run == session && [SETTINGS, UPDATE].contains(run);
    let instead = match kind {
        CommandKind::Run => *run,
        CommandKind::Session => *session,
        // The reason may be that of a run.
        CommandKind::Other if run.starts_with(OMIT) => OMIT,
        CommandKind::Other if first(run) || is_same => *run,
        CommandKind::Other => "",
    };
    (!instead.is_empty()).then(|| with_value(instead, value))
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::args::public_grammar;
    use crate::elsewhere::assert_can_be_copied;

    /// Returns the options that a command has.
    pub(in crate::args::elsewhere) fn taken(command: &str) -> BTreeSet<String> {
        let grammar = public_grammar();
        let below = |grammar: clap::Command, name| grammar.find_subcommand(name).cloned();
        let command = command.split(' ').try_fold(grammar, below).expect("it is a command");
        let long = command.get_arguments().filter_map(clap::Arg::get_long);
        let short = command.get_arguments().filter_map(clap::Arg::get_short);
        let long = long.map(|long| format!("--{long}"));
        long.chain(short.map(|short| format!("-{short}"))).collect()
    }

    #[test]
    fn each_option_of_the_table_is_one_of_the_command_or_has_what_does_the_same() {
        for (kind, command) in [(CommandKind::Run, "run"), (CommandKind::Session, "launch")] {
            let taken = taken(command);
            for typed in OPTIONS.iter().flat_map(|(names, ..)| names.split(' ')) {
                let (word, value) = typed.split_once('=').unzip();
                let word = word.unwrap_or(typed);
                let instead = option(word, kind, value, &|_| false);
                assert!(instead.is_some() != taken.contains(word), "{command} {typed}");
                for line in instead.into_iter().flatten().filter(|line| line.starts_with('-')) {
                    let option = line.split(' ').next().unwrap_or_default();
                    assert!(taken.contains(option), "{command} {typed}: {line}");
                }
            }
        }
    }

    #[test]
    fn each_option_stands_once_and_what_does_the_same_can_be_copied() {
        let words: Vec<_> = OPTIONS.iter().flat_map(|(names, ..)| names.split(' ')).collect();
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
        for (_, run, session) in OPTIONS {
            assert_can_be_copied(run);
            assert_can_be_copied(session);
        }
    }
}
