//! Regatta as a library: an engine that runs many coding agents at once, each in its own copy of a
//! repository.
//!
//! This crate names the concrete type behind each port of the engine and wires them once. It opens and
//! recovers repositories, reads plans and lists of items, chooses models, and opens sessions. It prints
//! nothing, reads no arguments, and handles no signal.

pub mod app_context;
pub mod each;
pub mod error;
pub mod gc;
pub mod launcher;
pub mod model;
pub mod plan;
pub mod recovery;
pub mod runs;
pub mod session;
pub mod text;
pub mod workspace_needs;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
