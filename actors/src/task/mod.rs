//! The actor of one task.

mod actor;
mod agent_activity;
mod phase_clock;
mod progress;
mod sealing;
mod setup;
mod setup_progress;
mod state;
mod steps;
mod task_ask;
mod task_wait;
mod worker_setup;

pub(crate) use actor::Task;
pub(crate) use phase_clock::micros;
pub(crate) use state::{ConversationRequest, RunFacts, TaskArguments, TaskMessage, TaskState};
pub(crate) use task_wait::TaskWait;
pub(crate) use worker_setup::{INPUTS, artifacts_of, artifacts_of_run, key_variables};
