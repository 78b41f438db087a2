//! A word that may be a command with a mistake in it is not a prompt: it would be sent to a model, which
//! may change files.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::elsewhere::nearest;
use unicode_width::UnicodeWidthStr as _;

use super::{SECRET, can_converse, command_names, has_help, names_of_runs, public_grammar};
use crate::args::elsewhere;
use crate::args::{Arguments, Command, LaunchArgs};
use crate::elsewhere::{TypedLine, TypedOption, may_be_target, with_options};
use crate::not_implemented;
use crate::render::{shell_word, shell_words};
use regatta::error::Error;

mod beside_prompt;
mod files;
#[cfg(feature = "tui")]
mod in_conversation;
mod tasks;
mod with_rest;

use beside_prompt::{refuse_command, refuse_value_of_flag};
pub(crate) use files::glob_of;
#[cfg(feature = "tui")]
pub(crate) use in_conversation::meant_as_command;
pub(super) use tasks::refuse_program;
use tasks::refuse_run;
use with_rest::{with_rest, with_targets};

/// What stands behind a command that sends a mistyped word after all.
const ASKS: &str = "(asks a model)";

/// The commands that list or show what another command does.
const LISTING: [&str; 6] = ["display", "get", "list", "ls", "show", "view"];

/// Refuses a session or a run whose prompt is one word, unless `--` stands before it. In a session, `-p`
/// asks for one word, too.
pub(super) fn refuse(arguments: &Arguments, line: &[OsString]) -> Result<(), Error> {
    let dashes = line.iter().position(|word| word == "--").unwrap_or(line.len());
    let behind = line.len().saturating_sub(dashes + 1);
    let folder = arguments.globals.repo().map_or(Path::new("."), PathBuf::as_path);
    match &arguments.command {
        Command::Launch(args) if args.list_models.is_none() => {
            let typed = args.prompts.len().saturating_sub(behind);
            let words = args.prompts[..typed].iter().map(|word| word.to_str());
            let words: Option<Vec<_>> = words.collect();
            words.map_or(Ok(()), |words| refuse_session(args, &words, line, folder))
        }
        Command::Run(args) if args.exec.is_none() && args.each.is_none() && args.plan.is_none() => {
            refuse_run(args, args.tasks.len().saturating_sub(behind), line, folder)
        }
        _ => Ok(()),
    }
}

fn refuse_session(
    args: &LaunchArgs,
    words: &[&str],
    line: &[OsString],
    folder: &Path,
) -> Result<(), Error> {
    let Some((first, rest)) = words.split_first() else { return Ok(()) };
    let options = typed_options("launch", line);
    if !args.print {
        if let Some(task) = first.strip_prefix("@/").filter(|_| !Path::new(&first[1..]).exists()) {
            return Err(Error::usage(format!("there is no file `/{task}`"))
                .hint(format!("regatta runs show {}", shell_word(first))));
        }
        let has_file = names_file(first);
        let may_be_command = |word: &&str| is_one_word(word) && !names_file(word) && !has_file;
        let Some(at) = words.iter().position(may_be_command) else { return Ok(()) };
        let typed = typed_from(words[at], line);
        return Err(match at {
            0 => no_such_command(words, &typed, folder, &options),
            _ => {
                let instead = instead_of(&typed, folder).into_iter();
                let as_typed = format!("regatta -p {} {ASKS}", shell_words(words));
                with_hints(no_command(words[at].trim()), instead.chain([as_typed]), &options)
            }
        });
    }
    refuse_value_of_flag(words, line, &options)?;
    refuse_command(words, line, folder, &options)?;
    let typed = typed_from(first, line);
    let line = line.iter().take_while(|word| *word != "--");
    let at = |is_it: &dyn Fn(&str) -> bool| {
        line.clone().position(|word| word.to_str().is_some_and(is_it))
    };
    let is_before_option = at(&|word| word == *first) < at(&is_print_option);
    let instead = if is_before_option && is_one_word(first) {
        instead_of(&typed, folder)
    } else {
        Vec::new()
    };
    if !instead.is_empty() {
        // Prompts behind the word are those of the command, and other words are its targets.
        let is_prompt = rest.iter().any(|word| !is_one_word(word));
        let prompt = if is_prompt { shell_words(rest) } else { shell_word(&words.join(" ")) };
        let rest = (!rest.is_empty()).then(|| format!("regatta -p {prompt} {ASKS}"));
        return Err(with_hints(no_command(first), instead.into_iter().chain(rest), &options));
    }
    let prompts: Vec<_> = words.iter().filter(|word| !names_file(word)).collect();
    if prompts.len() > 1 && prompts.iter().all(|word| is_one_word(word)) {
        let count = prompts.len();
        let hints = [
            format!("regatta -p {}", shell_word(&words.join(" "))),
            format!("regatta -p -- {}", shell_words(words)),
        ];
        let error = Error::usage(format!("these are {count} prompts of one word each"));
        return Err(with_hints(error, hints, &options));
    }
    Ok(())
}

