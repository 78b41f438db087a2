//! How long people let a landing wait for its turn: until they say otherwise.

use std::sync::{Arc, OnceLock};

use engine::exit_code::Interruption;
use engine::ports::{CancelLevel, CancelToken};
use protocol::ExitCode;
use tokio::task::JoinSet;

use crate::error::Error;
use crate::signals::{Signals, code, end_now};

/// Hears signals for as long as it lives, whatever the command waits for.
pub(super) struct Patience {
    cancel: CancelToken,
    heard: Arc<OnceLock<Interruption>>,
    _listening: JoinSet<()>,
}

impl Patience {
    /// Begins to listen. The first signal withdraws the landing; the second ends the program, and
    /// leaves what has begun to the next start.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn begin() -> Result<Self, Error> {
        let mut signals = Signals::listen()?;
        let (cancel, heard) = (CancelToken::default(), Arc::new(OnceLock::new()));
        let (withdrawn, first) = (cancel.clone(), Arc::clone(&heard));
        let mut listening = JoinSet::new();
        listening.spawn(async move {
            let _first = first.set(signals.next().await); // nobody else sets it
            withdrawn.cancel(CancelLevel::Gently);
            end_now(signals.next().await)
        });
        Ok(Self { cancel, heard, _listening: listening })
    }

    /// Returns what the landing looks at.
    pub(super) fn cancel(&self) -> CancelToken {
        self.cancel.clone()
    }

    /// Returns how the program ends, if someone lost patience.
    pub(super) fn code(&self) -> Option<ExitCode> {
        self.heard.get().copied().map(code)
    }
}
