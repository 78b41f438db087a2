//! The kind of run that the command line asks for, checked before a repository is opened.

mod combinations;
mod likely_mistake;

use std::ffi::OsStr;
use std::path::Path;

pub(super) use self::combinations::check_base_url;
pub use self::combinations::refuse_inside_task;
use self::combinations::{check_names, check_only_plan, conflicting};
use crate::args::{RunArgs, glob_of, no_task};
use crate::render::{one_line, shell_word, shell_words};
use regatta::each::{ItemSource, NamedPrompt, WorkTemplate, refuse_placeholders, without_items};
use regatta::error::Error;
use regatta::plan::PlanSource;

/// A request for a run: where its tasks come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRequest(pub(super) TaskSource);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaskSource {
    /// A plan.
    Plan(PlanSource),
    /// One command.
    Command(String),
    /// One command for each TASK word.
    Words { script: WorkTemplate, words: Vec<String> },
    /// One task of a model for each prompt.
    Prompts(Vec<NamedPrompt>),
    /// A template of work for each item, or each chunk of items.
    Each { pattern: WorkTemplate, source: ItemSource },
}

impl RunRequest {
    /// Parses the arguments of `regatta run`. `inside` is the value of the variable REGATTA_TASK:
    /// the name of the task that started this program, if a task did.
    ///
    /// # Errors
    /// The arguments are contradictory or not implemented yet, or this would be a run inside a task.
    pub fn parse(args: &RunArgs, inside: Option<&OsStr>) -> Result<Self, Error> {
        refuse_inside_task(inside)?;
        check_base_url(args)?;
        refuse_replaced_glob(args)?;
        if let Some(plan) = &args.plan {
            check_only_plan(args)?;
            return Ok(Self(TaskSource::Plan(PlanSource::of(plan))));
        }
        let request = match &args.exec {
            Some(script) => command_request(script, args),
            None => prompt_request(args),
        }?;
        check_names(&request.0, args)?;
        Ok(request)
    }

    /// Returns whether standard input has the plan or the items.
    #[must_use]
    pub fn reads_standard_input(&self) -> bool {
        matches!(
            self.0,
            TaskSource::Plan(PlanSource::Standard)
                | TaskSource::Each { source: ItemSource::Standard, .. }
        )
    }

    /// Returns whether a model may do the work of a task. Only a plan that is read can say for sure.
    #[must_use]
    pub fn may_ask_a_model(&self) -> bool {
        match &self.0 {
            TaskSource::Plan(_) | TaskSource::Prompts(_) => true,
            TaskSource::Each { pattern, .. } => matches!(pattern, WorkTemplate::Prompt(_)),
            TaskSource::Command(_) | TaskSource::Words { .. } => false,
        }
    }
}

/// Parses a run whose work is a command.
fn command_request(script: &str, args: &RunArgs) -> Result<RunRequest, Error> {
    if script.trim().is_empty() {
        return Err(
            Error::usage("the command of --exec is empty").hint("regatta run --exec 'make docs'")
        );
    }
    let for_a_model = [
        (args.model.is_some(), "--model"),
        (args.agent.is_some(), "--agent"),
        (args.approval_mode.is_some(), "--approval-mode"),
    ];
    if let Some((_, option)) = for_a_model.into_iter().find(|(given, _)| *given) {
        return Err(Error::usage(format!("`--exec` cannot be used with `{option}`"))
            .because("either a command does the work, or a model")
            .hint(format!("leave one of them out: --exec or {option}")));
    }
    match &args.each {
        Some(_) if !args.tasks.is_empty() => Err(conflicting("TASK", "--each")),
        Some(each) => each_request(each, WorkTemplate::Command(script.to_owned())),
        None if args.tasks.is_empty() => {
            refuse_placeholders(script, "regatta run --each SPEC --exec CMD")?;
            Ok(RunRequest(TaskSource::Command(script.to_owned())))
        }
        None => {
            check_not_blank(&args.tasks)?;
            refuse_argument(script, &args.tasks)?;
            let script = WorkTemplate::Command(script.to_owned());
            Ok(RunRequest(TaskSource::Words { script, words: args.tasks.clone() }))
        }
    }
}

/// Parses a run whose tasks are prompts for a model.
fn prompt_request(args: &RunArgs) -> Result<RunRequest, Error> {
    check_not_blank(&args.tasks)?;
    match (&args.each, args.tasks.as_slice()) {
        (Some(_), []) => Err(Error::usage("--each needs a prompt or --exec")
            .hint("regatta run --each SPEC 'What to do with {{item}}'")
            .hint("regatta run --each SPEC --exec 'COMMAND {{item}}'")),
        (Some(each), [prompt]) => each_request(each, WorkTemplate::Prompt(prompt.clone())),
        (Some(_), tasks) => {
            Err(Error::usage(format!("--each takes one TASK, and there are {}", tasks.len()))
                .because("it is the prompt for each item")
                .hint("a TASK of several words in quotes")
                .hint("regatta run --each SPEC 'What to do with {{item}}'"))
        }
        (None, []) => {
            let nothing = Error::usage("there is no task");
            Err(no_task().iter().fold(nothing, |error, example| error.hint(*example)))
        }
        (None, tasks) => {
            let prompt = |(at, task): (usize, &String)| {
                let NamedPrompt { name, prompt } = NamedPrompt::parse(task);
                check_task(at, &prompt)?;
                Ok(NamedPrompt { name, prompt: without_items(&prompt)? })
            };
            let prompts = tasks.iter().enumerate().map(prompt);
            Ok(RunRequest(TaskSource::Prompts(prompts.collect::<Result<_, Error>>()?)))
        }
    }
}

