//! Sessions without a task: their supervisor and their public handle.

mod messages;
mod record;
mod session_handle;
mod supervisor;

pub(crate) use messages::{SessionOpening, SessionsMessage, SessionsReply};
pub use session_handle::{OpenSessionError, SessionHandle};
pub(crate) use supervisor::{Sessions, SessionsArguments};
