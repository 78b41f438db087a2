//! One question to a session, for programs that want the answer only.

use actors::{Events, SessionHandle};
use protocol::{AgentEnd, EventKind, Failure, InputId, Message, SessionEvent, UserInput};

/// Why the question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The session could not continue, for instance because its model cannot be had.
    #[error("{}", .0.message)]
    Failed(Failure),
    /// The work was aborted.
    #[error("the work was aborted")]
    Aborted,
    /// The session is closed.
    #[error("the session is closed")]
    Closed,
}

/// Sends a prompt to an idle session, and returns what its model has said last when it has ended its work.
/// `events` are those of the session.
///
/// # Errors
/// The session could not continue, the work was aborted, or the session is closed.
pub async fn ask(
    session: &SessionHandle,
    events: &mut Events,
    prompt: &str,
) -> Result<String, AskError> {
    session.prompt(UserInput::new(InputId::generate(), prompt));
    let mut answer = String::new();
    while let Some(event) = events.recv().await {
        let EventKind::SessionEvent { event, .. } = &event.kind else { continue };
        match event {
            SessionEvent::MessageEnd { message: Message::Assistant(said) } => answer = said.text(),
            SessionEvent::AgentEnd { end: AgentEnd::Failed(failure) } => {
                return Err(AskError::Failed(failure.clone()));
            }
            SessionEvent::AgentEnd { end: AgentEnd::Aborted } => return Err(AskError::Aborted),
            SessionEvent::AgentEnd { .. } => return Ok(answer),
            _other => {}
        }
    }
    Err(AskError::Closed)
}
