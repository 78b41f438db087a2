//! A word that may be a command with a mistake in it is no prompt: it would be sent to a model, which
//! may change files.

use std::ffi::OsString;
use std::path::Path;

use config::nearest;
use unicode_width::UnicodeWidthStr as _;

use super::command_names;
use crate::args::{Arguments, Command, LaunchArgs, RunArgs, elsewhere};
use crate::each::NamedPrompt;
use crate::error::Error;
use crate::not_implemented;
use crate::render::shell_word;

/// The ends of the names of plans.
const PLANS: [&str; 4] = ["toml", "yaml", "yml", "json"];

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
            words.map_or(Ok(()), |words| refuse_session(args, &words, &line[..dashes], folder))
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
    if !args.print {
        let may_be_command = is_one_word(first) && !names_file(first);
        return if may_be_command { Err(no_such_command(words, folder)) } else { Ok(()) };
    }
    let at =
        |is_it: &dyn Fn(&str) -> bool| line.iter().position(|it| it.to_str().is_some_and(is_it));
    let is_before_option = at(&|word| word == *first) < at(&is_print_option);
    if is_before_option
        && is_one_word(first)
        && let Some(instead) = instead_of(first, folder)
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

/// Returns whether a word is the option `-p`, alone or with others such as in `-cp`.
fn is_print_option(word: &str) -> bool {
    let is_cluster = word.starts_with('-') && !word.starts_with("--") && word.contains('p');
    word == "--print" || is_cluster
}

/// Returns the refusal of a session whose prompts are `words`, the first of which is one word.
pub(super) fn no_such_command(words: &[&str], folder: &Path) -> Error {
    let first = words.first().copied().unwrap_or_default();
    let prompt = match words.len() {
        1 => format!("regatta -p {}, which asks a model", shell_word(first)),
        _ => format!("regatta {}, which asks a model", shell_word(&words.join(" "))),
    };
    let error = Error::usage(format!("no such command: `{first}`"));
    instead_of(first, folder).into_iter().chain([prompt]).fold(error, Error::hint)
}

/// Refuses tasks of one word each, of which the first `typed` stand before `--`.
fn refuse_run(args: &RunArgs, typed: usize, folder: &Path) -> Result<(), Error> {
    let prompts: Vec<_> =
        args.tasks[..typed].iter().map(|task| NamedPrompt::parse(task).prompt).collect();
    let Some(word) = prompts.iter().find(|prompt| is_one_word(prompt)) else { return Ok(()) };
    let words: Vec<_> = args.tasks.iter().map(String::as_str).collect();
    let as_typed = format!("regatta run -- {}, which asks a model", shell_words(&words));
    let is_own = command_names().contains(word);
    if args.tasks.len() > 1 && prompts.iter().all(|prompt| is_one_word(prompt)) {
        let error = Error::usage(format!("these are {} tasks of one word each", args.tasks.len()))
            .hint(format!("regatta run {}", shell_word(&prompts.join(" "))));
        let command = instead_of(word, folder).filter(|_| is_own);
        return Err(command.into_iter().chain([as_typed]).fold(error, Error::hint));
    }
    let instead = match word.as_str() {
        "help" => Some("regatta run --help".to_owned()),
        word => instead_of(word, folder),
    };
    let error = Error::usage(format!("`{word}` is one word, and a TASK is a prompt"));
    Err(instead.into_iter().chain([as_typed]).fold(error, Error::hint))
}

fn shell_words(words: &[&str]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// Returns what to type in place of one word, if there is something.
fn instead_of(word: &str, folder: &Path) -> Option<String> {
    let names = command_names();
    let path = Path::new(word);
    let end = path.extension().and_then(|end| end.to_str());
    if end.is_some_and(|end| PLANS.contains(&end)) && path.is_file() {
        return Some(format!("regatta run --plan {}", shell_word(word)));
    }
    if word == "-" || word.strip_prefix('@').is_some_and(|file| Path::new(file).is_file()) {
        return Some(format!(
            "regatta run --each {} 'What to do with {{{{item}}}}'",
            shell_word(word)
        ));
    }
    if word == "@" || word.starts_with("@/") {
        return Some(format!("regatta runs show {}", shell_word(word)));
    }
    if word == "init" && !is_in_repository(folder) {
        return Some("git init".to_owned());
    }
    let foreign = elsewhere::command(word).or_else(|| not_implemented::instead_of_command(word));
    let near = || nearest(word, names.iter().map(String::as_str));
    foreign.map(str::to_owned).or_else(|| near().map(|name| format!("regatta {name}")))
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
    fn a_plan_a_list_and_a_folder_without_a_repository_are_seen() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        assert_eq!(instead_of("init", folder.path()), Some("git init".to_owned()));
        std::fs::create_dir(folder.path().join(".git")).expect("a folder can be made");
        let below = folder.path().join("a");
        std::fs::create_dir(&below).expect("a folder can be made");
        let nothing = instead_of("init", &below).expect("it is known");
        assert!(nothing.starts_with("nothing: "), "{nothing}");
        for end in PLANS {
            let plan = below.join(format!("plan.{end}"));
            let plan = plan.to_str().expect("it is UTF-8");
            assert_eq!(instead_of(plan, &below), None, "it is not there");
            std::fs::write(plan, "").expect("a file can be written");
            assert_eq!(instead_of(plan, &below), Some(format!("regatta run --plan {plan}")));
            let list = instead_of(&format!("@{plan}"), &below).expect("it is there");
            assert!(list.starts_with("regatta run --each @"), "{list}");
        }
    }
}
