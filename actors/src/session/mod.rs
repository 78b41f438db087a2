//! The actor of one session: a conversation with a model, its tools and its queue of inputs. It does
//! not know whether a task or a person uses it.

mod actor;
mod delta_coalescer;
mod messages;
mod opening;
mod turns;

pub(crate) use actor::Session;
pub use messages::{ContinueError, SessionSpec};
pub(crate) use messages::{
    OpenedLog, Reply, Revision, SessionArguments, SessionInput, SessionMessage,
};
