//! Stand-ins for the outside world, a model and an OAuth server among them, a certificate, a place to drive the built binary in,
//! fuzzers that drive it there, and a workspace in memory.

pub mod changed_texts;
pub mod event_grammar;
pub mod failpoints;
pub mod fakes;
pub mod fuzz;
pub mod json_shapes;
pub mod made_tasks;
pub mod mcp;
pub mod model;
pub mod oauth;
pub mod sandbox;
pub mod tls;
pub mod view_memory;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
