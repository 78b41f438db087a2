//! The agent loop: asks the model and runs its tool calls, turn by turn.

use protocol::{AgentEnd, InputId, SessionEvent, StopReason, UserInput};

use super::context::AgentContext;
use super::conversation::Conversation;
use super::inputs::Prompt;
use super::limits::{BudgetDecision, Warned};
use super::model_answer;
use super::prompts;
use super::tool_calls::{AllowedCalls, run_calls};
use crate::ports::{SessionLogError, ToolChoice};

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
        let answer = model_answer::ask(conversation, context, choice).await?;
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
    let boundary = context.inputs.before_request().await;
    if let Some(model) = boundary.model {
        conversation.change_model(&model.route).await?;
        context.listener.event(SessionEvent::ModelChange { model: model.route.to_string() });
        context.model = model;
    }
    for input in boundary.steering {
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

/// Describes an answer without tool calls, which ends the work without a yield.
fn describe_missing_yield(stop: StopReason) -> String {
    match stop {
        StopReason::Length => "its answer was cut off, because it was too long, before a yield",
        StopReason::Stop | StopReason::ToolUse | StopReason::Error | StopReason::Aborted => {
            "it ended without a yield"
        }
    }
    .to_owned()
}

#[cfg(test)]
mod tests;
