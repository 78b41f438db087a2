//! Starts a run, shows it to its end, and says how the program ends.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use actors::{Canceller, Cancelling, Events, House, Submission, SubmitError, Submitted};
use config::make_private;
use engine::ports::Repository;
use engine::verdict::Interruption;
use protocol::{Event, EventKind, ExitCode, IsolationMode, RunId, RunName, RunSpec};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::boot::{Equipment, isolation_places};
use crate::error::{Error, ErrorKind};
use crate::log::Log;
use crate::model::reach;
use crate::render::Renderer;
use crate::signals::{Signals, code, end_now};

/// How often the live view moves.
const TICK: Duration = Duration::from_millis(100);

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// The name it got.
    pub run: RunName,
    /// How the program ends.
    pub exit_code: ExitCode,
}

/// Starts the run, tells `show` every event and `also` each a second time, and returns when the
/// house is closed again.
///
/// # Errors
/// Why nothing was started; or a part of the house fell, and then what ran is captured.
pub async fn execute(
    equipment: &Equipment,
    log: &Log,
    spec: RunSpec,
    repository: Arc<dyn Repository>,
    show: &mut dyn Renderer,
    also: &mut (dyn FnMut(&Event) + Send),
) -> Result<Played, Error> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        reached = reach(&equipment.models, &spec) => reached?,
        interruption = signals.next() => return Err(interrupted(interruption)),
    }
    if let Some(workspaces) = workspaces_of(equipment, &spec) {
        // Who cannot make it says so when the run is prepared.
        let _said_later = make_private(&workspaces);
    }
    let house = equipment.open_house(&spec).await?;
    let events = house.listen().await;
    let submission = Submission { spec, repository };
    let submitted = tokio::select! {
        submitted = house.submit(submission) => submitted,
        // Nothing has been started yet, and closing withdraws what was begun.
        interruption = signals.next() => {
            house.close().await;
            return Err(interrupted(interruption));
        }
    };
    let submitted = match submitted {
        Ok(submitted) => submitted,
        Err(refused) => {
            house.close().await;
            return Err(refused.into());
        }
    };
    log.begin(&equipment.places.log(&submitted.name));
    // Whoever stops reading our output must not make us deaf: signals are heard beside the showing.
    let mut listening = JoinSet::new();
    let (told, remarks) = mpsc::unbounded_channel();
    listening.spawn(obey(signals, house.canceller(), submitted.id, told));
    let mut stage = Stage { events, remarks, show, also };
    let ended = stage.play(&house, &submitted, equipment).await;
    let Stage { mut events, show, also, .. } = stage;
    let fell = house.close().await;
    if matches!(ended, Ended::Fell(_)) {
        // What ran is reported on the way down.
        while let Some(event) = events.recv().await {
            also(&event);
            let _unread = show.event(&event);
        }
    }
    let shown = show.finish();
    if let Some(fell) = fell {
        return Err(bug(equipment, &submitted.name, &fell));
    }
    let exit_code = match ended {
        Ended::With(exit_code) => exit_code,
        Ended::Unread(error) => return Err(unread(&error, ExitCode::Terminated)),
        Ended::Fell(what) => return Err(bug(equipment, &submitted.name, &what)),
    };
    shown.map_err(|error| unread(&error, exit_code))?;
    Ok(Played { run: submitted.name, exit_code })
}

/// Returns the folder of the workspaces of a repository, if the run has any: it is closed to
/// others, also where the folder that it stands in is not.
fn workspaces_of(equipment: &Equipment, spec: &RunSpec) -> Option<PathBuf> {
    match spec.isolation {
        IsolationMode::None => return None,
        IsolationMode::Worktree => {}
    }
    let run = RunName::of(spec.id, RunName::SHORTEST);
    let of_run = isolation_places(&equipment.places).of_run(&spec.repo, &run);
    of_run.parent().map(Path::to_path_buf)
}

/// What is said when a run is asked to stop.
const STOPS: &str =
    "stopping: what was done is kept, and nothing lands; Ctrl-C again grants no more time";

/// And when it is asked again.
const AT_ONCE: &str = "stopping at once; Ctrl-C again leaves the rest to the next start";

/// Once: stop gently. Twice: no grace. A third time leaves the capturing to the next start.
async fn obey(
    mut signals: Signals,
    canceller: Canceller,
    run: RunId,
    told: mpsc::UnboundedSender<&'static str>,
) {
    for (how, remark) in [(Cancelling::Gently, STOPS), (Cancelling::AtOnce, AT_ONCE)] {
        let why = signals.next().await;
        canceller.cancel(run, how, why);
        let _over = told.send(remark);
    }
    end_now(signals.next().await);
}

/// The end of a run whose output could not be written: the run's own, unless nobody reads on.
fn unread(error: &io::Error, exit_code: ExitCode) -> Error {
    let unread = Error::output(error);
    if unread.kind == ErrorKind::Closed { unread } else { unread.exit(exit_code) }
}

struct Stage<'a> {
    events: Events,
    remarks: mpsc::UnboundedReceiver<&'static str>,
    show: &'a mut dyn Renderer,
    also: &'a mut (dyn FnMut(&Event) + Send),
}

/// How the showing of a run ended.
enum Ended {
    /// With the run.
    With(ExitCode),
    /// Our output cannot be written any more, and the run was cancelled.
    Unread(io::Error),
    /// The house fell.
    Fell(String),
}

impl Stage<'_> {
    async fn play(&mut self, house: &House, run: &Submitted, equipment: &Equipment) -> Ended {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        let mut unread: Option<io::Error> = None;
        loop {
            tokio::select! {
                biased;
                event = self.events.recv() => {
                    let Some(event) = event else {
                        return Ended::Fell("its events ended before it did".to_owned());
                    };
                    (self.also)(&event);
                    let mut shown = self.show.event(&event);
                    if self.events.is_empty() {
                        shown = shown.and_then(|()| self.show.settle());
                    }
                    if let Err(error) = shown
                        && unread.is_none()
                    {
                        tracing::warn!(%error, "standard output cannot be written");
                        unread = Some(error);
                        house.cancel(run.id, Cancelling::AtOnce, Interruption::Terminate);
                    }
                    if let EventKind::RunFinished { exit_code, .. } = event.kind {
                        return unread.map_or(Ended::With(exit_code), Ended::Unread);
                    }
                }
                Some(remark) = self.remarks.recv() => self.show.remark(remark),
                what = house.fallen() => return Ended::Fell(what),
                _ = tick.tick() => self.show.tick(equipment.clock.now()),
            }
        }
    }
}

fn interrupted(interruption: Interruption) -> Error {
    Error::usage("stopped before anything was started").exit(code(interruption))
}

fn bug(equipment: &Equipment, run: &RunName, what: &str) -> Error {
    let log = equipment.places.log(run);
    Error::new(ErrorKind::Bug, "a part of the program failed, and it cannot go on")
        .because(what)
        .because(format!("the report is in {}", log.display()))
        .hint(format!("regatta runs show {run}"))
}

impl From<SubmitError> for Error {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Isolation(error) => error.into(),
            SubmitError::Ledger(error) => error.into(),
            SubmitError::Schema { task, fault } => {
                Self::new(ErrorKind::Plan, format!("cannot use the schema of task `{task}`"))
                    .because(fault)
            }
            SubmitError::Closing => Self::new(ErrorKind::Bug, "the house closed before it began"),
        }
    }
}
