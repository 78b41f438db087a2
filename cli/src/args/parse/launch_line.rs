//! A command line without a command is one of a session: it gets the word `launch`.

use std::ffi::{OsStr, OsString};

use clap::ArgAction;

/// The command of a session, which is the default.
pub(super) const LAUNCH: &str = "launch";

/// Returns the command line with the word `launch` behind the name of the program if it begins with
/// a prompt or an option of a session. Options of every command may stand before a command.
pub(super) fn with_launch(grammar: &clap::Command, mut line: Vec<OsString>) -> Vec<OsString> {
    if begins_session(grammar, line.get(1..).unwrap_or_default()) {
        line.insert(1, LAUNCH.into());
    }
    line
}

fn begins_session(grammar: &clap::Command, words: &[OsString]) -> bool {
    let mut words = words.iter().map(OsString::as_os_str);
    while let Some(word) = words.next() {
        let Some(option) = RootOption::of(grammar, word) else {
            return !grammar.get_subcommands().any(|command| command.get_name() == word);
        };
        match option {
            RootOption::Global(Value::Follows) => drop(words.next()),
            RootOption::Global(Value::None) => {}
            RootOption::Root => return false,
            RootOption::Other => return true,
        }
    }
    false
}

/// An option, by whom it belongs to.
enum RootOption {
    /// Every command.
    Global(Value),
    /// The program itself: its help and its version.
    Root,
    /// A session, or none.
    Other,
}

/// Whether the value of an option is the next word.
enum Value {
    Follows,
    None,
}

impl RootOption {
    /// Returns the option that a word is; `None` if it is not an option.
    fn of(grammar: &clap::Command, word: &OsStr) -> Option<Self> {
        let word = word.to_string_lossy();
        if !word.starts_with('-') || word == "-" {
            return None;
        }
        let (name, has_value) = match word.split_once('=') {
            Some((name, _value)) => (name, true),
            None => (word.as_ref(), false),
        };
        let is_it = |arg: &&clap::Arg| {
            let long = arg.get_long().is_some_and(|long| name.strip_prefix("--") == Some(long));
            let short = arg.get_short().map(|short| format!("-{short}"));
            long || short.is_some_and(|short| short == name)
        };
        Some(match grammar.get_arguments().find(is_it) {
            Some(arg) if !arg.is_global_set() => Self::Root,
            Some(arg) => match arg.get_action() {
                ArgAction::Set | ArgAction::Append if !has_value => Self::Global(Value::Follows),
                _ => Self::Global(Value::None),
            },
            None if ["-h", "--help"].contains(&name) => Self::Root,
            None => Self::Other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begins(words: &[&str]) -> bool {
        let words: Vec<_> = words.iter().map(OsString::from).collect();
        begins_session(&crate::args::parse::grammar(), &words)
    }

    #[test]
    fn a_prompt_and_an_option_of_a_session_begin_one() {
        for words in [
            &["fix it"][..],
            &["-p", "runs"],
            &["--print"],
            &["@file"],
            &["--repo", "runs", "fix it"],
            &["--json", "hi"],
            &["--", "runs"],
            &["-"],
            &["--model=a/b", "hi"],
        ] {
            assert!(begins(words), "{words:?}");
        }
    }

    #[test]
    fn a_command_and_a_question_about_the_program_do_not() {
        for words in [
            &["runs"][..],
            &["--repo", "x", "runs"],
            &["--repo=x", "--json", "run", "-p"],
            &["-q", "config"],
            &["--help"],
            &["-V"],
            &["--json"],
            &["launch", "hi"],
            &[],
        ] {
            assert!(!begins(words), "{words:?}");
        }
    }
}
