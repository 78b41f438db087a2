//! One file for each command.

pub mod apply;
pub mod conflicts;
pub mod context;
pub mod demo;
pub mod diff;
pub mod discard;
pub mod dispatch;
#[cfg(test)]
mod fakes;
pub mod help;
pub mod logs;
pub mod run;
pub mod runs;
pub mod schema;
mod target;
mod work;
