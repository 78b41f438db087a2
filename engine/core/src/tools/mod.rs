//! The tools of a session: finds the tool of a call, checks the arguments, and turns every error
//! into an outcome.

mod arguments;
mod set;

pub use arguments::quote;
pub use set::ToolSet;
