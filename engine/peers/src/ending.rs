//! The end of a connection, and why it ended.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// The end of a connection. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    why: Arc<OnceLock<Why>>,
    ended: CancellationToken,
}

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// This side has closed it.
    Closed,
    /// The server has closed it, or has ended.
    Left,
    /// The server broke a rule: what it did, as the rest of a sentence.
    Fault(&'static str),
}

impl Ending {
    /// Ends the connection, unless it has ended for another reason.
    pub(crate) fn end(&self, why: Why) {
        self.why.get_or_init(|| why);
        self.ended.cancel();
    }

    /// Returns why the connection has ended, if it has.
    pub(crate) fn why(&self) -> Option<Why> {
        self.why.get().cloned()
    }

    /// Waits until the connection has ended.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }
}
