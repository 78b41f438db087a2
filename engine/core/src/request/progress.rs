//! What a request tells of itself before its end.

use std::time::Duration;

use protocol::{Failure, ModelRoute};

use crate::ports::GateWait;

/// What happens to a request before its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress<'a> {
    /// More text for the user.
    Text(&'a str),
    /// More thinking.
    Thinking(&'a str),
    /// The model begins to call this tool.
    Calling(&'a str),
    /// The gate of the account makes the request wait.
    Waiting {
        /// How often the provider was asked again so far.
        retries: u32,
        /// What is waited for.
        wait: &'a GateWait,
    },
    /// The attempt failed and what came of it is void. There will be another.
    Retrying {
        /// Counts the retries from 1.
        retry: u32,
        /// How long is waited before.
        delay: Duration,
        /// Why the attempt failed.
        failure: &'a Failure,
    },
    /// The route failed for good and what came of it is void. Another one is asked.
    FallingBack {
        /// The model that is asked now.
        to: &'a ModelRoute,
        /// Why the one before failed.
        failure: &'a Failure,
    },
}

/// Told what happens to a request, as it happens.
pub type ProgressSink<'a> = &'a (dyn Fn(Progress<'_>) + Send + Sync);
