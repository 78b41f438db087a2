//! The actors that own tools and processes. An executor is leased to a task or session, so that no
//! process outlives it.

mod approver;
mod background;
mod executor_tools;

mod executor;
mod launch_meter;
mod session_ports;
mod session_tools;
mod settle;
mod spawning;
mod supervisor;
mod turns;

pub use engine::approvals::ChosenMode;
pub(crate) use executor::{ExecutorLease, ExecutorSetup, ToolExecutorMessage};
pub(crate) use executor_tools::ExecutorTools;
pub(crate) use launch_meter::LaunchMeter;
pub(crate) use session_ports::{ANSWER_DEADLINE, CallFrom, SessionPorts};
pub(crate) use session_tools::OpenedTools;
pub use session_tools::{Answerer, ToolSetup};
pub(crate) use settle::settle;
pub(crate) use supervisor::{Executors, ExecutorsArguments, ExecutorsMessage, LeasedBy};
