//! Signals: Ctrl-C, SIGTERM and SIGHUP, and how they cancel a landing.

use std::sync::{Arc, OnceLock};

use engine::exit_code::Interruption;
use engine::ports::{CancelLevel, CancelToken};
#[cfg(feature = "tui")]
use futures_util::FutureExt as _;
use protocol::ExitCode;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;

use crate::{notifier, terminal_mode};
use regatta::error::{Error, ErrorKind};

/// A listener for signals.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` if SIGHUP was ignored when the program started, as under `nohup`.
    hangup: Option<Signal>,
}

impl Signals {
    /// Begins to listen.
    ///
    /// # Errors
    /// The system cannot install a signal handler.
    pub(crate) fn listen() -> Result<Self, Error> {
        let listener = |kind| {
            signal(kind).map_err(|error| {
                Error::new(ErrorKind::Machine, "cannot listen for signals").caused_by(&error)
            })
        };
        let hangup = (!is_ignored(SignalKind::hangup())).then(|| listener(SignalKind::hangup()));
        Ok(Self {
            interrupt: listener(SignalKind::interrupt())?,
            terminate: listener(SignalKind::terminate())?,
            hangup: hangup.transpose()?,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> Interruption {
        tokio::select! {
            _ = self.interrupt.recv() => Interruption::Interrupt,
            _ = self.terminate.recv() => Interruption::Terminate,
            () = hangup(&mut self.hangup) => Interruption::Terminate,
        }
    }

    /// Takes the signals that have come, and returns whether to end the program is among them. Ctrl-C was
    /// for what has just ended.
    #[cfg(feature = "tui")]
    pub(crate) fn take(&mut self) -> Option<Interruption> {
        let mut terminate = None;
        while let Some(why) = self.next().now_or_never() {
            terminate = terminate.or((why == Interruption::Terminate).then_some(why));
        }
        terminate
    }
}

/// Returns the exit code of an interrupted program.
pub(crate) fn exit_code(interruption: Interruption) -> ExitCode {
    match interruption {
        Interruption::Interrupt => ExitCode::Interrupted,
        Interruption::Terminate => ExitCode::Terminated,
        Interruption::Bug => ExitCode::Bug,
        Interruption::Resources => ExitCode::NoSuccess,
    }
}

/// Exits at once, without cleanup. The next start recovers the unfinished work.
pub(crate) fn exit_now(interruption: Interruption) -> ! {
    terminal_mode::restore();
    notifier::end_all();
    std::process::exit(i32::from(u8::from(exit_code(interruption))))
}

async fn hangup(hangup: &mut Option<Signal>) {
    match hangup {
        Some(hangup) => {
            let _closed = hangup.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Returns whether a signal was ignored when this process started.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}

/// Listens for signals until it is dropped, and cancels a landing when one arrives.
pub(crate) struct CancelOnSignal {
    cancel: CancelToken,
    received: Arc<OnceLock<Interruption>>,
    _listening: JoinSet<()>,
}

impl CancelOnSignal {
    /// Begins to listen. The first signal cancels the landing. The second signal exits at once, and
    /// the next start recovers the unfinished landing.
    ///
    /// # Errors
    /// The system cannot install a signal handler.
    pub(crate) fn begin() -> Result<Self, Error> {
        let mut signals = Signals::listen()?;
        let (cancel, received) = (CancelToken::default(), Arc::new(OnceLock::new()));
        let (withdrawn, first) = (cancel.clone(), Arc::clone(&received));
        let mut listening = JoinSet::new();
        listening.spawn(async move {
            let _first = first.set(signals.next().await); // set only here
            withdrawn.cancel(CancelLevel::Gently);
            exit_now(signals.next().await)
        });
        Ok(Self { cancel, received, _listening: listening })
    }

    /// Returns the token that cancels the landing.
    pub(crate) fn cancel(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// Returns the exit code, if a signal came.
    pub(crate) fn code(&self) -> Option<ExitCode> {
        self.received.get().copied().map(exit_code)
    }
}
