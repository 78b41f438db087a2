//! What kind of run was typed: everything that can be said before a repository is looked at.

use std::ffi::OsStr;

use crate::args::{RunArgs, no_task};
use crate::each::{Source, refuse_placeholders};
use crate::error::Error;
use crate::plan::PlanSource;

/// Where the tasks of a run come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request(pub(super) Origin);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A plan.
    Plan(PlanSource),
    /// One command.
    Command(String),
    /// One command for each of some words.
    Words { script: String, words: Vec<String> },
    /// One command for each item, or each chunk of them.
    Each { script: String, source: Source },
}

impl Request {
    /// Reads what was typed. `inside` is the task in which it was typed, if it was: the value of
    /// the variable REGATTA_TASK.
    ///
    /// # Errors
    /// It makes no sense, is not yet built, or would be a run inside a task.
    pub fn read(args: &RunArgs, inside: Option<&OsStr>) -> Result<Self, Error> {
        if let Some(task) = inside.filter(|task| !task.is_empty()) {
            let task = task.to_string_lossy();
            return Err(Error::usage(format!("this is task `{task}` of a run already"))
                .because("a run inside a task would work on a copy that goes away")
                .because("the variable REGATTA_TASK is set")
                .hint("start it outside, or as one of the tasks of a plan"));
        }
        if let Some(plan) = &args.plan {
            apart_from_plan(args)?;
            return Ok(Self(Origin::Plan(PlanSource::of(plan))));
        }
        let Some(script) = args.exec.clone() else { return Err(nothing_to_do(args)) };
        if script.trim().is_empty() {
            return Err(Error::usage("the command of --exec is empty").hint(no_task()[0]));
        }
        match &args.each {
            Some(_) if !args.tasks.is_empty() => Err(together("TASK", "--each")),
            Some(each) if each.is_empty() => Err(Error::usage("the pattern of --each is empty")
                .hint("regatta run --each '**/*.rs' --exec CMD")),
            Some(each) => Ok(Self(Origin::Each { script, source: Source::of(each) })),
            None if args.tasks.is_empty() => {
                refuse_placeholders(&script, "regatta run --each SPEC --exec CMD")?;
                Ok(Self(Origin::Command(script)))
            }
            None => words(script, &args.tasks),
        }
    }
}

fn words(script: String, words: &[String]) -> Result<Request, Error> {
    match words.iter().position(|word| word.trim().is_empty()) {
        Some(at) => Err(Error::usage(format!("TASK number {} is empty", at + 1))),
        None => Ok(Request(Origin::Words { script, words: words.to_vec() })),
    }
}

fn apart_from_plan(args: &RunArgs) -> Result<(), Error> {
    let others = [
        (!args.tasks.is_empty(), "TASK"),
        (args.exec.is_some(), "--exec"),
        (args.each.is_some(), "--each"),
    ];
    match others.into_iter().find(|(given, _)| *given) {
        Some((_, other)) => Err(together(other, "--plan")),
        None => Ok(()),
    }
}

fn together(one: &str, other: &str) -> Error {
    Error::usage(format!("{one} and {other} do not go together"))
        .because(format!("{other} says what the tasks are"))
        .hint(format!("leave one of them out: {one} or {other}"))
}

fn nothing_to_do(args: &RunArgs) -> Error {
    if args.each.is_some() {
        return Error::usage("--each says what to work on, but not how")
            .hint("regatta run --each SPEC --exec 'COMMAND {{item}}'");
    }
    if args.tasks.is_empty() {
        let nothing = Error::usage("there is no task");
        return no_task().iter().fold(nothing, |error, example| error.hint(*example));
    }
    Error::not_yet_built("a TASK for an agent")
        .because("without --exec, an agent would have to do it")
        .hint("let a command do it: regatta run --exec 'COMMAND {{item}}' TASK…")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn refused(args: &RunArgs) -> String {
        Request::read(args, None).expect_err("it makes no sense").to_string()
    }

    fn owned(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn no_task_at_all_is_answered_with_three_examples() {
        let said = refused(&RunArgs::default());
        assert!(said.starts_with("error: there is no task\n  try: regatta run --exec"), "{said}");
        assert_eq!(said.matches("\n  try: ").count(), 3);
    }

    #[test]
    fn a_task_without_a_command_needs_an_agent_which_is_not_yet_built() {
        let said = refused(&RunArgs { tasks: vec!["fix it".into()], ..RunArgs::default() });
        assert!(said.starts_with("error: a TASK for an agent is not yet built\n"), "{said}");
        assert!(said.contains("regatta run --exec"), "{said}");
    }

    #[test]
    fn a_plan_goes_with_no_other_source_of_tasks() {
        let plan = || RunArgs { plan: Some(PathBuf::from("p.toml")), ..RunArgs::default() };
        let task = RunArgs { tasks: vec!["a".into()], ..plan() };
        assert!(refused(&task).starts_with("error: TASK and --plan do not go together\n"));
        assert!(refused(&RunArgs { exec: owned("a"), ..plan() }).contains("--exec and --plan"));
        assert!(refused(&RunArgs { each: owned("a"), ..plan() }).contains("--each and --plan"));
        assert_eq!(
            Request::read(&plan(), None),
            Ok(Request(Origin::Plan(PlanSource::File(PathBuf::from("p.toml")))))
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_before_anything_is_looked_at() {
        let each = RunArgs { each: owned("*"), ..RunArgs::default() };
        assert!(refused(&each).starts_with("error: --each says what to work on, but not how"));
        let both = RunArgs { exec: owned("a"), tasks: vec!["b".into()], ..each };
        assert!(refused(&both).starts_with("error: TASK and --each do not go together"));
        let empty = RunArgs { exec: owned(" "), ..RunArgs::default() };
        assert!(refused(&empty).starts_with("error: the command of --exec is empty"));
        let word =
            RunArgs { exec: owned("a"), tasks: vec!["b".into(), " ".into()], ..RunArgs::default() };
        assert!(refused(&word).starts_with("error: TASK number 2 is empty"));
        let item = RunArgs { exec: owned("cat {{item}}"), ..RunArgs::default() };
        assert!(refused(&item).starts_with("error: `{{item}}` has nothing to stand for"));
    }

    #[test]
    fn a_run_inside_a_task_is_refused() {
        let args = RunArgs { exec: owned("a"), ..RunArgs::default() };
        let said = Request::read(&args, Some(OsStr::new("auth"))).unwrap_err().to_string();
        assert!(said.starts_with("error: this is task `auth` of a run already\n"), "{said}");
        assert!(Request::read(&args, Some(OsStr::new(""))).is_ok());
    }
}