/// Returns the words of a line from `first` on, as far as a message may quote them.
pub(super) fn typed_from<'a>(first: &str, line: &'a [OsString]) -> Vec<&'a str> {
    let words = line.iter().skip(1).filter_map(|word| word.to_str());
    let words = words.skip_while(|word| *word != first);
    let words = words.take_while(|word| !word.starts_with(SECRET)).enumerate();
    words.map(|(at, word)| if at == 0 { word.trim() } else { word }).collect()
}

/// Returns the options of `command` that a line has.
pub(super) fn typed_options(command: &str, line: &[OsString]) -> Vec<TypedOption> {
    TypedLine::of(command, line).options().to_vec()
}

/// Returns whether a word is the option `-p`, alone or with others such as in `-cp`.
fn is_print_option(word: &str) -> bool {
    let is_cluster = word.starts_with('-') && !word.starts_with("--") && word.contains('p');
    word == "--print" || is_cluster
}

/// Refuses a session whose help was asked for if its first prompt may be a command with a mistake in it:
/// the help was meant to be that of the command. `line` is the command line without the question.
pub(super) fn refuse_help(arguments: &Arguments, line: &[OsString]) -> Result<(), Error> {
    match &arguments.command {
        Command::Launch(args) if !args.print => refuse(arguments, line),
        _ => Ok(()),
    }
}

/// What runs the program: a person at a terminal, where a session may be a conversation, or a script.
#[derive(Clone, Copy)]
enum Caller {
    Terminal,
    Script,
}

/// Returns the refusal of a session whose prompts are `words`, the first of which is one word. `typed` is
/// the line from that word on, with its options, and `options` are those of a session in the whole line.
pub(super) fn no_such_command(
    words: &[&str],
    typed: &[&str],
    folder: &Path,
    options: &[TypedOption],
) -> Error {
    let first = words.first().copied().unwrap_or_default().trim();
    let caller = if can_converse() { Caller::Terminal } else { Caller::Script };
    let instead = instead_of(typed, folder);
    // Of a line with unknown options, only the first word is known to be no option's value.
    let is_part = words.len() == 1 && typed.len() > 1;
    let as_prompt = (!is_part || instead.is_empty()).then(|| as_prompt(words, caller));
    with_hints(no_command(first), instead.into_iter().chain(as_prompt), options)
}

fn no_command(word: &str) -> Error {
    match word.ends_with('/') {
        true => Error::usage(format!("`{word}` {}", files::folder_text(word))),
        false => Error::usage(format!("no such command: `{word}`")),
    }
}

/// Adds hints, each with those of the options that its command takes.
fn with_hints(
    error: Error,
    hints: impl IntoIterator<Item = String>,
    options: &[TypedOption],
) -> Error {
    let mut error = error;
    for hint in hints.into_iter().map(|hint| with_options(&hint, options)) {
        // Two tables may have the same command.
        let command = hint.trim_end_matches(ASKS).trim_end();
        if !error.hints.iter().any(|known| known == command) {
            error.hints.push(hint);
        }
    }
    error
}

/// Returns the command that sends words as a prompt. A conversation needs a terminal.
fn as_prompt(words: &[&str], caller: Caller) -> String {
    let prompt = shell_word(words.join(" ").trim());
    match caller {
        Caller::Terminal if words.len() > 1 => format!("regatta {prompt} {ASKS}"),
        Caller::Terminal | Caller::Script => format!("regatta -p {prompt} {ASKS}"),
    }
}

/// Returns what to type in place of a command that `regatta runs` does not have.
pub(super) fn instead_of_runs(words: &[&str]) -> Vec<String> {
    let Some((word, rest)) = words.split_first() else { return Vec::new() };
    let names = names_of_runs();
    let near = || nearest(word, names.iter().map(String::as_str));
    let near = || near().map(|name| vec![with_targets(&format!("regatta runs {name}"), rest)]);
    let of_runs = elsewhere::command_of_runs(words).or_else(near);
    of_runs.unwrap_or_else(|| instead_of(words, Path::new(".")))
}

/// Returns what to type in place of a question about a command that there is not: `verb`, which is `help` or
/// `man`, with the nearest command or one of its other topics, or else what does the same as the command.
pub(crate) fn instead_of_path(verb: &str, path: &[String], topics: &[&str]) -> Vec<String> {
    let grammar = public_grammar();
    let (mut below, mut found) = (&grammar, Vec::new());
    for word in path {
        let commands = below.get_subcommands().filter(|command| has_help(command));
        let names = commands.map(clap::Command::get_name);
        let others = topics.iter().copied().filter(|_| found.is_empty());
        let Some(name) = nearest(word, names.chain(others)) else { break };
        found.push(name);
        let Some(command) = below.find_subcommand(name) else { break };
        below = command;
    }
    if !found.is_empty() {
        return vec![format!("regatta {verb} {}", found.join(" "))];
    }
    let words: Vec<_> = path.iter().map(String::as_str).collect();
    known(&words).unwrap_or_default()
}

