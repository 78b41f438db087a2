//! Who owns tools and processes. An executor is leased to a task and owned here, so that no process
//! outlives its task — however the task ends.

mod pool;
mod runner;
mod session_tools;
mod tool_executor;

pub(crate) use pool::{Executors, ExecutorsMessage};
pub(crate) use runner::ExecutorTools;
pub use session_tools::ToolSetup;
pub(crate) use tool_executor::{ExecutorLease, ExecutorSetup, ToolExecutorMessage};
