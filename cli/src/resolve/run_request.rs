//! The kind of run that the command line asks for, checked before a repository is opened.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use crate::args::{RunArgs, no_task};
use crate::each::{ItemSource, NamedPrompt, WorkTemplate, refuse_placeholders, without_items};
use crate::error::Error;
use crate::model::{ModelChoice, is_scenario};
use crate::plan::PlanSource;

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
}

impl RunRequest {
    /// Returns whether a model may do the work of a task. Only a plan that is read can say for sure.
    #[must_use]
    pub fn may_ask_a_model(&self) -> bool {
        match &self.0 {
            TaskSource::Plan(_) | TaskSource::Prompts(_) => true,
            TaskSource::Each { pattern, .. } => matches!(pattern, WorkTemplate::Prompt(_)),
            TaskSource::Command(_) | TaskSource::Words { .. } => false,
        }
    }

    /// Returns a note about a likely mistake: words without quotes are tasks of one word each, and a
    /// prompt without placeholders is the same for each item.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let prompts = match &self.0 {
            TaskSource::Prompts(prompts) => prompts,
            TaskSource::Each { pattern: WorkTemplate::Prompt(prompt), .. } => {
                let alike = "each item makes the same task, because {{item}} is not in the TASK";
                return (!prompt.contains("{{")).then(|| alike.to_owned());
            }
            TaskSource::Each { pattern: WorkTemplate::Command(script), .. }
            | TaskSource::Words { script: WorkTemplate::Command(script), .. } => {
                let alike = "each item runs the same command, because {{item}} is not in --exec";
                let names_item = script.contains("{{") || script.contains("REGATTA_ITEM");
                return (!names_item).then(|| alike.to_owned());
            }
            TaskSource::Words { script: WorkTemplate::Prompt(_), .. }
            | TaskSource::Plan(_)
            | TaskSource::Command(_) => return None,
        };
        let single = |prompt: &NamedPrompt| {
            prompt.name.is_none() && !prompt.prompt.trim().contains(char::is_whitespace)
        };
        let all = prompts.len() > 1 && prompts.iter().all(single);
        all.then(|| {
            let (first, count) = (&prompts[0].prompt, prompts.len());
            format!("these are {count} tasks of one word each, the first is `{first}`; put a TASK of several words in quotes")
        })
    }
}

/// Refuses to start a run inside a task. `inside` is the value of the variable REGATTA_TASK: the name
/// of the task that started this program, if a task did.
///
/// # Errors
/// A task started this program.
pub fn refuse_inside_task(inside: Option<&OsStr>) -> Result<(), Error> {
    if let Some(task) = inside.filter(|task| !task.is_empty()) {
        let task = task.to_string_lossy();
        return Err(Error::usage(format!("this is task `{task}` of a run already"))
            .because("a run inside a task would work on a copy that is removed")
            .because("the variable REGATTA_TASK is set")
            .hint("start it outside, or as one of the tasks of a plan"));
    }
    Ok(())
}

/// Checks that the base URL goes with a model.
pub(super) fn check_base_url(args: &RunArgs) -> Result<(), Error> {
    if args.base_url.is_some() && args.model.is_none() && args.plan.is_none() {
        return Err(Error::usage("--base-url names a server, but not a model")
            .hint("regatta run --model local/MODEL --base-url URL TASK…"));
    }
    if let (Some(ModelChoice::Route(route)), Some(_)) = (&args.model, &args.base_url)
        && is_scenario(route)
    {
        return Err(Error::usage(format!("`--base-url` cannot be used with {route}"))
            .because("the answers come from a scenario, and no model is asked")
            .hint("leave --base-url out"));
    }
    Ok(())
}

/// Parses a run whose work is a command.
fn command_request(script: &str, args: &RunArgs) -> Result<RunRequest, Error> {
    if script.trim().is_empty() {
        return Err(
            Error::usage("the command of --exec is empty").hint("regatta run --exec 'make docs'")
        );
    }
    let for_a_model = [(args.model.is_some(), "--model"), (args.agent.is_some(), "--agent")];
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
            .hint("regatta run 'what is to be done'"));
    }
    Ok(())
}

/// Checks the names that the command line gives to tasks: `--name` names the only task, and no two
/// tasks have one name.
fn check_names(source: &TaskSource, args: &RunArgs) -> Result<(), Error> {
    let prompts = match source {
        TaskSource::Prompts(prompts) => prompts.as_slice(),
        TaskSource::Plan(_)
        | TaskSource::Command(_)
        | TaskSource::Words { .. }
        | TaskSource::Each { .. } => &[],
    };
    let mut names = BTreeSet::new();
    let named = || prompts.iter().filter_map(|prompt| prompt.name.as_ref());
    if let Some(name) = named().find(|name| !names.insert(*name)) {
        return Err(Error::usage(format!("a second task is called `{name}`"))
            .hint(format!("{}='what is to be done'", name.numbered(2))));
    }
    let Some(name) = &args.name else { return Ok(()) };
    if let Some(other) = named().next() {
        let what = format!("`--name {name}` cannot be used with a TASK that has a name");
        return Err(Error::usage(what).hint(format!("leave one of them out: --name or {other}=")));
    }
    let (is_only, instead) = match source {
        TaskSource::Command(_) => (true, ""),
        TaskSource::Prompts(prompts) => (prompts.len() == 1, "NAME='what is to be done' for each"),
        TaskSource::Words { words, .. } => (words.len() == 1, "leave it out"),
        TaskSource::Each { .. } | TaskSource::Plan(_) => (false, "leave it out"),
    };
    if is_only {
        return Ok(());
    }
    Err(Error::usage(format!("`--name {name}` names one task, and there may be several"))
        .hint(instead))
}

