//! The tools of a session: finding the tool of a call, checking its arguments, and an outcome
//! whatever goes wrong.

mod arguments;
mod set;

pub use arguments::quote;
pub use set::ToolSet;
