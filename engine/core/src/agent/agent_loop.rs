//! The agent loop: asks the model and runs its tool calls, turn by turn.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use protocol::{AgentEnd, AssistantMessage, InputId, SessionEvent, StopReason, UserInput};

use super::context::{AgentContext, Listener};
use super::conversation::Conversation;
use super::inputs::Prompt;
use super::limits::{BudgetDecision, Warned};
use super::prompts;
use super::tool_calls::{AllowedCalls, run_calls};
use crate::ports::{GateWait, ModelRequest, RequestOptions, SessionLogError, ToolChoice};
use crate::request::{PartialContent, Progress};

/// Continues a conversation until the model stops or yields, or until the work is aborted or fails.
/// If the last message is an answer of the model and there is no new input, the model is not asked
/// again.
pub async fn run(
    conversation: &mut Conversation,
    context: &mut AgentContext<'_>,
    prompt: Option<Prompt>,
) -> AgentEnd {
    match run_turns(conversation, context, prompt).await {
        Ok(end) | Err(end) => end,
    }
}

async fn run_turns(
    conversation: &mut Conversation,
    context: &mut AgentContext<'_>,
    prompt: Option<Prompt>,
) -> Result<AgentEnd, AgentEnd> {
    let mut choice = ToolChoice::Free;
    if let Some(prompt) = prompt {
        take_input(conversation, context, prompt.input).await?;
        choice = prompt.choice;
    }
    let mut stop = StopReason::Stop;
    loop {
        apply_request_changes(conversation, context).await?;
        if context.abort.is_cancelled() {
            return Ok(AgentEnd::Aborted);
        }
        if conversation.awaits_input() {
            let Some(input) = context.inputs.before_stop().await else {
                return Ok(AgentEnd::Silent(describe_missing_yield(stop)));
            };
            take_input(conversation, context, input).await?;
            continue;
        }
        let mut allowed = AllowedCalls::All;
        match context.limits.check(&conversation.usage) {
            BudgetDecision::Continue => {}
            BudgetDecision::YieldNow(text) => {
                let id = InputId::of_limit(conversation.session);
                conversation.push_input(UserInput { id, text }).await?;
                conversation.usage.warned = Warned::Yes;
                choice = ToolChoice::Force(prompts::YIELD.to_owned());
                allowed = AllowedCalls::YieldOnly;
            }
            BudgetDecision::Exceeded(failure) => return Ok(AgentEnd::Failed(failure)),
        }
        let turn = conversation.usage.turns + 1;
        context.listener.event(SessionEvent::TurnStart { turn });
        let choice = std::mem::replace(&mut choice, ToolChoice::Free);
        let answer = ask(conversation, context, choice).await?;
        let calls: Vec<_> = answer.calls().cloned().collect();
        let end = run_calls(conversation, context, &calls, allowed).await?;
        context.listener.event(SessionEvent::TurnEnd { turn });
        if let Some(end) = end {
            return Ok(end);
        }
        stop = answer.stop_reason;
    }
}

/// Applies a change of the model and adds steering inputs before the next request.
async fn apply_request_changes(
    conversation: &mut Conversation,
    context: &mut AgentContext<'_>,
) -> Result<(), SessionLogError> {
    let changes = context.inputs.before_request().await;
    if let Some(model) = changes.model {
        conversation.change_model(&model.route).await?;
        context.listener.event(SessionEvent::ModelChange { model: model.route.to_string() });
        context.model = model;
    }
    for input in changes.steering {
        take_input(conversation, context, input).await?;
    }
    Ok(())
}

/// Adds an input to the conversation and announces it.
async fn take_input(
    conversation: &mut Conversation,
    context: &AgentContext<'_>,
    input: UserInput,
) -> Result<(), SessionLogError> {
    let input_id = input.id;
    conversation.push_input(input).await?;
    context.listener.event(SessionEvent::InputTaken { input_id });
    Ok(())
}

/// Describes why the work ended without a yield after an answer without tool calls.
fn describe_missing_yield(stop: StopReason) -> String {
    match stop {
        StopReason::Length => "its answer was cut off, because it was too long, before a yield",
        StopReason::Stop | StopReason::ToolUse | StopReason::Error | StopReason::Aborted => {
            "it ended without a yield"
        }
    }
    .to_owned()
}

/// Sends a request and waits for the complete answer, which is added to the conversation.
async fn ask(
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
        options: RequestOptions::default(),
    };
    let (listener, partial) = (context.listener, Mutex::new(PartialContent::default()));
    let progress = |progress: Progress<'_>| {
        keep(&partial, &progress);
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
            let content = partial.into_inner().unwrap_or_else(PoisonError::into_inner).into_parts();
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
        Progress::Text { text, .. } => SessionEvent::TextDelta { text: text.to_owned() },
        Progress::Thinking { text, .. } => SessionEvent::ThinkingDelta { text: text.to_owned() },
        Progress::Calling { tool, .. } => {
            SessionEvent::ToolCallStart { tool_name: tool.to_owned() }
        }
        // The arguments are part of the complete message, which follows.
        Progress::Arguments { .. } => return,
        Progress::Waiting { account, wait: GateWait::Busy { limit }, .. } => {
            let reason = format!("waits for {account}: {limit} requests at a time are under way");
            SessionEvent::RequestWait { reason }
        }
        Progress::Waiting { account, wait: GateWait::Outage { reason }, .. } => {
            let reason = format!("waits until {account} answers again: {reason}");
            SessionEvent::RequestWait { reason }
        }
        Progress::Waiting { account, wait: GateWait::Rate { wait }, .. } => {
            let seconds = wait.as_secs().max(1);
            let reason = format!("waits {seconds} s for the limit per minute of {account}");
            SessionEvent::RequestWait { reason }
        }
        Progress::Waiting { retries, wait: GateWait::Paused { wait, reason }, .. } => {
            retry(retries, *wait, reason.clone())
        }
        // It waits at the gate, which says so.
        Progress::Retrying { delay: Duration::ZERO, .. } => return,
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

/// Keeps the content of an answer received so far. The lock is held only while content is changed,
/// never across an `await`.
fn keep(partial: &Mutex<PartialContent>, progress: &Progress<'_>) {
    let mut partial = partial.lock().unwrap_or_else(PoisonError::into_inner);
    match progress {
        Progress::Text { block, text } => partial.push_text(*block, text),
        Progress::Thinking { block, text } => partial.push_thinking(*block, text),
        Progress::Retrying { .. } | Progress::FallingBack { .. } => partial.clear(),
        Progress::Calling { .. } | Progress::Arguments { .. } | Progress::Waiting { .. } => {}
    }
}

#[cfg(test)]
mod tests;
