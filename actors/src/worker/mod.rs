//! The workers of tasks: a session, a command, or a conversation of the user. A task knows them by the port
//! `Worker` only.

mod command;
mod conversation;
mod last_answer;
mod open;
mod session;
mod setup;
mod worker_deps;

pub(crate) use open::{RunningWorker, open, restarts};
pub(crate) use setup::{SetupRun, quoted};
pub(crate) use worker_deps::WorkerDeps;
