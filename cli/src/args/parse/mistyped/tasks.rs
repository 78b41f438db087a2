//! The refusal of tasks of one word each: such a word may be a command with a mistake in it.

use std::ffi::OsString;
use std::path::Path;

use super::super::{command_names, names_of_runs};
use super::{
    ASKS, files, instead_of, is_one_word, typed_from, typed_options, with_hints, with_targets,
};
use crate::args::{RunArgs, elsewhere, public_grammar};
use crate::elsewhere::{TypedLine, may_be_target, split};
use crate::render::{shell_word, shell_words};
use regatta::each::NamedPrompt;
use regatta::error::Error;

/// Refuses tasks of one word each, of which the first `typed` stand before `--`.
pub(super) fn refuse_run(
    args: &RunArgs,
    typed: usize,
    line: &[OsString],
    folder: &Path,
) -> Result<(), Error> {
    let prompts: Vec<_> =
        args.tasks[..typed].iter().map(|task| NamedPrompt::parse(task).prompt).collect();
    let prompts: Vec<_> = prompts.iter().map(|prompt| prompt.trim()).collect();
    let Some(at) = prompts.iter().position(|prompt| is_one_word(prompt)) else { return Ok(()) };
    let word = prompts[at];
    let words: Vec<_> = args.tasks.iter().map(String::as_str).collect();
    let as_typed = [format!("regatta run -- {} {ASKS}", shell_words(&words))];
    let options = typed_options("run", line);
    if let Some(glob) = files::glob_of(&prompts) {
        let error =
            Error::usage(format!("these are {} files, and a TASK is a prompt", prompts.len()))
                .because("the shell has replaced a glob that is not in quotes");
        return Err(with_hints(error, files::each(&glob).into_iter().chain(as_typed), &options));
    }
    if args.tasks.len() > 1 && prompts.iter().all(|prompt| is_one_word(prompt)) {
        let error = Error::usage(format!("these are {} tasks of one word each", args.tasks.len()));
        let joined = [format!("regatta run {} {ASKS}", shell_word(&prompts.join(" ")))];
        let command = instead_of_task(&prompts, folder);
        let is_command = prompts[1..].iter().all(|word| may_be_target(word))
            || elsewhere::is_program(word)
            || files::is_program(word);
        let hints = if is_command {
            [command, joined.into()]
        } else if command_names().iter().any(|name| name == word) {
            [joined.into(), command]
        } else {
            [joined.into(), Vec::new()]
        };
        return Err(with_hints(error, hints.into_iter().flatten().chain(as_typed), &options));
    }
    let instead = match word {
        "help" => vec!["regatta run --help".to_owned()],
        word => instead_of_task(&[word], folder),
    };
    let what =
        if word.ends_with('/') { files::folder_text(word) } else { "is one word".to_owned() };
    let error = Error::usage(format!("`{word}` {what}, and a TASK is a prompt"));
    let others = |hint: String| beside_others(hint, &words[..at], &words[at + 1..]);
    Err(with_hints(error, instead.into_iter().map(others).chain(as_typed), &options))
}

/// Returns the refusal of a program that was typed behind `run` with options of its own, such as `run ls -la`;
/// `words` are what stands behind `run`, as far as it has been understood.
pub(in crate::args::parse) fn refuse_program(words: &[&str], line: &[OsString]) -> Option<Error> {
    let grammar = public_grammar();
    let (_, tasks) = split(grammar.find_subcommand("run")?, words);
    let first = *tasks.first().filter(|first| is_one_word(first))?;
    if !elsewhere::is_shell_command(first) && !files::is_program(first) {
        return None;
    }
    let typed = typed_from(first, line);
    let error = Error::usage(format!("`{first}` is a program, and a TASK is a prompt"));
    let options = TypedLine::of("run", &line[..line.len() - typed.len()]);
    Some(with_hints(error, instead_of_task(&typed, Path::new(".")), options.options()))
}

/// Returns what to type in place of one task, with the tasks before and behind it where it is a task, too.
fn beside_others(hint: String, before: &[&str], behind: &[&str]) -> String {
    let Some(task) = hint.strip_prefix("regatta run '") else { return hint };
    let words = |words: &[&str]| words.iter().map(|word| shell_word(word)).collect::<Vec<_>>();
    let tasks = [words(before), vec![format!("'{task}")], words(behind)].concat();
    format!("regatta run {}", tasks.join(" "))
}

/// Returns what to type in place of a command that was typed behind `run`, which may be meant as `runs`.
fn instead_of_task(words: &[&str], folder: &Path) -> Vec<String> {
    let Some((word, rest)) = words.split_first() else { return Vec::new() };
    if names_of_runs().iter().any(|name| name == word) {
        return vec![with_targets(&format!("regatta runs {word}"), rest)];
    }
    let mut instead = instead_of(words, folder);
    // Behind `run`, a program is meant to be run.
    instead.sort_by_key(|hint| !hint.starts_with("regatta run --exec "));
    let is_run = |hint: &String| hint.starts_with("regatta run --exec ");
    let is_command = elsewhere::is_shell_command(word) && !rest.iter().any(|it| may_be_target(it));
    if is_command && !rest.is_empty() && !instead.first().is_some_and(is_run) {
        instead.insert(0, format!("regatta run --exec {}", shell_word(&shell_words(words))));
    }
    instead
}
