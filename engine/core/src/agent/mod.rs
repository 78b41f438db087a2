//! The agent loop: it asks a model, runs the tool calls of its answer, and repeats this until the
//! model stops or yields. All I/O goes through ports.

mod agent_loop;
mod context;
mod conversation;
mod inputs;
mod limits;
mod prompts;
mod tool_calls;

pub use agent_loop::run;
pub use context::{AgentContext, Listener};
pub use conversation::{Assignment, Conversation, SessionInit};
pub use inputs::{InputQueue, Inputs, Model, Prompt, RequestChanges};
pub use limits::Limits;
pub use prompts::{YIELD, system_prompt};
