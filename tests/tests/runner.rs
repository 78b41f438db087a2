//! Rules of the engine, actors on fakes, and tools over each view of a workspace.

#[macro_use]
extern crate test_limit;

mod actors;
mod agents;
mod call_origin;
mod deadlines;
mod event_streams;
mod event_streams_rare;
mod gates;
mod isolation;
mod jobs;
mod opening;
mod own_tool;
mod panics;
mod prepared_tools;
mod registry_steps;
mod run_questions;
mod servers;
mod session_branches;
mod session_handle;
mod session_states;
mod sessions;
mod side_by_side;
mod tidy;
// Its tests are functions that a macro calls: by this clippy knows that they are tests.
mod time_limit;
#[cfg(test)]
mod tools;
mod unsealed;
mod waiting_parents;
mod workers;
