//! One file for each command.

pub mod apply;
pub mod conflicts;
pub mod context;
pub mod diff;
pub mod discard;
#[cfg(test)]
mod fakes;
pub mod run;
pub mod runs;
mod target;
mod work;
