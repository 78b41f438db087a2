//! `regatta run`: starts a run, displays it until it ends, and returns the exit code.

use std::io::{self, IsTerminal as _};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use config::make_private;
use engine::exit_code::Interruption;
use engine::ports::{CancelLevel, LandingNotice, Repository};
use protocol::{
    Event, EventKind, ExitCode, Failure, FailureClass, RunName, RunSpec, WorkspaceKind,
};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::commands::apply::landed_unrecorded;
use crate::commands::approval_notes;
use crate::display_thread::{Display, Notes, until};
use crate::notifier::Notifier;
use crate::process;
use crate::render::{Renderer, rescue_line};
use crate::run_log::Log;
use crate::signals::{self, Signals, exit_now};
use regatta::app_context::{AppContext, isolation_places};
use regatta::error::{Error, ErrorKind};
use regatta::model::check_models;
use regatta::recovery::no_room;
use regatta::{Answerer, Engine, RunHandle, Submission, SubmitError};

/// A run that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunResult {
    /// Its name.
    pub run: RunName,
    /// The exit code.
    pub exit_code: ExitCode,
}

/// Starts a run and displays it with `show`. Passes each event to `also`. Returns when the engine is
/// closed and everything is displayed.
///
/// # Errors
/// The run could not be started, or a critical part of the engine failed; then the work of running
/// tasks is captured.
pub async fn execute(
    app: &AppContext,
    log: &Log,
    spec: RunSpec,
    repository: Arc<dyn Repository>,
    show: Box<dyn Renderer>,
    also: &mut (dyn FnMut(&Event) + Send),
) -> Result<RunResult, Error> {
    let mut signals = Signals::listen()?;
    let unreached = tokio::select! {
        checked = check_models(&app.models, &app.user_models, &spec) => checked?,
        interruption = signals.next() => return Err(interrupted(interruption)),
    };
    if let Some(workspaces) = workspaces_of(app, &spec) {
        // An error is ignored here: if the folder is missing, preparing the run reports it.
        let _said_later = make_private(&workspaces);
    }
    let engine = app.open_engine(spec.jobs).await?;
    let notifier = Notifier::watch(app, &spec.repo, engine.listen().await);
    let (mut display, answerer) = start_display(app, show, &engine).await?;
    let notes = display.notes();
    approval_notes::of_run(&spec, answerer).into_iter().for_each(|line| notes.say(line));
    unreached.into_iter().for_each(|line| notes.say(line));
    let notify = Arc::new(move |notice| match notice {
        LandingNotice::Waiting => notes.say(WAIT_NOTE),
        // The engine of another landing died while this run waited, so this engine completed it.
        LandingNotice::Rescued(rescue) => notes.say(rescue_line(&rescue)),
        LandingNotice::HeadMoved(_)
        | LandingNotice::OpenFilesUnknown { .. }
        | LandingNotice::NoExchange { .. }
        | LandingNotice::Degraded(_) => {}
    });
    let controls = engine.controls(spec.id);
    let submission = Submission::new(spec, repository).answered_by(answerer);
    let starting = engine.run(Submission { notify, ..submission });
    // From here on, a separate tokio task handles signals.
    let cancel = move |how, why| controls.cancel(how, why);
    let canceller_on_signal = CancelOnSignal::begin(signals, cancel, display.notes());
    let mut run = match starting.await {
        Ok(run) => run,
        Err(refused) => {
            let failure = engine.close().await;
            canceller_on_signal.run_has_ended();
            let _unread = display.finish().await; // no run has started, so no output is lost
            return Err(not_started(refused, failure));
        }
    };
    display.show(run.events());
    if answerer == Answerer::Client {
        display.answer(run.controls());
    }
    log.begin(&app.places.log(&run.name));
    let mut landed = Vec::new();
    let also: &mut (dyn FnMut(&Event) + Send) = &mut |event| {
        if let EventKind::TaskLanded { task, .. } = &event.kind {
            landed.push(task.clone());
        }
        also(event);
    };
    let output_failure = follow(&mut run, &mut display, also).await;
    let outcome = run.outcome().await.map(|outcome| outcome.exit_code);
    let failure = engine.close().await;
    app.user_models.finish_renewals().await;
    canceller_on_signal.run_has_ended();
    tracing::info!("the run is over; its reader may still read");
    let shown = display.finish().await;
    notifier.finish().await;
    if let Some(failure) = failure {
        let error = engine_failed(app, &run.name, &failure, outcome.ok());
        return Err(match landed[..] {
            [] => error,
            _ => error.because(landed_unrecorded(&landed)),
        });
    }
    let exit_code = outcome.map_err(|failure| engine_failed(app, &run.name, &failure, None))?;
    if exit_code == ExitCode::Terminated
        && output_failure.as_ref().is_some_and(|it| it.kind() == io::ErrorKind::BrokenPipe)
    {
        process::notify(&closed_output_note(&run.name));
    }
    match output_failure.or(shown.err()) {
        Some(error) => Err(output_error(&error, exit_code)),
        None => Ok(RunResult { run: run.name, exit_code }),
    }
}

