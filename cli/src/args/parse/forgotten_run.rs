//! A command line in which the word `run` was forgotten: the same line with it.

use std::ffi::OsString;

use clap::Arg;

use super::launch_line::LAUNCH;
use super::unknown_option::{find, is_value_of, with_two_dashes};
use super::{SECRET, parse, public_grammar};
use crate::args::elsewhere::{self, CommandKind};
use crate::render::{shell_word, shell_words};

/// A line of a session as one of `regatta run`.
pub(super) struct RunLine {
    /// What to type.
    pub(super) line: String,
    /// Whether an option is one of `regatta run` that a session does not have.
    pub(super) has_run_option: bool,
}

/// The words of a line as they are sorted into those of a run.
#[derive(Default)]
struct Words {
    kept: Vec<String>,
    /// The options that a run does not have.
    left_out: Vec<String>,
    has_run_option: bool,
    /// Whether something says what to do: a prompt, a command or a plan.
    has_work: bool,
    /// Whether a command is typed, for which words are items.
    has_items: bool,
}

impl RunLine {
    /// Returns a session's line with `run` in it. Every option of a run, every prompt and every item is kept as
    /// it was typed, but no key. An option of another program is the one that does the same, and the line
    /// ends with the options that were left out. `None` if a word is not understood.
    pub(super) fn of(line: &[OsString]) -> Option<Self> {
        let typed: Vec<_> = line.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
        let [LAUNCH, typed @ ..] = typed.as_slice() else { return None };
        let Words { kept, left_out, has_run_option, has_work, .. } = Words::of(typed)?;
        let kept: Vec<_> = kept.iter().map(String::as_str).collect();
        let words = ["regatta", "run"].into_iter().chain(kept.iter().copied());
        let mut line = match parse(words.map(OsString::from)) {
            Ok(_) => format!("regatta run {}", shell_words(&kept)).trim_end().to_owned(),
            Err(error) => {
                let is_line = |hint: &&String| hint.starts_with("regatta ");
                let hint = error.hints.iter().filter(is_line).find(|it| !it.ends_with("--help"))?;
                return Some(Self { line: hint.clone(), has_run_option });
            }
        };
        if !has_work {
            line.push_str(" TASK");
        }
        if !left_out.is_empty() {
            line.push_str(&format!(" (without {})", left_out.join(", ")));
        }
        Some(Self { line, has_run_option })
    }
}

impl Words {
    fn of(typed: &[&str]) -> Option<Self> {
        let grammar = public_grammar();
        let (run, launch) = (grammar.find_subcommand("run")?, grammar.find_subcommand(LAUNCH)?);
        let has_items = typed.iter().any(|word| name_of(word).0 == "--exec");
        let mut words = Self { has_items, ..Self::default() };
        let mut rest = typed.iter().copied().peekable();
        while let Some(word) = rest.next() {
            if word == "--" {
                words.has_work |= rest.peek().is_some();
                words.kept.push(word.to_owned());
                words.kept.extend(rest.map(str::to_owned));
                break;
            }
            if !word.starts_with('-') || word == "-" {
                words.has_work = true;
                words.kept.push(word.to_owned());
                continue;
            }
            let long = with_two_dashes(word);
            let long = long.filter(|long| find(run, name_of(long).0).is_some());
            let word = long.as_deref().unwrap_or(word);
            let (name, attached) = name_of(word);
            let next = rest.peek().copied().filter(|_| attached.is_none());
            let own =
                find(run, name).filter(|arg| !takes_value(arg) || is_given(arg, attached, next));
            if let Some(arg) = own {
                let value = next.filter(|_| takes_value(arg));
                if value.is_some() {
                    rest.next();
                }
                let is_of_session = find(launch, name).is_some()
                    || elsewhere::option(name, CommandKind::Session, value, &|_| false).is_some();
                words.has_run_option |= !is_of_session;
                words.add(word, value, arg);
            } else if let Some(arg) = find(launch, name) {
                let least = arg.get_num_args().map_or(1, |range| range.min_values());
                let follows = |next: &str| least > 0 || !next.starts_with('-');
                if takes_value(arg) && next.is_some_and(follows) {
                    rest.next();
                }
                if arg.get_long() != Some("print") {
                    words.left_out.push(name.to_owned());
                }
            } else {
                let value = attached.or(next.filter(|next| !next.starts_with('-')));
                if words.add_of_others(name, value)? && attached.is_none() {
                    rest.next();
                }
            }
        }
        Some(words)
    }

    /// Adds an option of a run, by its long name.
    fn add(&mut self, word: &str, value: Option<&str>, arg: &Arg) {
        let long = format!("--{}", arg.get_long().unwrap_or_default());
        self.has_work |= ["--exec", "--plan"].contains(&long.as_str());
        if long != SECRET {
            let word = if word.len() == 2 { long.as_str() } else { word };
            self.kept.extend(std::iter::once(word).chain(value).map(str::to_owned));
        }
    }

    /// Adds what does in a run what an option of other programs does there. Returns whether the word behind it
    /// is its value, or `None` if nothing is known about the option.
    fn add_of_others(&mut self, name: &str, value: Option<&str>) -> Option<bool> {
        let in_run = |value| elsewhere::option(name, CommandKind::Run, value, &|_| false);
        let instead = in_run(value)?;
        let is_filled = value.is_some() && in_run(None).as_ref() != Some(&instead);
        // Another word than an item or a prompt is a value that is not needed here.
        let one_word = value.is_some_and(|value| !value.contains(char::is_whitespace));
        let is_value = is_filled || one_word && !self.has_items;
        let instead = instead.first()?;
        if !instead.starts_with("--") {
            self.left_out.push(name.to_owned());
            let needless = ["leave it out", "there is no"];
            return needless.iter().any(|it| instead.starts_with(it)).then_some(is_value);
        }
        let words = instead.split(" (").next().unwrap_or_default();
        let (option, here) =
            words.split_once(' ').map_or((words, None), |(it, here)| (it, Some(here)));
        let is_typed = |here: &str| value.is_some_and(|value| shell_word(value) == here);
        let is_place =
            |part: &str| !part.is_empty() && part.chars().all(|it| it.is_ascii_uppercase());
        if let Some(here) = here {
            let typed = value.filter(|_| is_typed(here));
            // A place that was not filled is not a value.
            if typed.is_none() && here.split([':', '/', '=']).any(is_place) {
                return None;
            }
            self.kept.extend([option.to_owned(), typed.unwrap_or(here).to_owned()]);
        } else {
            self.kept.push(option.to_owned());
        }
        self.has_work |= ["--exec", "--plan"].contains(&option);
        Some(is_value)
    }
}

/// Returns the name of an option and the value that is attached to it: `--jobs=3`, `-j3`.
fn name_of(word: &str) -> (&str, Option<&str>) {
    match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None if word.starts_with("--") => (word, None),
        None => {
            let end = word.char_indices().nth(2).map_or(word.len(), |(at, _)| at);
            let (name, value) = word.split_at(end);
            (name, Some(value).filter(|value| !value.is_empty()))
        }
    }
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

/// Returns whether an option has a value that it takes.
fn is_given(arg: &Arg, attached: Option<&str>, next: Option<&str>) -> bool {
    attached.or(next).is_some_and(|value| is_value_of(arg, value))
}
