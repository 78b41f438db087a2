//! The command line of Regatta: parses arguments, calls the library, and prints what happens.

pub mod allocator;
pub mod args;
pub mod commands;
pub mod demo;
mod display_thread;
mod elsewhere;
#[cfg(debug_assertions)]
mod faults;
mod not_implemented;
mod notifier;
pub mod process;
mod question_keys;
pub mod render;
pub mod resolve;
pub mod run_log;
mod runtime;
mod session;
mod signals;
mod terminal_mode;
#[cfg(feature = "tui")]
mod view;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
