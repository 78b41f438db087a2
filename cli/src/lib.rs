//! The door: reads what was typed, names the concrete types and wires them once, shows what
//! happens. Also the library face for programs that embed the house.

pub mod args;
pub mod demo;
pub mod error;
pub mod exit;
pub mod fault;
mod nearest;
pub mod render;
