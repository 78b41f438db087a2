//! Who owns processes. An executor is leased to a task and owned here, so that no process outlives
//! its task — however the task ends.

mod pool;
mod tool_executor;

pub(crate) use pool::{Executors, ExecutorsMessage};
pub(crate) use tool_executor::{ExecutorLease, ToolExecutorMessage};
