//! `regatta why`: explains why a task waits, what it does, or how it ended.

use jiff::tz::TimeZone;
use protocol::ExitCode;
use regatta::error::Error;
use regatta::runs::{Located, NextStep, RunExplanation, TaskExplanation, explain};
use serde::Serialize;

use super::context::{CommandContext, Out, print_json, say};
use super::target;
use crate::args::{Form, WhyArgs};
use crate::render::{date_time, one_line, shell_word};

/// How many tasks of a run are explained to a person.
const LISTED: usize = 20;

/// A run, as programs read it.
#[derive(Serialize)]
struct RunDocument {
    run: String,
    why: String,
    tasks: Vec<TaskDocument>,
}

/// A task, as programs read it.
#[derive(Serialize)]
struct TaskDocument {
    task: String,
    state: &'static str,
    why: String,
}

/// Explains a task, or a run and its tasks.
///
/// # Errors
/// The run or task does not exist, or the ledger cannot be read.
pub fn run(context: &CommandContext, args: &WhyArgs, out: Out<'_>) -> Result<ExitCode, Error> {
    let located = target::locate(context, &args.target)?;
    let time = |at| date_time(at, &TimeZone::system());
    let explained = explain(&context.runs, &located, time)?;
    match (context.view.form, &located.task) {
        (Form::Json, _) => {
            let tasks = explained.tasks.iter().map(|task| TaskDocument {
                task: task.row.name.to_string(),
                state: task.situation.name(),
                why: task.situation.to_string(),
            });
            let (run, tasks) = (located.run.name.to_string(), tasks.collect());
            print_json(out, &RunDocument { run, why: explained.sentence, tasks })?;
        }
        (Form::Text, Some(_)) => {
            let lines = explained.tasks.iter().map(|task| task_lines(context, &located, task));
            say(out, &lines.collect::<Vec<_>>().join("\n"))?;
        }
        (Form::Text, None) => say(out, &run_lines(context, &located, &explained))?,
    }
    Ok(ExitCode::Success)
}

/// Returns the sentence of a task, and the command that shows or does more.
fn task_lines(context: &CommandContext, located: &Located, task: &TaskExplanation) -> String {
    let name = format!("{}/{}", located.run.name, task.row.name);
    let sentence = one_line(&format!("{name} {}", task.situation));
    let name = shell_word(&name);
    let words = match task.next_step() {
        None => return sentence,
        Some(NextStep::Gates) => "gates".to_owned(),
        Some(NextStep::Follow) => format!("logs {name} --follow"),
        Some(NextStep::Logs) => format!("logs {name}"),
        Some(NextStep::Diff) => format!("diff {name}"),
        Some(NextStep::Conflicts) => format!("conflicts {name}"),
        Some(NextStep::Apply) => format!("apply {name}"),
    };
    format!("{sentence}\n  {}", context.hints.command(&words))
}

/// Returns the sentence of a run, and those of its tasks that are not done or whose work has not landed.
fn run_lines(context: &CommandContext, located: &Located, explained: &RunExplanation) -> String {
    let run = &located.run.name;
    let open: Vec<_> = explained.tasks.iter().filter(|task| !task.is_settled()).collect();
    let mut lines = vec![format!("run {run} {}", explained.sentence)];
    let listed = open.iter().take(LISTED);
    lines.extend(listed.map(|task| one_line(&format!("{} {}", task.row.name, task.situation))));
    if open.len() > LISTED {
        let all = context.hints.command(&format!("why {run} --json"));
        lines.push(format!("and {} more: {all}", open.len() - LISTED));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests;
