//! A model at work: one straight loop over ports. It streams a turn, has its tool calls carried
//! out, and goes on until the model stops or yields.

mod agent_loop;
mod context;
mod conversation;
mod inputs;
mod limits;
mod model_answer;
mod prompts;
mod tool_calls;

pub use agent_loop::run;
pub use context::{AgentContext, Listener};
pub use conversation::{Assignment, Conversation, SessionInit};
pub use inputs::{InputQueue, Inputs, Model, Prompt, RequestChanges};
pub use limits::Limits;
pub use prompts::{YIELD, system_prompt};
