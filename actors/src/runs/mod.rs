//! The runs of an engine: opens them, and gives out the permits of their tasks.

mod actor;
mod opening;
mod state;

pub(crate) use actor::Runs;
pub use opening::{Submission, SubmitError, Submitted};
pub(crate) use state::{RunsArguments, RunsMessage};
