//! The supervisor of all runs: opens them and gives their tasks permits.

mod actor;
mod opening;
mod run_prompt;
mod state;

pub(crate) use actor::Runs;
pub use opening::{Submission, SubmitError, Submitted};
pub(crate) use state::{RunsArguments, RunsMessage};
