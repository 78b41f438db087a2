//! The door: reads what was typed, names the concrete types and wires them once, shows what
//! happens. Also the library face for programs that embed the engine.

pub mod args;
pub mod boot;
pub mod commands;
pub mod demo;
mod display;
mod each;
pub mod error;
pub mod exit;
pub mod fault;
pub mod log;
pub mod model;
mod plan;
pub mod process;
pub mod recovery;
pub mod render;
pub mod resolve;
mod runtime;
mod signals;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
