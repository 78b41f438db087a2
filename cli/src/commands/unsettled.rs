//! A conflict that a tool or a resolver did not settle. What a resolver failed at is recorded.

use protocol::{LedgerEntry, RepoPath, ResolverFailure, ResolverRecord, TaskId};

use super::context::CommandContext;
use crate::render::one_line;
use regatta::error::Error;

/// How much of a reason or a command the ledger keeps, in characters.
const LONGEST: usize = 1_000;

/// Why a conflict was not settled.
#[derive(Debug)]
pub(super) struct Unsettled {
    error: Error,
    /// What is recorded, if a resolver was run.
    failure: Option<Box<ResolverFailure>>,
}

impl From<Error> for Unsettled {
    fn from(error: Error) -> Self {
        Self { error, failure: None }
    }
}

impl Unsettled {
    /// Returns the failure of a resolver at the conflict at `path`.
    pub(super) fn by(resolver: ResolverRecord, path: &RepoPath, why: &str, error: Error) -> Self {
        let failure = ResolverFailure { path: path.clone(), why: shortened(why), resolver };
        Self { error, failure: Some(Box::new(failure)) }
    }

    /// Records what a resolver failed at, and returns the error.
    pub(super) async fn record(self, context: &CommandContext, task: TaskId) -> Error {
        let Some(failure) = self.failure else { return self.error };
        let entry = LedgerEntry::ResolverFailed { task, failure: *failure };
        match context.record(vec![entry]).await {
            Ok(()) => self.error,
            Err(error) => {
                self.error.because(format!("the failure was not recorded: {}", error.what))
            }
        }
    }
}

/// Returns a text as one line of a length that the ledger keeps.
pub(super) fn shortened(text: &str) -> String {
    one_line(text).chars().take(LONGEST).collect()
}
