//! The supervisor of all runs: opens them and gives their tasks permits.

mod actor;
mod opening;
mod run_prompt;
mod state;

pub(crate) use actor::Runs;
pub(crate) use opening::Submitted;
pub use opening::{Submission, SubmitError};
pub(crate) use state::{RunsArguments, RunsMessage};
