//! The runs of an engine: opens them, and gives out the permits of their tasks.

mod actor;
mod message;
mod opening;
mod state;
mod submission;

pub(crate) use actor::Runs;
pub(crate) use message::{RunsArguments, RunsMessage};
pub use submission::{Submission, SubmitError, Submitted};
