//! Runs commands: each in a process group of its own, watched so that none of its processes outlives
//! the engine. The output is kept in a file of bounded size.

mod command_error;
mod environment;
mod failure_line;
mod launcher;
mod lines;
mod output;
mod output_file;
mod pre_exec;
mod process_group;
mod processes;
mod running;
mod shell;
mod watcher;
mod watcher_main;

pub use environment::{BaseEnvironment, EnvironmentRules};
pub use processes::Processes;
pub use shell::{GRACE, Shell};
pub use watcher_main::watch;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
