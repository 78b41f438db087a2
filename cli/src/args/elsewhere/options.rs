//! Finds what does here what an option of other programs does there.

use super::option_table::OPTIONS;
use crate::elsewhere::{SETTINGS, UPDATE, with_value};

/// The command that gets an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandKind {
    Run,
    Session,
    /// Another command. Only what it takes helps there.
    Other,
}

/// A way in which the table may have a value: `NAME=VALUE`, `NAME=KEY=` for a value `KEY=…`, `NAME=N` for a
/// number, `NAME=RULE` for what has `(` in it, `NAME=BASH` for a list of tools with that one, and `NAME=WORD` for
/// one word.
struct ValueKind<'a> {
    name: String,
    /// What the places of the row are filled with.
    value: &'a str,
}

/// Returns how the table may have a value.
fn kinds_of(value: &str) -> Vec<ValueKind<'_>> {
    let mut kinds = vec![ValueKind { name: value.to_owned(), value }];
    if let Some((key, of_key)) = key_and_value(value) {
        let of_key = of_key.trim_matches(['"', '\'']);
        let names = [format!("{key}="), "KEY=".to_owned()];
        kinds.extend(names.map(|name| ValueKind { name, value: of_key }));
    }
    if value.parse::<u64>().is_ok() {
        kinds.push(ValueKind { name: "N".to_owned(), value });
    }
    if value.to_ascii_lowercase().split([',', ' ']).any(|tool| tool == "bash") {
        kinds.push(ValueKind { name: "BASH".to_owned(), value });
    }
    if value.contains('(') {
        kinds.push(ValueKind { name: "RULE".to_owned(), value });
    }
    if !value.contains(char::is_whitespace) && value.starts_with(char::is_alphabetic) {
        kinds.push(ValueKind { name: "WORD".to_owned(), value });
    }
    kinds
}

/// Returns the two parts of `model=gpt-5` or `a.b=c`, as the setting of a command line is typed.
pub(in crate::args) fn key_and_value(word: &str) -> Option<(&str, &str)> {
    let (key, value) = word.split_once('=')?;
    let is_key = key.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_of_key = |it: char| it.is_ascii_alphanumeric() || "._-".contains(it);
    (is_key && key.chars().all(is_of_key)).then_some((key, value))
}

/// What stands before the reason why an option is not needed.
const OMIT: &str = "leave it out";

/// Returns what does here what an option of other programs does there. `takes` says which options the
/// command takes, and `value` is what was typed as the value.
pub(crate) fn option(
    word: &str,
    kind: CommandKind,
    value: Option<&str>,
    takes: &dyn Fn(&str) -> bool,
) -> Option<Vec<String>> {
    let of =
        |typed: &str| OPTIONS.iter().find(|(names, ..)| names.split(' ').any(|name| name == typed));
    let kinds = value.map(kinds_of).unwrap_or_default().into_iter();
    let mut with_value_only =
        kinds.filter_map(|kind| Some((of(&format!("{word}={}", kind.name))?, Some(kind.value))));
    let ((_, run, session), value) = with_value_only.next().or_else(|| Some((of(word)?, value)))?;
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
                let value = value.map(|value| match value {
                    "N" => "7",
                    "RULE" => "Bash(git *)",
                    "BASH" => "Read,Bash",
                    value => value,
                });
                let instead = option(word, kind, value, &|_| false);
                // A flag may take a value elsewhere.
                let is_meant = value.is_some() || instead.is_some() != taken.contains(word);
                assert!(is_meant, "{command} {typed}");
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
