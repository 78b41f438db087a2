//! A model at work: one straight loop over ports. It streams a turn, has its tool calls carried
//! out, and goes on until the model stops or yields.

mod answer;
mod calls;
mod conversation;
mod inputs;
mod limits;
mod listener;
mod means;
mod queue;
mod repeats;
mod run;
mod words;

pub use conversation::{Assignment, Conversation, SessionInit};
pub use inputs::{Boundary, Inputs, Model, Prompt};
pub use limits::Limits;
pub use listener::Listener;
pub use means::{End, Means};
pub use queue::InputQueue;
pub use run::run;
pub use words::{YIELD, system_prompt};
