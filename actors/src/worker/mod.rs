//! What does the work of a task: a session of ours, a command, or another program's agent. A task
//! knows none of them, only the port `Worker`.

mod command;
mod deps;
mod registry;
mod reminder;
mod session;
mod working;

pub(crate) use deps::WorkerDeps;
pub(crate) use registry::{external_program, open, restarts};
pub(crate) use working::Working;