fn check_only_plan(args: &RunArgs) -> Result<(), Error> {
    let others = [
        (!args.tasks.is_empty(), "TASK"),
        (args.exec.is_some(), "--exec"),
        (args.each.is_some(), "--each"),
        (args.name.is_some(), "--name"),
    ];
    match others.into_iter().find(|(given, _)| *given) {
        Some((_, other)) => Err(conflicting(other, "--plan")),
        None => Ok(()),
    }
}

fn conflicting(one: &str, other: &str) -> Error {
    Error::usage(format!("`{one}` cannot be used with `{other}`"))
        .because(format!("{other} says what the tasks are"))
        .hint(format!("leave one of them out: {one} or {other}"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn refused(args: &RunArgs) -> String {
        RunRequest::parse(args, None).expect_err("it makes no sense").to_string()
    }

    fn owned(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn no_task_at_all_is_answered_with_an_example_of_each_kind() {
        let said = refused(&RunArgs::default());
        assert!(said.starts_with("error: there is no task\n  try: regatta run --model"), "{said}");
        assert_eq!(said.matches("\n  try: ").count(), 4);
    }

    #[test]
    fn a_task_without_a_command_is_for_a_model() {
        let args =
            RunArgs { tasks: vec!["fix it".into(), "test {{it}}".into()], ..RunArgs::default() };
        let prompts = ["fix it", "test {{it}}"].map(NamedPrompt::parse).to_vec();
        assert_eq!(RunRequest::parse(&args, None), Ok(RunRequest(TaskSource::Prompts(prompts))));
        let each = RunArgs { tasks: vec!["fix {{item}}".into()], each: owned("*"), ..args.clone() };
        let pattern = WorkTemplate::Prompt("fix {{item}}".to_owned());
        let source = ItemSource::parse("*");
        assert_eq!(
            RunRequest::parse(&each, None),
            Ok(RunRequest(TaskSource::Each { pattern, source }))
        );
        let two = RunArgs { each: owned("*"), ..args };
        assert!(refused(&two).starts_with("error: --each takes one TASK, and there are 2\n"));
        let item = RunArgs { tasks: vec!["fix {{item}}".into()], ..RunArgs::default() };
        assert!(refused(&item).starts_with("error: `{{item}}` has no value"));
    }

    #[test]
    fn a_name_is_given_to_one_task_and_no_two_have_the_same() {
        let tasks = |tasks: &[&str]| tasks.iter().map(|&task| task.to_owned()).collect();
        let run = |words: &[&str]| RunArgs { tasks: tasks(words), ..RunArgs::default() };
        let named = |args| RunArgs { name: "auth".parse().ok(), ..args };
        let exec = |args| RunArgs { exec: owned("ask {{item}}"), ..args };
        let each = |args| RunArgs { each: owned("*"), ..args };
        assert_eq!(
            refused(&run(&["auth=a", "b", "auth=c"])),
            "error: a second task is called `auth`\n  try: auth-2='what is to be done'"
        );
        assert!(refused(&run(&["b", "auth= "])).starts_with("error: TASK number 2 is empty\n"));
        for args in [run(&["fix it"]), exec(run(&["fix it"]))] {
            assert!(RunRequest::parse(&named(args), None).is_ok());
        }
        for args in [run(&["a", "b"]), exec(run(&["a", "b"])), each(run(&["a {{item}}"]))] {
            let said = refused(&named(args));
            assert!(said.starts_with("error: `--name auth` names one task, and there"), "{said}");
        }
        let said = refused(&named(run(&["lib=fix it"])));
        assert!(said.ends_with("leave one of them out: --name or lib="), "{said}");
        let plan = RunArgs { plan: Some(PathBuf::from("p.toml")), ..RunArgs::default() };
        assert!(refused(&named(plan)).contains("`--name` cannot be used with `--plan`"));
        // The words of a command are its items, and a template is filled for each item.
        let words = RunRequest::parse(&exec(run(&["debug=1"])), None).unwrap();
        assert!(matches!(words.0, TaskSource::Words { words, .. } if words == ["debug=1"]));
        let template = WorkTemplate::Prompt("lib=a {{item}}".to_owned());
        let request = RunRequest::parse(&each(run(&["lib=a {{item}}"])), None).unwrap();
        assert!(matches!(request.0, TaskSource::Each { pattern, .. } if pattern == template));
    }

    #[test]
    fn words_that_may_have_lost_their_quotes_are_remarked_upon() {
        let note = |words: &[&str]| {
            let tasks = words.iter().map(|word| (*word).to_owned()).collect();
            RunRequest::parse(&RunArgs { tasks, ..RunArgs::default() }, None).unwrap().note()
        };
        let told = note(&["fix", "the", "tests"]).unwrap();
        assert!(
            told.starts_with("these are 3 tasks of one word each, the first is `fix`"),
            "{told}"
        );
        assert_eq!(note(&["fix the tests", "lint"]), None);
        assert_eq!(note(&["lint"]), None);
        let each = |prompt: &str| {
            let tasks = vec![prompt.to_owned()];
            let args = RunArgs { tasks, each: owned("*.rs"), ..RunArgs::default() };
            RunRequest::parse(&args, None).unwrap().note()
        };
        assert!(each("fix it").is_some_and(|told| told.contains("the same task")));
        assert_eq!(each("fix {{item.stem}}"), None);
        let command = |script: &str| {
            let args = RunArgs { exec: owned(script), each: owned("-"), ..RunArgs::default() };
            RunRequest::parse(&args, None).unwrap().note()
        };
        assert!(command("make docs").is_some_and(|told| told.contains("the same command")));
        for script in ["echo {{item}}", "echo {{index}}", "echo \"$REGATTA_ITEM\""] {
            assert_eq!(command(script), None, "{script}");
        }
        let tasks = vec!["a".to_owned(), "b".to_owned()];
        let words = RunArgs { exec: owned("make"), tasks, ..RunArgs::default() };
        let told = RunRequest::parse(&words, None).unwrap().note();
        assert!(told.is_some_and(|told| told.contains("the same command")));
    }

    #[test]
    fn either_a_command_or_a_model_does_the_work() {
        let model = || RunArgs { model: "a/b".parse().ok(), ..RunArgs::default() };
        let both = RunArgs { exec: owned("a"), ..model() };
        assert!(refused(&both).starts_with("error: `--exec` cannot be used with `--model`\n"));
        let agent = RunArgs { exec: owned("a"), agent: "task".parse().ok(), ..RunArgs::default() };
        assert!(refused(&agent).starts_with("error: `--exec` cannot be used with `--agent`\n"));
        let where_only = RunArgs {
            base_url: "http://a".parse().ok(),
            tasks: vec!["fix it".into()],
            ..RunArgs::default()
        };
        let said = refused(&where_only);
        assert!(
            said.ends_with("try: regatta run --model local/MODEL --base-url URL TASK…"),
            "{said}"
        );
        assert!(refused(&RunArgs { tasks: vec!["\n".into()], ..model() }).contains("number 1 is"));
        assert!(refused(&model()).starts_with("error: there is no task\n"));
    }

    #[test]
    fn a_plan_goes_with_no_other_source_of_tasks() {
        let plan = || RunArgs { plan: Some(PathBuf::from("p.toml")), ..RunArgs::default() };
        let task = RunArgs { tasks: vec!["a".into()], ..plan() };
        assert!(refused(&task).starts_with("error: `TASK` cannot be used with `--plan`\n"));
        assert!(
            refused(&RunArgs { exec: owned("a"), ..plan() })
                .contains("`--exec` cannot be used with `--plan`")
        );
        assert!(
            refused(&RunArgs { each: owned("a"), ..plan() })
                .contains("`--each` cannot be used with `--plan`")
        );
        assert_eq!(
            RunRequest::parse(&plan(), None),
            Ok(RunRequest(TaskSource::Plan(PlanSource::File(PathBuf::from("p.toml")))))
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_before_anything_is_looked_at() {
        let each = RunArgs { each: owned("*"), ..RunArgs::default() };
        assert!(refused(&each).starts_with("error: --each needs a prompt or --exec"));
        let both = RunArgs { exec: owned("a"), tasks: vec!["b".into()], ..each };
        assert!(refused(&both).starts_with("error: `TASK` cannot be used with `--each`"));
        let empty = RunArgs { exec: owned(" "), ..RunArgs::default() };
        assert!(refused(&empty).starts_with("error: the command of --exec is empty"));
        let word =
            RunArgs { exec: owned("a"), tasks: vec!["b".into(), " ".into()], ..RunArgs::default() };
        assert!(refused(&word).starts_with("error: TASK number 2 is empty"));
        let item = RunArgs { exec: owned("cat {{item}}"), ..RunArgs::default() };
        assert!(refused(&item).starts_with("error: `{{item}}` has no value"));
    }

    #[test]
    fn a_run_inside_a_task_is_refused() {
        let args = RunArgs { exec: owned("a"), ..RunArgs::default() };
        let said = RunRequest::parse(&args, Some(OsStr::new("auth"))).unwrap_err().to_string();
        assert!(said.starts_with("error: this is task `auth` of a run already\n"), "{said}");
        assert!(RunRequest::parse(&args, Some(OsStr::new(""))).is_ok());
    }
}
