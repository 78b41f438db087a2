//! Starts a run, shows it to its end, and says how the program ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use actors::{Cancelling, Events, House, Submission, SubmitError, Submitted};
use engine::ports::Repository;
use engine::verdict::Interruption;
use protocol::{Event, EventKind, ExitCode, RunName, RunSpec};

use crate::boot::Equipment;
use crate::error::{Error, ErrorKind};
use crate::log::Log;
use crate::render::Renderer;
use crate::signals::Signals;

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
    let mut signals = Signals::listen().map_err(|error| {
        Error::new(ErrorKind::Machine, "cannot listen for signals").caused_by(&error)
    })?;
    let house = equipment.open_house(spec.jobs).await?;
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
    let mut stage = Stage { house, events, signals, show, also, told: 0 };
    let ended = stage.play(&submitted, equipment).await;
    let shown = stage.show.finish();
    let fell = stage.house.close().await;
    if let Some(fell) = fell {
        return Err(bug(equipment, &submitted.name, &fell));
    }
    let exit_code = match ended {
        Ended::With(exit_code) => exit_code,
        Ended::Unread => return Err(Error::new(ErrorKind::Closed, "nobody reads on")),
        Ended::Fell(what) => return Err(bug(equipment, &submitted.name, &what)),
    };
    shown.map_err(|error| Error::output(&error))?;
    Ok(Played { run: submitted.name, exit_code })
}

struct Stage<'a> {
    house: House,
    events: Events,
    signals: Signals,
    show: &'a mut dyn Renderer,
    also: &'a mut (dyn FnMut(&Event) + Send),
    /// How many signals came.
    told: u32,
}

/// How the showing of a run ended.
enum Ended {
    /// With the run.
    With(ExitCode),
    /// Nobody reads our output any more, and the run was cancelled.
    Unread,
    /// The house fell.
    Fell(String),
}

impl Stage<'_> {
    async fn play(&mut self, run: &Submitted, equipment: &Equipment) -> Ended {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        let mut unread = None;
        loop {
            tokio::select! {
                biased;
                event = self.events.recv() => {
                    let Some(event) = event else {
                        return Ended::Fell("its events ended before it did".to_owned());
                    };
                    (self.also)(&event);
                    if let Err(error) = self.tell(&event)
                        && unread.is_none()
                    {
                        tracing::warn!(%error, "standard output cannot be written");
                        unread = Some(());
                        self.house.cancel(run.id, Cancelling::AtOnce, Interruption::Terminate);
                    }
                    if let EventKind::RunFinished { exit_code, .. } = event.kind {
                        return if unread.is_some() { Ended::Unread } else { Ended::With(exit_code) };
                    }
                }
                what = self.house.fallen() => return Ended::Fell(what),
                signal = self.signals.next() => self.stop(run, signal),
                _ = tick.tick() => self.show.tick(equipment.clock.now()),
            }
        }
    }

    fn tell(&mut self, event: &Event) -> io::Result<()> {
        self.show.event(event)
    }

    /// Once: stop gently. Twice: no grace. A third time leaves the capturing to the next start.
    fn stop(&mut self, run: &Submitted, signal: Interruption) {
        self.told += 1;
        match self.told {
            1 => self.house.cancel(run.id, Cancelling::Gently, signal),
            2 => self.house.cancel(run.id, Cancelling::AtOnce, signal),
            _ => std::process::exit(i32::from(u8::from(code(signal)))),
        }
    }
}

fn code(interruption: Interruption) -> ExitCode {
    match interruption {
        Interruption::Interrupt => ExitCode::Interrupted,
        Interruption::Terminate => ExitCode::Terminated,
        Interruption::Bug => ExitCode::Bug,
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