/// Returns what to type in place of a command, if there is something.
fn instead_of(words: &[&str], folder: &Path) -> Vec<String> {
    let Some((word, rest)) = words.split_first() else { return Vec::new() };
    if let Some(instead) = files::instead_of(words) {
        return vec![instead];
    }
    if *word == "@" || word.starts_with("@/") {
        return vec![with_targets("regatta runs show", words)];
    }
    if *word == "init" && !is_in_repository(folder) {
        return vec!["git init".to_owned()];
    }
    let names = command_names();
    let own = |name: &str| names.iter().find(|own| *own == name);
    let near = || {
        let name = nearest(word, names.iter().map(String::as_str))?;
        Some(vec![with_rest(&format!("regatta {name}"), rest)])
    };
    // A command with its target, such as `apply@`.
    let with_target = || {
        let (name, target) = word.split_at(word.find('@').filter(|at| *at > 0)?);
        let name = own(name)?;
        let rest: Vec<_> = std::iter::once(target).chain(rest.iter().copied()).collect();
        Some(vec![with_rest(&format!("regatta {name}"), &rest)])
    };
    // A command in two words, such as `un do`.
    let in_two = || {
        let (second, rest) = rest.split_first()?;
        let name = format!("{word}{second}");
        let of_own = own(&name).map(|own| vec![with_rest(&format!("regatta {own}"), rest)]);
        let words: Vec<_> = std::iter::once(name.as_str()).chain(rest.iter().copied()).collect();
        of_own.or_else(|| known(&words))
    };
    let listed = || {
        let named = rest.first().filter(|_| LISTING.contains(word))?;
        own(named).map(|own| vec![format!("regatta {own}")])
    };
    let of_run = || may_be_target(word).then(|| vec![with_targets("regatta runs show", words)]);
    let near_other = || {
        // A short word is near to many.
        let word = Some(*word).filter(|word| word.len() > 3)?;
        let name = nearest(word, elsewhere::spelled().chain(not_implemented::commands()))?;
        let words: Vec<_> = std::iter::once(name).chain(rest.iter().copied()).collect();
        known(&words)
    };
    in_two()
        .or_else(with_target)
        .or_else(listed)
        .or_else(|| known(words))
        .or_else(near)
        .or_else(of_run)
        .or_else(|| files::instead_of_folder(word).map(|instead| vec![instead]))
        .or_else(|| elsewhere::model(word).map(|instead| vec![instead]))
        .or_else(near_other)
        .unwrap_or_default()
}

/// Returns what does here what a command of other programs, or one that is planned, does.
fn known(words: &[&str]) -> Option<Vec<String>> {
    elsewhere::command(words).or_else(|| not_implemented::instead_of_command(words))
}

fn is_in_repository(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    folder.ancestors().any(|folder| folder.join(".git").exists())
}

/// Returns whether a prompt is one word, blanks around it left out. Scripts whose letters are wide have no spaces between words, and
/// a placeholder is not a command.
pub(super) fn is_one_word(prompt: &str) -> bool {
    let prompt = prompt.trim();
    let is_wide = prompt.width() > prompt.chars().count();
    let is_other = prompt.is_empty() || prompt.contains("{{") || is_wide;
    !is_other && !prompt.contains(char::is_whitespace)
}

/// Returns whether a prompt is `@FILE`, which a session sends as a file.
fn names_file(prompt: &str) -> bool {
    prompt.starts_with('@') && prompt.len() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_repository_is_seen() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        assert_eq!(instead_of(&["init"], folder.path()), ["git init"]);
        std::fs::create_dir(folder.path().join(".git")).expect("a folder can be made");
        let below = folder.path().join("a");
        std::fs::create_dir(&below).expect("a folder can be made");
        let nothing = instead_of(&["init"], &below);
        assert_eq!(nothing, ["regatta run TASK (any git repository will do)"]);
    }

    #[test]
    fn words_are_a_prompt_of_a_conversation_on_a_terminal_only() {
        for (words, caller, command) in [
            (&["appply", "@", "blue"][..], Caller::Terminal, "regatta 'appply @ blue'"),
            (&["appply", "@", "blue"], Caller::Script, "regatta -p 'appply @ blue'"),
            (&["appply"], Caller::Terminal, "regatta -p appply"),
            (&["appply"], Caller::Script, "regatta -p appply"),
        ] {
            assert_eq!(as_prompt(words, caller), format!("{command} (asks a model)"));
        }
    }

    #[test]
    fn no_message_quotes_a_key() {
        let line = ["regatta", "launch", "make", "test", "--api-key=sk-1", "x"].map(OsString::from);
        assert_eq!(typed_from("make", &line), ["make", "test"]);
    }
}
