//! The rules of the engine: what a task is, when it may run, what counts as a result, when a dead
//! child is worth another try and what a run comes to. Nothing here spawns, sleeps, reads a clock
//! or does I/O; the outside world is reached through the traits in [`ports`].

pub mod agent;
pub mod dependencies;
pub mod exit_code;
pub mod fault;
pub mod landing;
pub mod ports;
pub mod request;
pub mod restarts;
pub mod run;
pub mod schedule;
pub mod task;
pub mod tools;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
