//! A word that may be a command with a mistake in it is no prompt: it would be sent to a model, which
//! may change files.

use std::ffi::OsString;
use std::path::Path;

use config::nearest;
use unicode_width::UnicodeWidthStr as _;

use super::{SECRET, command_names, names_of_runs};
use crate::args::elsewhere::{self, may_be_target};
use crate::args::{Arguments, Command, LaunchArgs, RunArgs};
use crate::each::NamedPrompt;
use crate::error::Error;
use crate::not_implemented;
use crate::render::{shell_word, shell_words};

mod files;

/// Refuses a session or a run whose prompt is one word, unless `--` stands before it. In a session, `-p`
/// asks for one word, too.
pub(super) fn refuse(arguments: &Arguments, line: &[OsString]) -> Result<(), Error> {
    let dashes = line.iter().position(|word| word == "--").unwrap_or(line.len());
    let behind = line.len().saturating_sub(dashes + 1);
    let folder = arguments.globals.repo.as_deref().unwrap_or(Path::new("."));
    match &arguments.command {
        Command::Launch(args) if args.list_models.is_none() => {
            let typed = args.prompts.len().saturating_sub(behind);
            let words = args.prompts[..typed].iter().map(|word| word.to_str());
            let words: Option<Vec<_>> = words.collect();
            words.map_or(Ok(()), |words| refuse_session(args, &words, line, folder))
        }
        Command::Run(args) if args.exec.is_none() && args.each.is_none() && args.plan.is_none() => {
            refuse_run(args, args.tasks.len().saturating_sub(behind), folder)
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
    let typed = typed_from(first, line);
    if !args.print {
        if let Some(task) = first.strip_prefix("@/").filter(|_| !Path::new(&first[1..]).exists()) {
            return Err(Error::usage(format!("there is no file `/{task}`"))
                .hint(format!("regatta runs show {}", shell_word(first))));
        }
        let may_be_command = is_one_word(first) && !names_file(first);
        return match may_be_command {
            true => Err(no_such_command(words, &typed, folder)),
            false => Ok(()),
        };
    }
    let line = line.iter().take_while(|word| *word != "--");
    let at = |is_it: &dyn Fn(&str) -> bool| {
        line.clone().position(|word| word.to_str().is_some_and(is_it))
    };
    let is_before_option = at(&|word| word == *first) < at(&is_print_option);
    if is_before_option
        && is_one_word(first)
        && let Some(instead) = instead_of(&typed, folder)
    {
        let rest: Vec<_> = rest.iter().map(|word| shell_word(word)).collect();
        let error = Error::usage(format!("no such command: `{first}`")).hint(instead);
        return Err(match rest.is_empty() {
            true => error,
            false => error.hint(format!("regatta -p {}, which asks a model", rest.join(" "))),
        });
    }
    let prompts: Vec<_> = words.iter().filter(|word| !names_file(word)).collect();
    if prompts.len() > 1 && prompts.iter().all(|word| is_one_word(word)) {
        let count = prompts.len();
        return Err(Error::usage(format!("these are {count} prompts of one word each"))
            .hint(format!("regatta -p {}", shell_word(&words.join(" "))))
            .hint(format!("regatta -p -- {}", shell_words(words))));
    }
    Ok(())
}

/// Returns the words of a line from `first` on, as far as a message may quote them.
pub(super) fn typed_from<'a>(first: &str, line: &'a [OsString]) -> Vec<&'a str> {
    let words = line.iter().skip(1).filter_map(|word| word.to_str());
    let words = words.skip_while(|word| *word != first);
    words.take_while(|word| !word.starts_with(SECRET)).collect()
}

/// Returns whether a word is the option `-p`, alone or with others such as in `-cp`.
fn is_print_option(word: &str) -> bool {
    let is_cluster = word.starts_with('-') && !word.starts_with("--") && word.contains('p');
    word == "--print" || is_cluster
}

/// Returns the refusal of a session whose prompts are `words`, the first of which is one word. `typed` is
/// the line from that word on, with its options.
pub(super) fn no_such_command(words: &[&str], typed: &[&str], folder: &Path) -> Error {
    let first = words.first().copied().unwrap_or_default();
    let prompt = match words.len() {
        1 => format!("regatta -p {}, which asks a model", shell_word(first)),
        _ => format!("regatta {}, which asks a model", shell_word(&words.join(" "))),
    };
    let error = Error::usage(format!("no such command: `{first}`"));
    instead_of(typed, folder).into_iter().chain([prompt]).fold(error, Error::hint)
}

