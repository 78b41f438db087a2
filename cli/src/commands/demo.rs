//! `regatta demo`: runs eight tasks on a sample repository, checks the result, and explains it.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use config::{DataPaths, Settings, Sources};
use engine::fault::Faults;
use protocol::{CaptureRef, Event, EventKind, ExitCode, Message};

use isolation::CapturedWork as _;

use super::context::{Out, say};
use super::run::{RunResult, execute};
use crate::args::{DemoArgs, Form, Globals, Verbosity};
use crate::demo::{
    EndCounts, EvidenceSources, Sample, SampleError, TaskEvidence, collect_evidence, disagreements,
};
use crate::render::{CommandHints, OutputStreams, View, renderer, table_renderer, write_patch};
use crate::run_log::Log;
use regatta::app_context::{AppContext, isolation_places};
use regatta::error::{Error, ErrorKind, TEMPORARY_HINT};
use regatta::recovery::open_repository;

/// The expected exit code of the demo's run: one of its tasks fails on purpose.
const EXPECTED: ExitCode = ExitCode::Partial;

/// Runs the demo and checks its result.
///
/// # Errors
/// The sample cannot be created, the run cannot be started, or the working tree, ledger, captures
/// and events disagree. In the last case, the error lists the differences.
pub async fn run(
    args: &DemoArgs,
    globals: &Globals,
    log: &Log,
    faults: Faults,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let sample = match &args.keep {
        Some(folder) => Sample::kept(folder),
        None => Sample::temporary(),
    };
    let sample = sample.map_err(sample_error)?;
    let app = build_app(&sample, faults)?;
    let view = View::here(globals);
    let hints =
        CommandHints { home: Some(sample.home().to_owned()), repo: Some(sample.root().to_owned()) };
    // The table follows the diff, so that it is what stays on the screen.
    let table = TableBuffer::default();
    let streams = match view.form {
        Form::Text => OutputStreams { out: Box::new(table.clone()), ..OutputStreams::standard() },
        Form::Json => OutputStreams::standard(),
    };
    let show = if sample.is_kept() {
        renderer(view.clone(), streams, hints.clone())
    } else {
        // The sample is removed at the end, so commands that use it cannot be suggested.
        table_renderer(view.clone(), streams)
    };
    let mut endings = EndCounts::new();
    let mut count = |event: &Event| {
        if let EventKind::TaskFinished { task, .. } = &event.kind {
            *endings.entry(task.clone()).or_default() += 1;
        }
    };
    let repository = open_repository(&app, sample.root()).await?.repository;
    let result = execute(&app, log, sample.run(), repository, show, &mut count).await?;
    let is_interrupted = matches!(result.exit_code, ExitCode::Interrupted | ExitCode::Terminated);
    let checked = if is_interrupted { Ok(()) } else { check(&sample, &app, &result, &endings) };
    let explains = view.form == Form::Text && view.verbosity != Verbosity::Quiet;
    let explains = explains && !is_interrupted && checked.is_ok();
    if explains {
        show_diff(&sample, &view, table.lines() + AFTER_DIFF, out)?;
    }
    table.print(out)?;
    checked?;
    if is_interrupted {
        return Ok(result.exit_code);
    }
    if explains {
        explain(&sample, &hints, out)?;
    }
    remove(sample);
    Ok(ExitCode::Success)
}

fn sample_error(error: SampleError) -> Error {
    match error {
        SampleError::Repository(error) => error.into(),
        SampleError::NotEmpty(_) => {
            Error::usage(error.to_string()).hint("--keep with a folder that is empty or not there")
        }
        SampleError::Folder { ref source, ref path } => {
            let hint = match *path == std::env::temp_dir() {
                true => TEMPORARY_HINT,
                false => "--keep with a folder that can be made",
            };
            Error::new(ErrorKind::Machine, error.to_string()).caused_by(source).hint(hint)
        }
    }
}

/// Builds the context of the demo. The demo has its own home and default settings, so it neither
/// reads nor changes a file of the user.
fn build_app(sample: &Sample, faults: Faults) -> Result<AppContext, Error> {
    let variable = |name: &str| match name {
        "REGATTA_HOME" => Some(OsString::from(sample.home())),
        _ => None,
    };
    let settings = |error: &dyn std::error::Error| {
        Error::new(ErrorKind::Bug, "the demo's own settings are wrong").caused_by(error)
    };
    let places = DataPaths::resolve(variable).map_err(|error| settings(&error))?;
    let file = places.config_file();
    let sources = Sources { file: &file, home: None, variable: &|_| None, flags: &[] };
    let (defaults, _unknown) = Settings::load(&sources).map_err(|error| settings(&error))?;
    AppContext::build(places, defaults, faults)
}

