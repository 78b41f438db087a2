//! The tools of a session: finds the tool of a call, checks the arguments, and turns every error
//! into an outcome.

mod tool_set;

pub use tool_set::ToolSet;