/// Starts the display of a run, and returns who answers the questions of its tasks.
async fn start_display(
    app: &AppContext,
    show: Box<dyn Renderer>,
    engine: &Engine,
) -> Result<(Display, Answerer), Error> {
    let of_runs = match show.shows_subagents() {
        true => Some(engine.listen_to_runs().await),
        false => None,
    };
    let answerer = match show.shows_questions() && io::stdin().is_terminal() {
        true => Answerer::Client,
        false => Answerer::None,
    };
    let display = Display::start(show, Arc::clone(&app.clock)).map_err(|error| {
        Error::new(ErrorKind::Machine, "cannot start a thread").caused_by(&error)
    })?;
    of_runs.into_iter().for_each(|of_runs| display.show_subagents(of_runs));
    Ok((display, answerer))
}

/// Returns the folder of the workspaces of a repository, if the run has workspaces. The caller
/// makes this folder private, because its parent folder may not be.
pub(super) fn workspaces_of(app: &AppContext, spec: &RunSpec) -> Option<PathBuf> {
    match spec.isolation.capabilities().workspace {
        WorkspaceKind::Shared => return None,
        WorkspaceKind::Private => {}
    }
    let run = RunName::of(spec.id, RunName::SHORTEST);
    let of_run = isolation_places(&app.places).of_run(&spec.repo, &run);
    of_run.parent().map(Path::to_path_buf)
}

/// The note after the first signal.
const CANCEL_NOTE: &str =
    "stopping: the work so far is kept, and nothing lands; Ctrl-C again stops at once";

/// The note while a run waits for the landing of another engine.
const WAIT_NOTE: &str = "waits: another engine starts or lands a run in this repository";

/// The note after the second signal.
const CANCEL_AT_ONCE_NOTE: &str =
    "stopping at once; Ctrl-C again exits, and the next start of regatta saves the work";

/// Cancels runs when the process gets a signal. Dropping this value ends the handling of signals.
pub(super) struct CancelOnSignal {
    is_over: Arc<AtomicBool>,
    _listening: JoinSet<()>,
}

impl CancelOnSignal {
    /// Begins to listen. The first signal cancels gently, and the second without a grace
    /// period. The third exits the process and leaves captures to the next start. After the run has
    /// ended, the process only waits for a slow reader of the output, and any signal exits it.
    pub(super) fn begin(
        mut signals: Signals,
        cancel: impl Fn(CancelLevel, Interruption) + Send + 'static,
        notes: Notes,
    ) -> Self {
        let is_over = Arc::<AtomicBool>::default();
        let over = Arc::clone(&is_over);
        let mut listening = JoinSet::new();
        listening.spawn(async move {
            for (how, note) in
                [(CancelLevel::Gently, CANCEL_NOTE), (CancelLevel::AtOnce, CANCEL_AT_ONCE_NOTE)]
            {
                let why = signals.next().await;
                if over.load(Ordering::Acquire) {
                    exit_now(why);
                }
                cancel(how, why);
                notes.say(note);
            }
            exit_now(signals.next().await);
        });
        Self { is_over, _listening: listening }
    }

