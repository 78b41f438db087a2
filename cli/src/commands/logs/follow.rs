//! `regatta logs --follow`: prints what tasks say and do as it comes, until all have ended.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use protocol::{ExitCode, Message, TaskId, TaskState, Work};
use serde::Serialize;
use store::{RunRow, SessionLine, TaskRow, read_damaged_session};

use super::super::context::{CommandContext, Out, write_text};
use super::super::target;
use super::{DamagedLine, if_exists, log_path, outcome, unreadable, warn_of_damage};
use crate::args::{Form, LogsArgs};
use crate::render::{Meaning, printable_json, transcript, visible_line};
use regatta::error::Error;
use regatta::runs::TargetKind;

/// How often the logs are looked at.
const INTERVAL: Duration = Duration::from_millis(100);

/// How long nothing may come until it is checked whether the engine of the run is still there.
const QUIET: Duration = Duration::from_secs(3);

/// The most bytes of output that are read at once.
const PIECE: u64 = 1 << 20;

/// Prints the logs of a task, or of all tasks of a run, and what comes later. `reopen` opens the
/// repository again, which finds out whether an engine has died.
///
/// # Errors
/// There is no such run or task, or a log cannot be read.
pub(super) async fn follow(
    mut context: CommandContext,
    args: &LogsArgs,
    reopen: &mut impl AsyncFnMut() -> Result<CommandContext, Error>,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let target = target::find(&context, &args.target)?;
    target::check_not_collected(&context, &target, "log")?;
    // A later run may become the latest one.
    let args = match target.kind {
        TargetKind::Run => target.run.name.to_string(),
        TargetKind::Task => {
            let task = target.tasks.first().map(|row| row.name.as_str()).unwrap_or_default();
            format!("{}/{task}", target.run.name)
        }
    };
    let mut followed: BTreeMap<TaskId, Followed> = BTreeMap::new();
    let mut last_added = Instant::now();
    loop {
        let target = target::find(&context, &Some(args.clone()).into())?;
        let width = target.tasks.iter().map(|row| row.name.as_str().len()).max().unwrap_or(0);
        let mut all_ended = true;
        for row in &target.tasks {
            let added = followed.entry(row.id).or_default().added(&context, &target.run, row)?;
            all_ended &= has_ended(row);
            if !added.is_empty() {
                last_added = Instant::now();
            }
            let several = target.kind == TargetKind::Run && target.tasks.len() > 1;
            let prefix = several.then(|| format!("{:width$} │ ", row.name));
            print((&context, &target.run), row, prefix.as_deref(), added, out)?;
        }
        if all_ended {
            return Ok(ExitCode::Success);
        }
        if last_added.elapsed() > QUIET {
            context = reopen().await?;
            last_added = Instant::now();
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// How much of a task's log has been printed.
#[derive(Default)]
struct Followed {
    /// Entries of a session, or bytes of output.
    printed: u64,
    /// The lines of a session's transcript.
    lines: usize,
    /// The damaged lines of a session.
    damaged: usize,
    /// The beginning of a line of output.
    rest: Vec<u8>,
    ended: bool,
}

/// What has come to a log.
#[derive(Default)]
pub(super) struct Added {
    /// Lines for a person.
    pub(super) lines: Vec<String>,
    /// The entries of a session.
    pub(super) entries: Vec<SessionLine>,
    /// The damaged lines of a session.
    pub(super) damage: Vec<DamagedLine>,
    /// Whether the task has ended.
    pub(super) ended: bool,
}

impl Added {
    fn is_empty(&self) -> bool {
        let Self { lines, entries, damage, ended } = self;
        lines.is_empty() && entries.is_empty() && damage.is_empty() && !ended
    }
}

impl Followed {
    fn added(
        &mut self,
        context: &CommandContext,
        run: &RunRow,
        row: &TaskRow,
    ) -> Result<Added, Error> {
        if self.ended {
            return Ok(Added::default());
        }
        // What is written before a task ends is there when the ledger says that it has.
        self.ended = has_ended(row);
        let path = log_path(context, run, row);
        let added = match &row.spec.work {
            Work::Agent(_) | Work::Conversation(_) => self.session(context, &path)?,
            Work::Command(_) => self.output(&path)?,
        };
        Ok(Added { ended: self.ended, ..added })
    }

    fn session(&mut self, context: &CommandContext, path: &Path) -> Result<Added, Error> {
        let Some((entries, damage)) = if_exists(read_damaged_session(path), path)? else {
            return Ok(Added::default());
        };
        let damage = warn_of_damage(path, &damage, self.damaged);
        self.damaged += damage.len();
        let settled = if self.ended { entries.len() } else { settled(&entries) };
        let shown: Vec<_> =
            entries[..settled].iter().map(|line| (line.timestamp, &line.entry)).collect();
        let lines = transcript(&shown, &context.view).split_off(self.lines);
        self.lines += lines.len();
        let printed = usize::try_from(self.printed).unwrap_or(usize::MAX).min(entries.len());
        self.printed = entries.len() as u64;
        let entries = entries.into_iter().skip(printed).collect();
        Ok(Added { lines, entries, damage, ended: false })
    }

    fn output(&mut self, path: &Path) -> Result<Added, Error> {
        let Some(mut file) = if_exists(File::open(path), path)? else {
            return Ok(Added::default());
        };
        loop {
            let mut bytes = Vec::new();
            let read = file
                .seek(SeekFrom::Start(self.printed))
                .and_then(|_| (&mut file).take(PIECE).read_to_end(&mut bytes))
                .map_err(|error| unreadable(path, &error))?;
            self.printed += read as u64;
            self.rest.append(&mut bytes);
            if read == 0 || !self.ended {
                break;
            }
        }
        let whole = match self.rest.iter().rposition(|byte| *byte == b'\n') {
            Some(_) | None if self.ended || self.rest.len() as u64 > PIECE => self.rest.len(),
            Some(at) => at + 1,
            None => 0,
        };
        let text: Vec<_> = self.rest.drain(..whole).collect();
        let lines = String::from_utf8_lossy(&text);
        let lines = lines.lines().map(visible_line).collect();
        Ok(Added { lines, ..Added::default() })
    }
}

/// Returns how many entries do not change any more in a transcript: a call is shown with its result.
pub(super) fn settled(entries: &[SessionLine]) -> usize {
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, line) in entries.iter().enumerate() {
        match line.entry.model_message() {
            Some(Message::Assistant(answer)) => {
                open.extend(answer.calls().map(|call| (call.id.as_str(), at)));
            }
            Some(Message::ToolResult(result)) => {
                open.remove(result.tool_call_id.as_str());
            }
            Some(Message::User(_)) | None => {}
        }
    }
    open.into_values().min().unwrap_or(entries.len())
}

fn has_ended(row: &TaskRow) -> bool {
    match row.state {
        TaskState::Queued | TaskState::Running => false,
        TaskState::Done | TaskState::Failed | TaskState::Cancelled | TaskState::Interrupted => true,
    }
}

/// One line of `--json`.
#[derive(Serialize)]
struct JsonLine<'a> {
    task: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<&'a SessionLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<&'a DamagedLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<TaskState>,
}

fn print(
    (context, run): (&CommandContext, &RunRow),
    row: &TaskRow,
    prefix: Option<&str>,
    added: Added,
    out: Out<'_>,
) -> Result<(), Error> {
    if context.view.form == Form::Json {
        return print_json_lines(row, &added, out);
    }
    let mut text = added.lines;
    if added.ended {
        let mut end = Vec::new();
        outcome((context, run), row, None, &mut end)?;
        text.extend(String::from_utf8_lossy(&end).lines().map(str::to_owned));
    }
    let prefix = prefix.map(|prefix| context.view.palette.paint(Meaning::Aside, prefix));
    let prefix = prefix.unwrap_or_default();
    text.iter().try_for_each(|line| write_text(out, format!("{prefix}{line}").trim_end()))
}

pub(super) fn print_json_lines(row: &TaskRow, added: &Added, out: Out<'_>) -> Result<(), Error> {
    let task = row.name.as_str();
    let none = || JsonLine { task, entry: None, damage: None, output: None, state: None };
    let damage = added.damage.iter().map(|line| JsonLine { damage: Some(line), ..none() });
    let entries = added.entries.iter().map(|entry| JsonLine { entry: Some(entry), ..none() });
    let is_agent = matches!(row.spec.work, Work::Agent(_));
    let lines = added.lines.iter().filter(|_| !is_agent);
    let lines = lines.map(|line| JsonLine { output: Some(line), ..none() });
    let end = added.ended.then(|| JsonLine { state: Some(row.state), ..none() });
    for line in damage.chain(entries).chain(lines).chain(end) {
        let json = serde_json::to_string(&line).map_err(|error| {
            Error::new(regatta::error::ErrorKind::Bug, "cannot write a line as JSON")
                .caused_by(&error)
        })?;
        write_text(out, &printable_json(json))?;
    }
    Ok(())
}
