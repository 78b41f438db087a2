//! The rules of the engine: the agent loop, the schedule, the state machines of runs and tasks, the
//! yield contract, restarts and exit codes. The code here spawns nothing, never sleeps, reads no
//! clock and does no I/O; it reaches the outside world through the traits in [`ports`].

pub mod agent;
pub mod approvals;
pub mod compaction;
pub mod dependencies;
pub mod exit_code;
pub mod fault;
pub mod landing;
pub mod leading_request;
pub mod mcp;
pub mod ports;
pub mod prompt;
pub mod request;
pub mod restarts;
pub mod retention;
pub mod run;
pub mod schedule;
pub mod session;
pub mod subagents;
pub mod task;
pub mod texts;
pub mod tools;
pub mod verification;

#[cfg(test)]
#[macro_use]
extern crate test_limit;
