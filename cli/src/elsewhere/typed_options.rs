//! What a suggestion keeps of a command line, so that who copies it runs what was asked for: with the prompt
//! and the model that were typed, as a dry run, within the limits.

use std::ffi::OsString;

use clap::Arg;

use super::may_be_target;
use crate::args::{CommandKind, instead_of_option, public_grammar};
use crate::render::{shell_word, shell_words};

/// The options that no suggestion keeps: a message quotes no key, and the suggestion says itself whether it
/// prints an answer or a help.
const DROPPED: [&str; 4] = ["api-key", "help", "print", "version"];

/// Options beside which others make no sense.
const EXCLUDING: [(&[&str], &[&str]); 3] = [
    (SESSIONS, SESSIONS),
    (&["--exec"], &["--model", "--agent", "--api-key", "--base-url", "--approval-mode"]),
    (&["--plan"], &["--exec", "--each", "--chunk", "--null", "--name", "--schema"]),
];

/// The options that choose a session.
const SESSIONS: &[&str] = &["--continue", "--resume", "--fork", "--no-session"];

/// The place of the files that `--each` names, for `git ls-files`.
const FILES: &str = "FILES";

/// The program, as it is typed.
const PROGRAM: &str = "regatta";

/// Returns the beginning of a suggested command, behind which its options stand, and the grammar of the
/// command; `None` if it is not a command of this program.
fn command_of<'a>(line: &str, grammar: &'a clap::Command) -> Option<(usize, &'a clap::Command)> {
    // Before the program may stand variables or another program.
    let start = if line.starts_with(PROGRAM) { 0 } else { line.find(" regatta ")? + 1 };
    let (before, rest) = (&line[..start], &line[start + PROGRAM.len()..]);
    let mut outside_quotes = before.split('\'').step_by(2);
    if !rest.is_empty() && !rest.starts_with(' ')
        || outside_quotes.any(|it| it.contains([':', '(']))
    {
        return None;
    }
    let (mut end, mut found) = (start + PROGRAM.len(), None);
    for word in rest.split_whitespace() {
        let below = found.unwrap_or(grammar).find_subcommand(word).filter(|it| !it.is_hide_set());
        let Some(below) = below else { break };
        (end, found) = (end + 1 + word.len(), Some(below));
    }
    if found.is_none() && line[end..].split_whitespace().next() == Some("-p") {
        end += " -p".len();
    }
    Some((end, found.or_else(|| grammar.find_subcommand("launch"))?))
}

/// Returns a suggestion with those of these options that its command takes and that it does not have.
pub(crate) fn with_options(line: &str, options: &[TypedOption]) -> String {
    let grammar = public_grammar();
    let Some((end, command)) = command_of(line, &grammar) else { return line.to_owned() };
    let (before, behind) = line.split_at(end);
    let has = |name: &str| behind.split([' ', '=']).any(|word| word == name);
    let excluded = EXCLUDING.iter().filter(|(one, _)| one.iter().any(|name| has(name)));
    let excluded: Vec<_> = excluded.flat_map(|(_, others)| *others).collect();
    let kept = options.iter().filter(|it| !has(&it.name) && !excluded.contains(&&it.name.as_str()));
    let kept = kept.filter(|option| long(command, &option.name).is_some());
    let kept: Vec<_> = kept.map(|option| format!(" {option}")).collect();
    format!("{before}{}{behind}", kept.concat())
}

/// Returns how many words the command of a suggestion takes as its run and the tasks of it.
pub(super) fn most_targets(line: &str) -> usize {
    let grammar = public_grammar();
    let Some((_, command)) = command_of(line, &grammar) else { return 1 };
    let count = |arg: &Arg| match arg.get_action() {
        clap::ArgAction::Append => usize::MAX,
        _ => arg.get_num_args().map_or(1, |range| range.max_values()),
    };
    command.get_positionals().map(count).fold(0, usize::saturating_add)
}

/// A command line as it was typed.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypedLine {
    /// The options that its command takes.
    options: Vec<TypedOption>,
    /// The other words: prompts, items or targets.
    words: Vec<String>,
}

impl TypedLine {
    /// Parses a line as one of this command, such as `launch`, as far as it is one.
    pub(crate) fn of(command: &str, line: &[OsString]) -> Self {
        let words: Vec<_> = line.iter().skip(1).filter_map(|word| word.to_str()).collect();
        let grammar = public_grammar();
        let Some(command) = grammar.find_subcommand(command) else { return Self::default() };
        let (options, words) = split(command, &words);
        let words =
            words.into_iter().filter(|word| !word.starts_with('-') && *word != command.get_name());
        Self { options, words: words.map(str::to_owned).collect() }
    }

    /// Returns the same line without a word, which is the value of an option that there is not. Several words
    /// may be a prompt behind an option without a value.
    pub(crate) fn without(mut self, word: Option<&str>) -> Self {
        let word = word.filter(|word| !word.contains(char::is_whitespace));
        if let Some(at) = self.words.iter().position(|it| Some(it.as_str()) == word) {
            self.words.remove(at);
        }
        self
    }

    /// Returns the options.
    pub(crate) fn options(&self) -> &[TypedOption] {
        &self.options
    }

