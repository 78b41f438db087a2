//! The tools of a session: finds the tool of a call, checks the arguments, and turns every error
//! into an outcome.

mod call_gate;
mod interrupted;
mod live_tool_set;
mod repairs;
mod resolve;
mod tool_set;

pub use call_gate::{CallGate, Decided, Subject};
pub use interrupted::interrupted_result;
pub use live_tool_set::LiveToolSet;
pub use tool_set::ToolSet;
