//! The output of the set-up commands of a task, for `regatta logs`.

use std::path::{Path, PathBuf};

use serde::Serialize;
use store::{RunRow, TaskRow};

use super::context::{CommandContext, Out, say, write_text};
use super::logs::{if_exists, output};
use crate::render::{Meaning, duration, one_line};
use regatta::error::Error;

/// One set-up command that was started.
#[derive(Debug, Serialize)]
pub(super) struct SetupLog {
    command: String,
    /// Its output. Bytes that are not UTF-8 become `�`.
    output: String,
}

/// Returns the set-up commands of a task that were started, with their output.
pub(super) fn setup_logs(
    context: &CommandContext,
    run: &RunRow,
    row: &TaskRow,
) -> Result<Vec<SetupLog>, Error> {
    let mut logs = Vec::new();
    for (command, path) in commands(context, run, row) {
        if let Some(bytes) = if_exists(std::fs::read(&path), &path)? {
            let output = String::from_utf8_lossy(&bytes).into_owned();
            logs.push(SetupLog { command, output });
        }
    }
    Ok(logs)
}

/// Prints the set-up commands of a task that were started, with their output and the time that all
/// of them took.
pub(super) fn show_setup(
    context: &CommandContext,
    run: &RunRow,
    row: &TaskRow,
    out: Out<'_>,
) -> Result<(), Error> {
    let started = commands(context, run, row).filter(|(_, path)| path.exists());
    let started: Vec<(String, PathBuf)> = started.collect();
    if started.is_empty() {
        return Ok(());
    }
    let ms = row.report.as_ref().and_then(|report| report.setup_ms);
    let took = ms.map(|ms| format!(" · {}", duration(ms))).unwrap_or_default();
    let heading = format!("set-up{took}");
    say(out, &context.view.palette.paint(Meaning::Heading, &heading))?;
    for (command, path) in started {
        write_text(out, &format!("$ {}", one_line(&command)))?;
        output(row, &path, out)?;
    }
    say(out, "")
}

/// Returns the set-up commands of a task, with the files of their output.
fn commands(
    context: &CommandContext,
    run: &RunRow,
    row: &TaskRow,
) -> impl Iterator<Item = (String, PathBuf)> + use<> {
    let folder = context.runs.artifacts.join(run.name.as_str()).join(row.name.as_str());
    let file = move |number: usize| Path::join(&folder, format!("setup-{number}.log"));
    let scripts = (1..).zip(run.spec.needs.of_task(&row.spec.needs).setup);
    scripts.map(move |(number, script)| (script, file(number)))
}
