//! A session: a conversation with a model, its tools, and the inputs that wait for it. It does not
//! know whether a task or a person uses it.

mod actor;
mod deltas;
mod inputs;
mod message;
mod opening;
mod turns;

pub(crate) use actor::Session;
pub use message::SessionSpec;
pub(crate) use message::{SessionArguments, SessionMessage};
