//! The agent loop: it asks a model, runs the tool calls of its answer, and repeats this until the
//! model stops or yields. All I/O goes through ports.

mod agent_loop;
mod answer_events;
mod call_groups;
mod compacting;
mod context;
mod conversation;
mod conversation_changes;
mod conversation_size;
mod findings;
mod inputs;
mod last_answer;
mod limits;
mod navigating;
mod prompts;
mod request_hooks;
mod request_messages;
mod tool_calls;

pub use agent_loop::run;
pub use compacting::compact;
pub use context::{AgentContext, Listener};
pub use conversation::{Assignment, Conversation, SessionInit};
pub(crate) use findings::logged_finding;
pub use inputs::{
    InputQueue, Inputs, InterruptMode, Model, Prompt, QueueMode, QueueModes, RequestChanges,
    RequestSetup,
};
pub use limits::Limits;
pub use navigating::{Navigated, Navigation, SummaryOfLeft, navigate};
pub use prompts::YIELD;
pub use request_hooks::{RequestHooks, RequestListener};
