//! One task: carries out what its lifecycle asks for.

mod activity;
mod actor;
mod message;
mod news;
mod start;
mod state;
mod steps;

pub(crate) use actor::Task;
pub(crate) use message::{RunFacts, TaskArguments, TaskMessage};
pub(crate) use state::TaskState;
