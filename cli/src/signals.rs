//! What people and the system tell a running program: Ctrl-C, SIGTERM, SIGHUP.

use engine::verdict::Interruption;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for signals from the moment it is made.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// Nothing where it was ignored when we were started, as `nohup` does.
    hangup: Option<Signal>,
}

impl Signals {
    /// Begins to listen.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: if is_ignored(SignalKind::hangup()) {
                None
            } else {
                Some(signal(SignalKind::hangup())?)
            },
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> Interruption {
        tokio::select! {
            _ = self.interrupt.recv() => Interruption::Interrupt,
            _ = self.terminate.recv() => Interruption::Terminate,
            () = hung_up(&mut self.hangup) => Interruption::Terminate,
        }
    }
}

async fn hung_up(hangup: &mut Option<Signal>) {
    match hangup {
        Some(hangup) => {
            let _closed = hangup.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether a signal was ignored when this process was started.
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}
