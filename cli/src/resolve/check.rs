//! Checks a whole run before it starts: scripts, prompts, schemas and options that have no effect.

use engine::ports::Schemas;
use protocol::{Agent, ChangeDemand, Command, Conversation, RunSpec, TaskName, TaskSpec, Work};
use serde_json::Value;

use crate::args::RunArgs;
use crate::render::shell_word;
use regatta::error::{Error, ErrorKind};

/// The longest script, in bytes: what Linux allows as one argument of a process.
const LONGEST_SCRIPT: usize = (128 << 10) - 1;

/// The longest prompt, in bytes: more than any model reads.
const LONGEST_PROMPT: usize = 16_000_000;

/// Returns whether a model does the work of a task.
pub(super) fn has_model(task: &TaskSpec) -> bool {
    match task.work {
        Work::Agent(_) => true,
        Work::Command(_) | Work::Conversation(_) => false,
    }
}

/// Checks a run before it starts.
///
/// # Errors
/// A task cannot be done, or an option has no effect.
pub(super) fn check(spec: &RunSpec, args: &RunArgs, schemas: &dyn Schemas) -> Result<(), Error> {
    if !spec.tasks.iter().any(has_model) {
        check_model_options(args)?;
    }
    let mut compiled: Option<&Value> = None;
    for task in &spec.tasks {
        match &task.work {
            Work::Command(command) => check_script(&task.name, command)?,
            Work::Agent(agent) => check_prompt(&task.name, agent)?,
            Work::Conversation(conversation) => return Err(not_again(&task.name, conversation)),
        }
        if task.change == ChangeDemand::Required && !spec.isolation.capabilities().can_capture {
            return Err(Error::usage(format!("task `{}` must change something", task.name))
                .because("tasks that work in place are not captured, so this cannot be checked")
                .hint("--isolation worktree"));
        }
        // Many tasks share one schema; it is compiled once.
        let Some(schema) = task.schema.as_ref().filter(|schema| compiled != Some(*schema)) else {
            continue;
        };
        schemas.compile(schema).map_err(|fault| {
            let what = format!("task `{}`: invalid JSON Schema", task.name);
            Error::new(ErrorKind::Plan, what).because(fault)
        })?;
        compiled = Some(schema);
    }
    Ok(())
}

/// Refuses a conversation: its user goes on with it.
fn not_again(task: &TaskName, Conversation { log }: &Conversation) -> Error {
    let log = shell_word(&log.to_string_lossy());
    Error::usage(format!("cannot run task `{task}` again"))
        .because("it is a conversation")
        .hint(format!("regatta --isolated --resume {log}"))
}

/// Refuses options for a model where no task has one.
fn check_model_options(args: &RunArgs) -> Result<(), Error> {
    let limit =
        args.limits.iter().find(|limit| ["turns", "tokens", "cost"].contains(&limit.name.as_str()));
    let option = match (&args.model, &args.agent, limit) {
        (Some(_), _, _) => "--model".to_owned(),
        (None, Some(_), _) => "--agent".to_owned(),
        (None, None, Some(limit)) => format!("--limit {}", limit.name),
        (None, None, None) => return Ok(()),
    };
    Err(Error::usage(format!("{option} is for a model, and no task has one"))
        .because("commands do all the work")
        .hint("leave it out"))
}

fn check_script(name: &TaskName, command: &Command) -> Result<(), Error> {
    let unfit = if command.script.len() > LONGEST_SCRIPT {
        "is longer than 128 KiB, and no shell is given more"
    } else if command.script.contains('\0') {
        "contains a NUL byte, and no shell is given one"
    } else {
        return Ok(());
    };
    Err(Error::usage(format!("the command of task `{name}` {unfit}"))
        .hint("write it to a file, and run that file"))
}

fn check_prompt(name: &TaskName, agent: &Agent) -> Result<(), Error> {
    let context = agent.context.as_ref().map_or(0, String::len);
    if agent.prompt.len() + context > LONGEST_PROMPT {
        return Err(Error::usage(format!("the prompt of task `{name}` is longer than 16 MB"))
            .hint("put it into files of the repository, and let the prompt name them"));
    }
    Ok(())
}
