//! One answer of the model.

use futures_util::StreamExt;
use protocol::{AssistantMessage, Failure, FailureClass, SessionEvent};

use super::conversation::Conversation;
use super::run::{End, Means};
use crate::ports::{ModelEvent, ModelRequest, ToolChoice};

/// Asks the model and waits for the whole of its answer, which is then in the conversation.
pub(super) async fn ask(
    conversation: &mut Conversation,
    means: &Means<'_>,
    choice: ToolChoice,
) -> Result<AssistantMessage, End> {
    let mut answer = means.provider.stream(ModelRequest {
        session: conversation.session,
        system: conversation.system.clone(),
        messages: conversation.messages.clone(),
        tools: means.hands.declarations(),
        choice,
    });
    while let Some(event) = answer.next().await {
        match event {
            ModelEvent::Text(words) | ModelEvent::Thinking(words) => means.listener.words(&words),
            ModelEvent::Calling(tool) => means.listener.calling(&tool),
            ModelEvent::Retrying { attempt, after, why } => {
                means.listener.event(SessionEvent::AutoRetryStart {
                    attempt,
                    delay_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
                    error_message: why.message,
                });
            }
            ModelEvent::Ended(message) => {
                let message = conversation.hear(message).await?;
                means.listener.event(SessionEvent::MessageEnd { message: message.clone() });
                return Ok(message);
            }
            ModelEvent::Failed { failure, partial } => {
                means.listener.event(SessionEvent::MessageEnd { message: partial.clone() });
                conversation.hear_failed(partial).await?;
                return Err(End::Failed(failure));
            }
        }
    }
    let message = "the provider fell silent without saying how its answer ended";
    Err(End::Failed(Failure::new(FailureClass::Crashed, message)))
}
