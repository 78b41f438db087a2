//! The agent loop.

use protocol::{Failure, SessionEvent, StopReason};
use serde_json::Value;

use super::calls::{Scope, carry_out};
use super::conversation::Conversation;
use super::limits::{Limits, Permit, Warned};
use super::{Listener, answer, words};
use crate::ports::{SessionLogError, ToolChoice, ToolRunner};
use crate::request::ModelClient;

/// What the loop works with.
pub struct Means<'a> {
    /// Asks the model.
    pub model: &'a ModelClient,
    /// Carries out calls.
    pub tools: &'a dyn ToolRunner,
    /// Told what happens.
    pub listener: &'a dyn Listener,
    /// How much may be used.
    pub limits: Limits,
}

/// Something to be said to a model whose session ended in a way that was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nudge {
    /// The words.
    pub text: String,
    /// Whether it has to call something now.
    pub choice: ToolChoice,
}

/// How a session ended by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// The model yielded this.
    Yielded(Value),
    /// The model said that it cannot.
    GaveUp(String),
    /// The model stopped without a yield; this is what one has to say about that.
    Silent(String),
    /// It could not go on.
    Failed(Failure),
}

impl From<SessionLogError> for End {
    fn from(error: SessionLogError) -> Self {
        Self::Failed(error.to_failure())
    }
}

/// Goes on with a conversation until the model stops or yields, or something ends it.
pub async fn run(conversation: &mut Conversation, means: &Means<'_>, nudge: Option<Nudge>) -> End {
    match turns(conversation, means, nudge).await {
        Ok(end) | Err(end) => end,
    }
}

async fn turns(
    conversation: &mut Conversation,
    means: &Means<'_>,
    nudge: Option<Nudge>,
) -> Result<End, End> {
    let mut choice = ToolChoice::Free;
    if let Some(nudge) = nudge {
        // One that crashed after it was told is not told again.
        if !conversation.has_heard(&nudge.text) {
            conversation.say(nudge.text).await?;
        }
        choice = nudge.choice;
    }
    if conversation.is_said() {
        return Ok(End::Silent(silence(StopReason::Stop)));
    }
    loop {
        let mut scope = Scope::Any;
        match means.limits.judge(&conversation.spent) {
            Permit::Go => {}
            Permit::YieldNow(words) => {
                // One that crashed after it was told is not told again.
                if !conversation.has_heard(&words) {
                    conversation.say(words).await?;
                }
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
        let end = if calls.is_empty() {
            Some(End::Silent(silence(answer.stop_reason)))
        } else {
            carry_out(conversation, means, &calls, scope).await?
        };
        means.listener.event(SessionEvent::TurnEnd { turn });
        if let Some(end) = end {
            return Ok(end);
        }
    }
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
