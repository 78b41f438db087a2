//! Which arguments go together, and where a run cannot be started.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use super::TaskSource;
use crate::args::RunArgs;
use regatta::error::Error;
use regatta::model::{ModelChoice, is_scenario};

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
pub(in crate::resolve) fn check_base_url(args: &RunArgs) -> Result<(), Error> {
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

/// Checks the names that the command line gives to tasks: `--name` names the only task, and no two
/// tasks have one name.
pub(super) fn check_names(source: &TaskSource, args: &RunArgs) -> Result<(), Error> {
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
            .hint(format!("{}='what to do'", name.numbered(2))));
    }
    let Some(name) = &args.name else { return Ok(()) };
    if let Some(other) = named().next() {
        let what = format!("`--name {name}` cannot be used with a TASK that has a name");
        return Err(Error::usage(what).hint(format!("leave one of them out: --name or {other}=")));
    }
    let (is_only, instead) = match source {
        TaskSource::Command(_) => (true, ""),
        TaskSource::Prompts(prompts) => (prompts.len() == 1, "NAME='what to do' for each"),
        TaskSource::Words { words, .. } => (words.len() == 1, "leave it out"),
        TaskSource::Each { .. } | TaskSource::Plan(_) => (false, "leave it out"),
    };
    if is_only {
        return Ok(());
    }
    Err(Error::usage(format!("`--name {name}` names one task, and there may be several"))
        .hint(instead))
}

pub(super) fn check_only_plan(args: &RunArgs) -> Result<(), Error> {
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

pub(super) fn conflicting(one: &str, other: &str) -> Error {
    Error::usage(format!("`{one}` cannot be used with `{other}`"))
        .because(format!("{other} says what the tasks are"))
        .hint(format!("leave one of them out: {one} or {other}"))
}
