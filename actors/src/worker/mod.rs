//! What does the work of a task: a session of ours, a command, or another program's agent. A task
//! knows none of them, only the port `Worker`.

mod command;
mod registry;
mod session;
mod worker_deps;

pub(crate) use registry::{RunningWorker, external_program, open, restarts};
pub(crate) use worker_deps::WorkerDeps;
