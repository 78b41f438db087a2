//! A model at work: one straight loop over ports. It streams a turn, has its tool calls carried
//! out, and goes on until the model stops or yields.

mod answer;
mod calls;
mod conversation;
mod limits;
mod listener;
mod repeats;
mod run;
mod words;

pub use conversation::{Conversation, Opening};
pub use limits::Limits;
pub use listener::Listener;
pub use run::{End, Means, Nudge, run};
pub use words::{YIELD, system_prompt};
