//! The sessions that no task uses: who owns them, and the handle by which they are held.

mod handle;
mod messages;
mod record;
mod supervisor;

pub use handle::{OpenSessionError, SessionHandle};
pub(crate) use messages::{SessionOpening, SessionsMessage, SessionsReply};
pub(crate) use supervisor::{Sessions, SessionsArguments};