    /// Records that the run has ended, so that the next signal exits the process.
    pub(super) fn run_has_ended(&self) {
        self.is_over.store(true, Ordering::Release);
    }
}

/// Returns the error of output that could not be written, with the exit code of the run, which the
/// ledger has too. About a closed pipe nothing is printed.
pub(super) fn output_error(error: &io::Error, exit_code: ExitCode) -> Error {
    Error::output(error).exit(exit_code)
}

/// Returns the line about a run that was cancelled because the reader of its output has gone.
fn closed_output_note(run: &RunName) -> String {
    format!(
        "note: standard output was closed, so run {run} was cancelled; \
         regatta runs retry {run} --cancelled"
    )
}

/// How long events gather after one. Hundreds of agents would otherwise wake the thread with each of
/// theirs, and the end of the run waits no longer than this.
const GATHER: Duration = Duration::from_millis(2);

/// Passes on the events of a run until it has ended. If standard output cannot be written, cancels the run,
/// and returns the error.
async fn follow(
    run: &mut RunHandle,
    display: &mut Display,
    also: &mut (dyn FnMut(&Event) + Send),
) -> Option<io::Error> {
    let mut output_failure: Option<io::Error> = None;
    let mut gathering = None;
    loop {
        tokio::select! {
            biased;
            event = run.recv(), if gathering.is_none() => {
                let Some(event) = event else { return output_failure };
                iter::once(event).chain(iter::from_fn(|| run.take())).for_each(|event| also(&event));
                gathering = Some(Instant::now() + GATHER);
            }
            () = until(gathering) => gathering = None,
            error = display.failed() => {
                run.cancel(CancelLevel::AtOnce, Interruption::Terminate);
                output_failure = Some(error);
            }
        }
    }
}

/// Returns why a run was not started.
fn not_started(refused: SubmitError, failure: Option<Failure>) -> Error {
    match failure {
        Some(failure) if failure.class == FailureClass::Resources => {
            Error::engine_failed(&failure).exit(ExitCode::NotStarted)
        }
        Some(failure) => {
            Error::new(ErrorKind::Bug, "a part of the program failed, and the run was not started")
                .because_of(&failure)
        }
        None => submit_error(refused),
    }
}

fn interrupted(interruption: Interruption) -> Error {
    Error::usage("stopped before anything was started").exit(signals::exit_code(interruption))
}

/// Returns the error of a run whose engine failed, which ended with `exit_code` if it could.
fn engine_failed(
    app: &AppContext,
    run: &RunName,
    failure: &Failure,
    exit_code: Option<ExitCode>,
) -> Error {
    if failure.class == FailureClass::Resources {
        no_room::leave(&app.places, run, (failure, exit_code.unwrap_or(ExitCode::NoSuccess)));
    }
    let error = Error::engine_failed(failure).hint(format!("regatta runs show {run}"));
    match error.kind {
        ErrorKind::Bug => {
            error.because(format!("the report is in {}", app.places.log(run).display()))
        }
        _ => error.exit(exit_code.unwrap_or(ExitCode::NoSuccess)),
    }
}

/// Returns the error of a run that did not begin.
pub(super) fn submit_error(error: SubmitError) -> Error {
    match error {
        SubmitError::Isolation(error) => error.into(),
        SubmitError::Ledger(error) => Error::of_home(error),
        SubmitError::Schema { task, fault } => {
            Error::new(ErrorKind::Plan, format!("cannot use the schema of task `{task}`"))
                .because(fault)
        }
        SubmitError::Cancelled(why) => interrupted(why),
        SubmitError::Crashed(panicked) => {
            Error::new(ErrorKind::Bug, "opening the run crashed").caused_by(&panicked)
        }
        SubmitError::Closing => Error::new(ErrorKind::Bug, "the engine closed before it began"),
    }
}