/// Refuses tasks of one word each, of which the first `typed` stand before `--`.
fn refuse_run(args: &RunArgs, typed: usize, folder: &Path) -> Result<(), Error> {
    let prompts: Vec<_> =
        args.tasks[..typed].iter().map(|task| NamedPrompt::parse(task).prompt).collect();
    let prompts: Vec<_> = prompts.iter().map(String::as_str).collect();
    let Some(at) = prompts.iter().position(|prompt| is_one_word(prompt)) else { return Ok(()) };
    let word = prompts[at];
    let words: Vec<_> = args.tasks.iter().map(String::as_str).collect();
    let as_typed = format!("regatta run -- {}, which asks a model", shell_words(&words));
    if args.tasks.len() > 1 && prompts.iter().all(|prompt| is_one_word(prompt)) {
        let error = Error::usage(format!("these are {} tasks of one word each", args.tasks.len()));
        let joined = format!("regatta run {}", shell_word(&prompts.join(" ")));
        let command = instead_of_task(&prompts, folder);
        let hints = match prompts[1..].iter().all(|word| may_be_target(word)) {
            true => [command, Some(joined)],
            false => {
                [Some(joined), command.filter(|_| command_names().iter().any(|it| it == word))]
            }
        };
        return Err(hints.into_iter().flatten().chain([as_typed]).fold(error, Error::hint));
    }
    let instead = match word {
        "help" => Some("regatta run --help".to_owned()),
        word => instead_of_task(&[word], folder),
    };
    let error = Error::usage(format!("`{word}` is one word, and a TASK is a prompt"));
    Err(instead.into_iter().chain([as_typed]).fold(error, Error::hint))
}

/// Returns what to type in place of a command that was typed behind `run`, which may be meant as `runs`.
fn instead_of_task(words: &[&str], folder: &Path) -> Option<String> {
    let (word, rest) = words.split_first()?;
    let of_runs = names_of_runs().iter().any(|name| name == word);
    let of_runs = of_runs.then(|| with_targets(&format!("regatta runs {word}"), rest));
    of_runs.or_else(|| instead_of(words, folder))
}

/// Returns what to type in place of a command that `regatta runs` does not have.
pub(super) fn instead_of_runs(words: &[&str]) -> Option<String> {
    let (word, rest) = words.split_first()?;
    let names = names_of_runs();
    let near = || nearest(word, names.iter().map(String::as_str));
    let near = || near().map(|name| with_targets(&format!("regatta runs {name}"), rest));
    let of_runs = elsewhere::command_of_runs(words).or_else(near);
    of_runs.or_else(|| instead_of(words, Path::new(".")))
}

/// Returns what to type in place of a command, if there is something.
fn instead_of(words: &[&str], folder: &Path) -> Option<String> {
    let (word, rest) = words.split_first()?;
    if let Some(instead) = files::instead_of(word) {
        return Some(instead);
    }
    if *word == "@" || word.starts_with("@/") {
        return Some(with_targets("regatta runs show", words));
    }
    if *word == "init" && !is_in_repository(folder) {
        return Some("git init".to_owned());
    }
    let planned = || not_implemented::instead_of_command(word).map(str::to_owned);
    let near = || {
        let names = command_names();
        let name = nearest(word, names.iter().map(String::as_str))?;
        Some(with_rest(&format!("regatta {name}"), rest))
    };
    let of_run = || may_be_target(word).then(|| with_targets("regatta runs show", words));
    elsewhere::command(words)
        .or_else(planned)
        .or_else(near)
        .or_else(of_run)
        .or_else(|| files::instead_of_folder(word))
}

/// Returns a command that was meant with what was typed behind it, unless those are words only, which would be
/// prompts.
fn with_rest(command: &str, rest: &[&str]) -> String {
    match rest.iter().any(|word| word.starts_with('-')) {
        true => format!("{command} {}", shell_words(rest)),
        false => with_targets(command, rest),
    }
}

/// Returns a command with what stands behind it, if that names a run or tasks of it.
fn with_targets(command: &str, rest: &[&str]) -> String {
    match rest.first().is_some_and(|first| may_be_target(first)) {
        true => format!("{command} {}", shell_words(rest)),
        false => command.to_owned(),
    }
}

fn is_in_repository(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    folder.ancestors().any(|folder| folder.join(".git").exists())
}

/// Returns whether a prompt is one word. Scripts whose letters are wide have no spaces between words, and
/// a placeholder is no command.
pub(super) fn is_one_word(prompt: &str) -> bool {
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
        assert_eq!(instead_of(&["init"], folder.path()), Some("git init".to_owned()));
        std::fs::create_dir(folder.path().join(".git")).expect("a folder can be made");
        let below = folder.path().join("a");
        std::fs::create_dir(&below).expect("a folder can be made");
        let nothing = instead_of(&["init"], &below).expect("it is known");
        assert!(nothing.starts_with("nothing: "), "{nothing}");
    }

    #[test]
    fn no_message_quotes_a_key() {
        let line = ["regatta", "launch", "make", "test", "--api-key=sk-1", "x"].map(OsString::from);
        assert_eq!(typed_from("make", &line), ["make", "test"]);
    }
}
