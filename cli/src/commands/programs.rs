//! The programs that write the files of conflicts: the user's merge tool, and resolvers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use engine::run::RunRecord;
use isolation::{Display, MergeTool};
use protocol::{Conflict, RepoPath, RunName, SettledBy, TaskName, Work};
use serde::Serialize;

use super::context::CommandContext;
use super::side_check::Allowed;
use super::side_program::SideProgram;
use super::tool_commands::known_command;
use crate::args::{AllowLoss, Resolver};
use crate::render::one_line;
use regatta::error::{Error, ErrorKind};
use regatta::runs::Target;

/// Returns the user's merge tool.
///
/// # Errors
/// The user's git configuration names none, or one without a command.
pub(super) fn tool(timeout: Duration) -> Result<SideProgram, Error> {
    // As git looks for one.
    let has_display = std::env::var_os("DISPLAY").is_some_and(|display| !display.is_empty());
    let display = if has_display { Display::Present } else { Display::Absent };
    let Some(MergeTool { name, command, path }) = isolation::merge_tool(display)? else {
        return Err(Error::usage("your git configuration names no merge tool")
            .because("the configuration of the repository is never used for it")
            .hint("git config --global merge.tool meld"));
    };
    let script = match command.or_else(|| known_command(&name, path.as_deref())) {
        Some(command) => command,
        None => {
            let shown = one_line(&name);
            return Err(Error::usage(format!("the merge tool `{shown}` has no command"))
                .because(format!("your git configuration has no mergetool.{shown}.cmd"))
                .hint(format!(
                    "git config --global mergetool.{shown}.cmd 'PROGRAM \"$BASE\" \"$LOCAL\" \"$REMOTE\" \"$MERGED\"'"
                )));
        }
    };
    Ok(SideProgram {
        script,
        name: format!("the merge tool `{}`", one_line(&name)),
        by: SettledBy::Tool,
        timeout,
        allowed: Allowed::Loss,
        about: None,
        variables: BTreeMap::new(),
    })
}

/// The description of a conflict that a resolver gets.
#[derive(Serialize)]
struct About<'a> {
    run: String,
    path: &'a RepoPath,
    conflict: &'a Conflict,
    /// The task whose work stands; `None` if it is an edit of the user.
    ours: Option<AboutTask<'a>>,
    /// The task whose work conflicts.
    theirs: Option<AboutTask<'a>>,
}

/// What one of the tasks was asked to do.
#[derive(Serialize)]
pub(super) struct AboutTask<'a> {
    pub(super) task: &'a TaskName,
    pub(super) title: &'a str,
    pub(super) prompt: &'a str,
}

/// Returns the command that resolves one conflict of the task of `target`.
///
/// # Errors
/// The ledger cannot be read.
pub(super) fn resolver(
    context: &CommandContext,
    target: &Target,
    conflict: &Conflict,
    (script, resolver): (&str, &Resolver),
) -> Result<SideProgram, Error> {
    refuse_missing(script)?;
    let run = &target.run.name;
    let task = &target.tasks[0].name;
    let record = record_of(context, run)?;
    let about = About {
        run: run.to_string(),
        path: &conflict.path,
        conflict,
        ours: conflict.with.as_ref().and_then(|with| about_task(&record, with)),
        theirs: about_task(&record, task),
    };
    let about = serde_json::to_string_pretty(&about).map_err(|error| {
        Error::new(ErrorKind::Bug, "cannot describe a conflict as JSON").caused_by(&error)
    })?;
    let word = |text: &str| OsString::from(text);
    let mut variables = BTreeMap::from([
        ("REGATTA_RUN".to_owned(), word(run.as_str())),
        ("REGATTA_TASK".to_owned(), word(task.as_str())),
    ]);
    if let Some(with) = &conflict.with {
        variables.insert("REGATTA_WITH".to_owned(), word(with.as_str()));
    }
    Ok(SideProgram {
        script: script.to_owned(),
        name: "the resolver".to_owned(),
        by: SettledBy::Resolver,
        timeout: resolver.timeout,
        allowed: allowed(resolver.loss),
        about: Some(about),
        variables,
    })
}

/// Returns whether a side may be missing in what a resolver writes.
pub(super) fn allowed(loss: AllowLoss) -> Allowed {
    match loss {
        AllowLoss::No => Allowed::NoLoss,
        AllowLoss::Yes => Allowed::Loss,
    }
}

/// Returns the run as the ledger has it.
pub(super) fn record_of(context: &CommandContext, run: &RunName) -> Result<RunRecord, Error> {
    let lost = || Error::new(ErrorKind::Bug, format!("the ledger has lost run {run}"));
    context.runs.reader.record(run)?.ok_or_else(lost)
}

/// Refuses a command that is a single word and no program.
///
/// # Errors
/// There is no such program.
pub(super) fn refuse_missing(script: &str) -> Result<(), Error> {
    let is_name = !script.is_empty()
        && script
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'));
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let is_program = || std::env::split_paths(&paths).any(|folder| folder.join(script).is_file());
    if !is_name || is_program() {
        return Ok(());
    }
    Err(Error::usage(format!("invalid value `{script}` for `--resolve`"))
        .because(format!("there is no program `{script}`"))
        .hint("--resolve ./resolve.sh")
        .hint("--resolve agent (a model)"))
}

/// Returns what a task was asked to do.
pub(super) fn about_task<'a>(record: &'a RunRecord, name: &TaskName) -> Option<AboutTask<'a>> {
    let spec = &record.task_named(name)?.spec;
    let prompt = match &spec.work {
        Work::Command(command) => &command.script,
        Work::Agent(agent) => &agent.prompt,
        Work::Conversation(_) => &spec.title,
    };
    Some(AboutTask { task: &spec.name, title: &spec.title, prompt })
}
