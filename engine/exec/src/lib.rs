//! Running commands: each in a process group of its own, watched so that nothing of it outlives
//! the engine, with its output kept and bounded.

mod birth;
mod control;
mod environment;
mod exit;
mod group;
mod launcher;
mod lines;
mod pace;
mod printable;
mod processes;
mod pump;
mod running;
mod shell;
mod sink;
mod streams;
mod trouble;
mod watch;
mod watcher;

pub use environment::{BaseEnvironment, EnvironmentRules};
pub use processes::Processes;
pub use shell::{GRACE, Shell};
pub use watch::watch;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