    /// Returns a suggestion with the options that its command takes, and with the prompts or the run that
    /// were typed in its places `TASK`, `PROMPT`, `RUN` and `…`.
    pub(crate) fn complete(&self, line: &str) -> String {
        let grammar = public_grammar();
        let Some((_, command)) = command_of(line, &grammar) else { return line.to_owned() };
        let (typed, note) = line.find(" (").map_or((line, ""), |at| line.split_at(at));
        let value_of = |name: &str| self.options.iter().find(|option| option.name == name);
        // What the line does has been typed, so that it needs no TASK.
        let is_complete = value_of("--exec").or(value_of("--plan")).is_some();
        let is_exec = typed.contains(" --exec ") || value_of("--exec").is_some();
        let each = value_of("--each").and_then(|each| each.value.as_deref());
        if typed.contains(" ls-files FILES ")
            && each.is_some_and(|each| each.starts_with(['-', '@']))
        {
            return "remove the items from the list, before it is read".to_owned();
        }
        let prompts = self.words.iter().map(String::as_str);
        let prompts = prompts.filter(|_| !is_exec || each.is_none());
        // One word may be a command with a mistake in it, unless it is an item of a command.
        let prompts = prompts.filter(|word| is_exec || word.contains(char::is_whitespace));
        // What the suggestion has already is the value of an option.
        let is_there = |word: &str| match word.contains(char::is_whitespace) {
            true => typed.contains(&shell_word(word)),
            false => typed.split(' ').any(|there| there == word),
        };
        let prompts = prompts.filter(|word| !is_there(word));
        let prompts: Vec<_> = prompts.collect();
        let target = self.words.iter().find(|word| may_be_target(word));
        let otherwise = match command.get_name() {
            "run" if is_exec || is_complete => "",
            "run" => "TASK",
            "launch" => "PROMPT",
            _ => "",
        };
        let fill = |word: &str| match word {
            "TASK" | "TASK…" | "PROMPT" | "…" if !prompts.is_empty() => shell_words(&prompts),
            "TASK" | "TASK…" if is_complete && command.get_name() == "run" => String::new(),
            "TASK…" => "TASK".to_owned(),
            FILES => each.map(|each| shell_word(&format!(":(glob){each}"))).unwrap_or_default(),
            "…" => otherwise.to_owned(),
            "RUN" | "RUN/TASK" => target.map_or_else(|| word.to_owned(), |it| shell_word(it)),
            word => word.to_owned(),
        };
        let filled = typed.split(' ').map(fill).filter(|word| !word.is_empty());
        let filled = format!("{}{note}", filled.collect::<Vec<_>>().join(" "));
        with_options(&filled, &self.options)
    }
}

/// An option as it is typed with its long name, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypedOption {
    name: String,
    value: Option<String>,
}

impl std::fmt::Display for TypedOption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        self.value.iter().try_for_each(|value| write!(f, " {}", shell_word(value)))
    }
}

/// Returns the options among words that a command takes, and the other words.
pub(crate) fn split<'w>(
    command: &clap::Command,
    words: &[&'w str],
) -> (Vec<TypedOption>, Vec<&'w str>) {
    let (mut options, mut rest) = (Vec::new(), Vec::new());
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            rest.extend(words);
            break;
        }
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let Some(arg) = option(command, name) else {
            rest.push(word);
            continue;
        };
        let takes = arg.get_action().takes_values();
        let least = arg.get_num_args().map_or(1, |range| range.min_values());
        let follows = takes && attached.is_none();
        let value = attached
            .or_else(|| words.next_if(|next| follows && (least > 0 || !next.starts_with('-'))));
        let Some(long) = arg.get_long().filter(|long| !DROPPED.contains(long)) else { continue };
        let value = value.filter(|_| takes).map(str::to_owned);
        options.push(TypedOption { name: format!("--{long}"), value });
    }
    (options, rest)
}

/// Returns the same of a suggested command, where other options of other programs have been typed: one
/// with another name here is that option.
pub(super) fn split_for<'w>(line: &str, words: &[&'w str]) -> (Vec<TypedOption>, Vec<&'w str>) {
    let grammar = public_grammar();
    let Some((_, command)) = command_of(line, &grammar) else {
        return (Vec::new(), words.to_vec());
    };
    let (mut options, words) = split(&long_names_only(command), words);
    let kind = match command.get_name() {
        "run" => CommandKind::Run,
        "launch" => CommandKind::Session,
        _ => return (options, words),
    };
    let mut rest = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let value = attached.or_else(|| words.peek().copied().filter(|it| !it.starts_with('-')));
        let found = || {
            let instead = instead_of_option(name, kind, value, &|_| false)?;
            let (here, said) = split(command, &instead.first()?.split(' ').collect::<Vec<_>>());
            said.is_empty().then_some(here)
        };
        match name.starts_with('-').then(found).flatten() {
            Some(here) => {
                if attached.is_none() && here.iter().any(|it| it.value.as_deref() == value) {
                    words.next();
                }
                options.extend(here);
            }
            None => rest.push(word),
        }
    }
    (options, rest)
}

/// Returns a command without the short names of its options: they mean something else elsewhere.
fn long_names_only(command: &clap::Command) -> clap::Command {
    let long = command.get_arguments().filter(|arg| arg.get_long().is_some());
    clap::Command::new("long").args(long.map(|arg| arg.clone().short(None::<char>)))
}

/// Returns the option of a command that is typed so, also one with its short name.
fn option<'a>(command: &'a clap::Command, typed: &str) -> Option<&'a Arg> {
    match typed.strip_prefix('-')? {
        long if long.starts_with('-') => self::long(command, typed),
        short => {
            let mut letters = short.chars();
            let only = letters.next().filter(|_| letters.next().is_none())?;
            command.get_arguments().find(|arg| arg.get_short() == Some(only))
        }
    }
}

fn long<'a>(command: &'a clap::Command, typed: &str) -> Option<&'a Arg> {
    let name = typed.strip_prefix("--")?;
    let is_it = |arg: &&Arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        arg.get_long() == Some(name) || aliases.contains(&name)
    };
    command.get_arguments().filter(|arg| !arg.is_hide_set()).find(is_it)
}
