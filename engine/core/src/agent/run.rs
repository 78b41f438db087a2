//! The agent loop.

use protocol::{InputId, SessionEvent, StopReason, UserInput};

use super::answer;
use super::calls::{Scope, carry_out};
use super::conversation::Conversation;
use super::inputs::Prompt;
use super::limits::{Permit, Warned};
use super::means::{End, Means};
use super::words;
use crate::ports::{SessionLogError, ToolChoice};

/// Goes on with a conversation until the model stops or yields, or something ends it. A model that
/// had the last word is not asked for another.
pub async fn run(
    conversation: &mut Conversation,
    means: &mut Means<'_>,
    prompt: Option<Prompt>,
) -> End {
    match turns(conversation, means, prompt).await {
        Ok(end) | Err(end) => end,
    }
}

async fn turns(
    conversation: &mut Conversation,
    means: &mut Means<'_>,
    prompt: Option<Prompt>,
) -> Result<End, End> {
    let mut choice = ToolChoice::Free;
    if let Some(prompt) = prompt {
        say(conversation, means, prompt.input).await?;
        choice = prompt.choice;
    }
    let mut stop = StopReason::Stop;
    loop {
        pass_boundary(conversation, means).await?;
        if means.abort.is_cancelled() {
            return Ok(End::Aborted);
        }
        if conversation.is_said() {
            let Some(input) = means.inputs.before_stop().await else {
                return Ok(End::Silent(silence(stop)));
            };
            say(conversation, means, input).await?;
            continue;
        }
        let mut scope = Scope::Any;
        match means.limits.judge(&conversation.spent) {
            Permit::Go => {}
            Permit::YieldNow(text) => {
                let id = InputId::of_limit(conversation.session);
                conversation.say(UserInput { id, text }).await?;
                conversation.spent.warned = Warned::Yes;
                choice = ToolChoice::Force(words::YIELD.to_owned());
                scope = Scope::YieldOnly;
            }
            Permit::Over(failure) => return Ok(End::Failed(failure)),
        }
        let turn = conversation.spent.turns + 1;
        means.listener.event(SessionEvent::TurnStart { turn });
        let choice = std::mem::replace(&mut choice, ToolChoice::Free);
        let answer = answer::ask(conversation, means, choice).await?;
        let calls: Vec<_> = answer.calls().cloned().collect();
        let end = carry_out(conversation, means, &calls, scope).await?;
        means.listener.event(SessionEvent::TurnEnd { turn });
        if let Some(end) = end {
            return Ok(end);
        }
        stop = answer.stop_reason;
    }
}

/// Does what users have asked for the next request.
async fn pass_boundary(
    conversation: &mut Conversation,
    means: &mut Means<'_>,
) -> Result<(), SessionLogError> {
    let boundary = means.inputs.before_request().await;
    if let Some(model) = boundary.model {
        conversation.change_model(&model.route).await?;
        means.listener.event(SessionEvent::ModelChange { model: model.route.to_string() });
        means.model = model;
    }
    for input in boundary.steering {
        say(conversation, means, input).await?;
    }
    Ok(())
}

/// Says an input.
async fn say(
    conversation: &mut Conversation,
    means: &Means<'_>,
    input: UserInput,
) -> Result<(), SessionLogError> {
    let input_id = input.id;
    conversation.say(input).await?;
    means.listener.event(SessionEvent::InputTaken { input_id });
    Ok(())
}

/// Returns what one has to say about an answer that calls nothing.
fn silence(stop: StopReason) -> String {
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
