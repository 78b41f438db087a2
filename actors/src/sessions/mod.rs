//! Sessions without a task: their supervisor and their public handle.

mod handle;
mod messages;
mod record;
mod supervisor;

pub use handle::{OpenSessionError, SessionHandle};
pub(crate) use messages::{SessionOpening, SessionsMessage, SessionsReply};
pub(crate) use supervisor::{Sessions, SessionsArguments};