/// Compares the result of the demo with the expected one.
fn check(
    sample: &Sample,
    app: &AppContext,
    result: &RunResult,
    endings: &EndCounts,
) -> Result<(), Error> {
    let evidence = evidence(sample, app, result, endings)?;
    let mut wrong = disagreements(sample, &evidence);
    if result.exit_code != EXPECTED {
        let (code, expected) = (u8::from(result.exit_code), u8::from(EXPECTED));
        wrong.push(format!("the run ended with exit code {code} and not {expected}"));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let mut error = Error::new(ErrorKind::Bug, "the demo did not have the expected result");
    error.because = wrong;
    Err(error.hint("regatta demo --keep DIR (keeps the repository, logs and ledger in DIR)"))
}

fn evidence(
    sample: &Sample,
    app: &AppContext,
    result: &RunResult,
    endings: &EndCounts,
) -> Result<Vec<TaskEvidence>, Error> {
    let reader = app.ledger.reader();
    let rows = match reader.run_by_name(&result.run)? {
        Some(run) => reader.tasks(run.id)?,
        None => Vec::new(),
    };
    let captures = isolation::Captures::of(sample.root(), &isolation_places(&app.places));
    let patch =
        |capture: &CaptureRef| captures.patch(capture).map_err(|error| error.to_failure().message);
    let session = |task: &str| {
        let task = task.parse().map_err(|_invalid| "it has no place".to_owned())?;
        let log = app.places.session_log(&result.run, &task);
        messages(&log).map_err(|error| error.to_string())
    };
    Ok(collect_evidence(
        sample,
        &EvidenceSources { rows: &rows, endings, patch: &patch, session: &session },
    ))
}

fn messages(log: &Path) -> std::io::Result<Vec<Message>> {
    let lines = store::read_session(log)?.into_iter();
    Ok(lines.filter_map(|line| line.entry.model_message().cloned()).collect())
}

/// The output of the run, which is printed later.
#[derive(Clone, Debug, Default)]
struct TableBuffer(Arc<Mutex<Vec<u8>>>);

impl TableBuffer {
    fn text(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lines(&self) -> usize {
        self.text().iter().filter(|byte| **byte == b'\n').count()
    }

    fn print(&self, out: Out<'_>) -> Result<(), Error> {
        out.write_all(&self.text()).map_err(|error| Error::output(&error))
    }
}

impl io::Write for TableBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The number of lines around the diff and the table: headings, the check, what to type next, and
/// the prompt of the shell.
const AFTER_DIFF: usize = 16;

/// The minimum number of lines of the diff that are shown.
const SHORTEST_DIFF: usize = 6;

/// Prints what landed. On a terminal, the diff is cut so that it and `others` lines fit.
fn show_diff(sample: &Sample, view: &View, others: usize, out: Out<'_>) -> Result<(), Error> {
    let patch = isolation::sample::diff(sample.root())?;
    let room = view.height().map_or(usize::MAX, |rows| rows.saturating_sub(others));
    let lines: Vec<_> = patch.split_inclusive(|byte| *byte == b'\n').collect();
    let shown = lines.len().min(room.max(SHORTEST_DIFF));
    say(out, "what landed, as `git diff` shows it:\n")?;
    write_patch(out, &lines[..shown].concat(), view).map_err(|error| Error::output(&error))?;
    let cut = lines.len() - shown;
    if cut > 0 {
        say(out, &format!("… and {cut} more lines of the diff"))?;
    }
    say(out, "")
}

/// Prints what was checked, and what to type next.
fn explain(sample: &Sample, hints: &CommandHints, out: Out<'_>) -> Result<(), Error> {
    say(
        out,
        "\nchecked: tree, captures, ledger, session logs and events agree on all 8 tickets\n",
    )?;
    let mut next = Vec::new();
    if sample.is_kept() {
        next.push((hints.command("runs show"), "this run, once more"));
    } else {
        let keep = "regatta demo --keep regatta-demo".to_owned();
        next.push((keep, "the same, and leaves the repository there"));
    }
    let own = "regatta run --model ollama/qwen3:8b 'Say what src/ does in README.md'".to_owned();
    next.push((own, "a task for a model, in a repository of yours"));
    let own = "regatta run --each 'src/**' --exec 'sed -i s/colour/color/g {{item}}'".to_owned();
    next.push((own, "a task per file, in a repository of yours"));
    next.push(("regatta run --help".to_owned(), "all options"));
    for (at, (command, why)) in next.iter().enumerate() {
        let label = if at == 0 { "next" } else { "    " };
        say(out, &format!("{label}  {command}\n        {why}"))?;
    }
    Ok(())
}

/// Removes a temporary sample. If that fails, prints a note with the path of the sample.
fn remove(sample: Sample) {
    let place = sample.root().to_owned();
    if let Err(error) = sample.close() {
        let note = format!("note: {} cannot be removed: {error}", place.display());
        crate::process::notify(&crate::render::one_line(&note));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_made_for_the_sample_says_what_names_another_one() {
        let hints = |path: &Path| {
            let source = io::ErrorKind::NotFound.into();
            sample_error(SampleError::Folder { path: path.to_owned(), source }).hints
        };
        assert_eq!(hints(&std::env::temp_dir()), [TEMPORARY_HINT]);
        assert_eq!(hints(Path::new("/dev/null/x")), ["--keep with a folder that can be made"]);
    }
}
