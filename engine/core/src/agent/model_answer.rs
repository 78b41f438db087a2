//! Asks the model for one answer, and adds it to the conversation.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protocol::{AgentEnd, AssistantMessage, Part, SessionEvent};

use super::context::AgentContext;
use super::context::Listener;
use super::conversation::Conversation;
use crate::ports::{GateWait, ModelRequest, ToolChoice};
use crate::request::Progress;

/// Sends a request and waits for the complete answer, which is added to the conversation.
pub(super) async fn ask(
    conversation: &mut Conversation,
    context: &AgentContext<'_>,
    choice: ToolChoice,
) -> Result<AssistantMessage, AgentEnd> {
    let request = ModelRequest {
        session: conversation.session,
        system: conversation.system.clone(),
        messages: conversation.messages.clone(),
        tools: context.tools.declarations(),
        choice,
    };
    let (listener, partial) = (context.listener, PartialAnswer::default());
    let progress = |progress: Progress<'_>| {
        partial.add(&progress);
        notify(listener, progress);
    };
    match context.unless_aborted(context.model.client.ask(&request, &progress)).await {
        Some(Ok(message)) => {
            let message = conversation.push_answer(message).await?;
            listener.event(SessionEvent::MessageEnd { message: message.clone() });
            Ok(message)
        }
        Some(Err(failed)) => {
            listener.event(SessionEvent::MessageEnd { message: failed.partial.clone() });
            conversation.log_failed_answer(failed.partial).await?;
            Err(AgentEnd::Failed(failed.failure))
        }
        None => {
            let content = partial.into_content();
            let partial =
                conversation.aborted_answer(context.model.client.provider.info(), content);
            listener.event(SessionEvent::MessageEnd { message: partial.clone() });
            conversation.log_failed_answer(partial).await?;
            Err(AgentEnd::Aborted)
        }
    }
}

fn notify(listener: &dyn Listener, progress: Progress<'_>) {
    listener.event(match progress {
        Progress::Text(text) => SessionEvent::TextDelta { text: text.to_owned() },
        Progress::Thinking(text) => SessionEvent::ThinkingDelta { text: text.to_owned() },
        Progress::Calling(tool) => SessionEvent::ToolCallStart { tool_name: tool.to_owned() },
        Progress::Waiting { wait: GateWait::Busy { limit }, .. } => {
            let reason = format!("waits until fewer than {limit} requests are under way");
            SessionEvent::RequestWait { reason }
        }
        Progress::Waiting { retries, wait: GateWait::Paused { wait, reason } } => {
            retry(retries, *wait, reason.clone())
        }
        Progress::Retrying { retry: number, delay, failure } => {
            retry(number, delay, failure.message.clone())
        }
        Progress::FallingBack { to, failure } => {
            let message = format!("{}; {to} is asked instead", failure.message);
            retry(0, Duration::ZERO, message)
        }
    });
}

fn retry(attempt: u32, delay: Duration, error_message: String) -> SessionEvent {
    let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    SessionEvent::AutoRetryStart { attempt, delay_ms, error_message }
}

/// The content of an answer received so far.
#[derive(Default)]
struct PartialAnswer(Mutex<Vec<Part>>);

impl PartialAnswer {
    fn add(&self, progress: &Progress<'_>) {
        let mut content = self.content();
        match progress {
            Progress::Text(more) => match content.last_mut() {
                Some(Part::Text { text }) => text.push_str(more),
                _ => content.push(Part::Text { text: (*more).to_owned() }),
            },
            Progress::Thinking(more) => match content.last_mut() {
                Some(Part::Thinking { thinking }) => thinking.push_str(more),
                _ => content.push(Part::Thinking { thinking: (*more).to_owned() }),
            },
            Progress::Retrying { .. } | Progress::FallingBack { .. } => content.clear(),
            Progress::Calling(_) | Progress::Waiting { .. } => {}
        }
    }

    /// The lock is held only while content is appended, never across an `await`.
    fn content(&self) -> MutexGuard<'_, Vec<Part>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn into_content(self) -> Vec<Part> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
