//! One answer of the model.

use std::time::Duration;

use protocol::{AssistantMessage, SessionEvent};

use super::conversation::Conversation;
use super::listener::Listener;
use super::run::{End, Means};
use crate::ports::{GateWait, ModelRequest, ToolChoice};
use crate::request::Progress;

/// Asks the model and waits for the whole of its answer, which is then in the conversation.
pub(super) async fn ask(
    conversation: &mut Conversation,
    means: &Means<'_>,
    choice: ToolChoice,
) -> Result<AssistantMessage, End> {
    let request = ModelRequest {
        session: conversation.session,
        system: conversation.system.clone(),
        messages: conversation.messages.clone(),
        tools: means.tools.declarations(),
        choice,
    };
    let listener = means.listener;
    let asked = means.model.ask(&request, &|progress| notify(listener, progress)).await;
    match asked {
        Ok(message) => {
            let message = conversation.hear(message).await?;
            listener.event(SessionEvent::MessageEnd { message: message.clone() });
            Ok(message)
        }
        Err(failed) => {
            listener.event(SessionEvent::MessageEnd { message: failed.partial.clone() });
            conversation.hear_failed(failed.partial).await?;
            Err(End::Failed(failed.failure))
        }
    }
}

fn notify(listener: &dyn Listener, progress: Progress<'_>) {
    match progress {
        Progress::Text(words) | Progress::Thinking(words) => listener.words(words),
        Progress::Calling(tool) => listener.calling(tool),
        Progress::Waiting { wait: GateWait::Busy { limit }, .. } => {
            listener.waiting(&format!("waits until fewer than {limit} requests are under way"));
        }
        Progress::Waiting { retries, wait: GateWait::Paused { wait, reason } } => {
            listener.event(retry(retries, *wait, reason.clone()));
        }
        Progress::Retrying { retry: number, delay, failure } => {
            listener.event(retry(number, delay, failure.message.clone()));
        }
        Progress::FallingBack { to, failure } => {
            let message = format!("{}; {to} is asked instead", failure.message);
            listener.event(retry(0, Duration::ZERO, message));
        }
    }
}

fn retry(attempt: u32, delay: Duration, error_message: String) -> SessionEvent {
    let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    SessionEvent::AutoRetryStart { attempt, delay_ms, error_message }
}