/// Refuses what is meant as an argument of the command, and would be an item: `--exec rustfmt {}`, and the only
/// file behind a command of one word.
fn refuse_argument(script: &str, words: &[String]) -> Result<(), Error> {
    if let Some(at) = words.iter().position(|word| word.starts_with(":::")) {
        let items: Vec<_> = words.iter().skip(at + 1).map(String::as_str).collect();
        let script = shell_word(&script.replace("{}", "{{item}}"));
        let is_list = words[at].starts_with("::::");
        let hint = match items.first().filter(|_| is_list) {
            Some(list) => {
                format!("regatta run --each {} --exec {script}", shell_word(&format!("@{list}")))
            }
            None => format!("regatta run --exec {script} {}", shell_words(&items)),
        };
        return Err(Error::usage(format!("`{}` would be an item", one_line(&words[at])))
            .because("the items stand behind the command")
            .hint(hint));
    }
    let is_one_word = !script.trim().contains(char::is_whitespace);
    if !is_one_word || script.contains("{{") || script.contains("REGATTA_ITEM") {
        return Ok(());
    }
    let is_place = |word: &String| word.contains("{}") || word.contains("{{");
    let is_argument = |word: &&String| word.starts_with('-') || Path::new(word).exists();
    let place = words.iter().rposition(is_place);
    let Some(word) = place.map(|at| &words[at]).or_else(|| words.iter().find(is_argument)) else {
        return Ok(());
    };
    let error = Error::usage(format!("`{}` is behind the command, not in it", one_line(word)))
        .because("--exec takes the whole command as one word; what follows are items");
    let with_item = shell_word(&format!("{script} {{{{item}}}}"));
    if let Some(at) = place {
        let (arguments, items) = words.split_at(at + 1);
        let quoted = |word: &String| match word.replace("{}", "{{item}}") {
            word if word.contains(char::is_whitespace) && !word.contains(['"', '$', '`', '\\']) => {
                format!("\"{word}\"")
            }
            word if word
                .contains(|it: char| !it.is_ascii_alphanumeric() && !"{}.,_-/:=".contains(it)) =>
            {
                shell_word(&word)
            }
            word => word,
        };
        let arguments = arguments.iter().map(quoted).collect::<Vec<_>>().join(" ");
        let command = shell_word(&format!("{script} {arguments}"));
        let items: Vec<_> = items.iter().map(String::as_str).collect();
        return Err(error.hint(match items.as_slice() {
            [] => format!("regatta run --each SPEC --exec {command}"),
            items => format!("regatta run --exec {command} {}", shell_words(items)),
        }));
    }
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let whole = shell_words(&[&[script], words.as_slice()].concat());
    Err(error
        .hint(format!("regatta run --exec {}", shell_word(&whole)))
        .hint(format!("regatta run --exec {with_item} -- {}", shell_words(&words))))
}

/// Refuses the files that a shell has put in place of a glob behind `--each`.
fn refuse_replaced_glob(args: &RunArgs) -> Result<(), Error> {
    let Some(each) = args.each.as_deref().filter(|_| !args.tasks.is_empty()) else { return Ok(()) };
    let tasks = args.tasks.iter().map(String::as_str);
    let files = std::iter::once(each).chain(tasks.take_while(|task| Path::new(task).is_file()));
    let files: Vec<_> = files.collect();
    let Some(glob) = glob_of(&files) else { return Ok(()) };
    Err(Error::usage(format!("`--each` takes one SPEC, and these are {} files", files.len()))
        .because("the shell has replaced a glob that is not in quotes")
        .hint(format!("--each {}", shell_word(&glob))))
}

fn each_request(each: &str, pattern: WorkTemplate) -> Result<RunRequest, Error> {
    if each.is_empty() {
        return Err(Error::usage("the pattern of --each is empty")
            .hint("regatta run --each '**/*.rs' --exec CMD"));
    }
    Ok(RunRequest(TaskSource::Each { pattern, source: ItemSource::parse(each) }))
}

fn check_not_blank(words: &[String]) -> Result<(), Error> {
    words.iter().enumerate().try_for_each(|(at, word)| check_task(at, word))
}

fn check_task(at: usize, word: &str) -> Result<(), Error> {
    if word.trim().is_empty() {
        return Err(Error::usage(format!("TASK number {} is empty", at + 1))
            .hint("regatta run 'what to do'"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
