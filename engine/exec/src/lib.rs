//! Runs commands: each in a process group of its own, and all of one owner below one reaper, so that
//! no process outlives its owner or the engine. The output is kept in a file of bounded size.

mod command_error;
mod environment;
mod failure_line;
mod lines;
mod output;
mod output_file;

mod launcher;
mod owner;
mod owner_environment;
mod processes;
mod remove_tree;
mod running;
mod shell;
mod slots;
mod socket;
mod temporary_folders;
mod terminal;

mod start_message;
mod wire;

mod child;
mod descendants;
mod launch;
mod reaper;
mod running_command;

pub use environment::{BaseEnvironment, EnvironmentRules};
pub use launch::launch;
pub use owner::Owner;
pub use processes::Processes;
pub use shell::{GRACE, Shell};
pub use temporary_folders::TemporaryFolders;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
