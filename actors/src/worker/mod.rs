//! The workers of tasks: a session, a command, an external program, or a conversation of the user. A task knows them by the port
//! `Worker` only.

mod command;
mod conversation;
mod open;
mod session;
mod setup;
mod worker_deps;

pub(crate) use open::{RunningWorker, external_program, open, restarts};
pub(crate) use setup::{SetupRun, quoted};
pub(crate) use worker_deps::WorkerDeps;
