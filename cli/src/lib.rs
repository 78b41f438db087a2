//! The command line of Regatta: parses arguments, wires the engine's parts together, and prints what
//! happens. Also a library, for programs that embed the engine.

pub mod allocator;
pub mod app_context;
pub mod args;
pub mod commands;
pub mod demo;
mod display_thread;
mod each;
mod elsewhere;
pub mod error;
#[cfg(debug_assertions)]
mod faults;
pub mod gc;
pub mod model;
mod not_implemented;
mod plan;
pub mod process;
pub mod recovery;
pub mod render;
pub mod resolve;
pub mod run_log;
mod runtime;
mod session;
mod signals;
#[cfg(feature = "tui")]
mod view;
mod workspace_needs;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
