//! Sessions without a task: their supervisor, their state and their public handle.

mod closing;
mod messages;
mod model_changes;
mod open_question;
mod questions;
mod record;
mod session_ask;
mod session_handle;
mod session_state;
mod session_states;
mod supervisor;

pub use messages::PromptError;
pub(crate) use messages::{SessionOpening, SessionsMessage, SessionsReply};
pub use open_question::AnswerError;
pub use session_handle::{OpenSessionError, SessionHandle};
pub use session_state::SessionState;
pub use session_states::SessionStates;
pub(crate) use supervisor::{Sessions, SessionsArguments};
