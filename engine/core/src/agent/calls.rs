//! The calls of one answer: carried out side by side, answered in their own order.

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use protocol::{Failure, FailureClass, SessionEvent, ToolCall};

use super::conversation::Conversation;
use super::means::{End, Means};
use super::repeats::Came;
use super::words;
use crate::ports::{Access, Concurrency, ToolOutcome, ToolOutput};

/// Which calls are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All.
    Any,
    /// Only those that end the session.
    YieldOnly,
}

/// Carries out `calls` and puts their results into the conversation. Returns how the session ends,
/// if it does.
pub(super) async fn carry_out(
    conversation: &mut Conversation,
    means: &Means<'_>,
    calls: &[ToolCall],
    scope: Scope,
) -> Result<Option<End>, End> {
    if calls.is_empty() {
        return Ok(None);
    }
    let Some(accesses) = means.unless_aborted(means.tools.classify(calls)).await else {
        interrupt(conversation, means).await?;
        return Err(End::Aborted);
    };
    let mut end = None;
    for group in groups(calls, &accesses) {
        if end.is_some() {
            for call in group {
                let output = ToolOutput::text(words::AFTER_YIELD);
                conversation.answer(call, output, Came::Badly).await?;
            }
            continue;
        }
        let running = group.iter().map(|call| one(means, call, scope));
        // All of them run from here on; each is told as soon as all before it are.
        let mut running: FuturesOrdered<_> = running.collect();
        let mut poison = None;
        loop {
            let Some(next) = means.unless_aborted(running.next()).await else {
                drop(running);
                interrupt(conversation, means).await?;
                return Err(End::Aborted);
            };
            let Some((call, outcome)) = next else { break };
            let (output, came_of_it) = match outcome {
                ToolOutcome::Output(output) => (output, Came::Well),
                ToolOutcome::Failed(output) => (output, Came::Badly),
                ToolOutcome::ResourceExhausted(what) => {
                    let failure = Failure::new(FailureClass::Resources, what.clone());
                    end = end.or(Some(End::Failed(failure)));
                    (ToolOutput::text(what), Came::Badly)
                }
                ToolOutcome::Yielded(value) => {
                    end = Some(End::Yielded(value));
                    (ToolOutput::text(words::YIELDED), Came::Well)
                }
                ToolOutcome::GaveUp(why) => {
                    end = Some(End::GaveUp(why));
                    (ToolOutput::text(words::YIELDED), Came::Well)
                }
            };
            conversation.answer(call, output, came_of_it).await?;
            poison = poison.or(conversation.repeats.note(call, came_of_it));
        }
        if let Some(failure) = poison {
            end = Some(End::Failed(failure));
        }
    }
    Ok(end)
}

/// Answers every call that has no result: what runs of them is not waited for.
async fn interrupt(conversation: &mut Conversation, means: &Means<'_>) -> Result<(), End> {
    for call in conversation.unanswered() {
        conversation.answer(&call, ToolOutput::text(words::ABORTED), Came::Badly).await?;
        let (tool_call_id, tool_name) = (call.id, call.name);
        let ended = SessionEvent::ToolExecutionEnd { tool_call_id, tool_name, is_error: true };
        means.listener.event(ended);
    }
    Ok(())
}

async fn one<'a>(
    means: &Means<'_>,
    call: &'a ToolCall,
    scope: Scope,
) -> (&'a ToolCall, ToolOutcome) {
    if scope == Scope::YieldOnly && call.name != words::YIELD {
        return (call, ToolOutcome::Failed(ToolOutput::text(words::ONLY_YIELD)));
    }
    means.listener.event(SessionEvent::ToolExecutionStart {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        args: call.arguments.clone(),
    });
    let outcome = means.tools.call(call.clone()).await;
    means.listener.event(SessionEvent::ToolExecutionEnd {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        is_error: matches!(outcome, ToolOutcome::Failed(_) | ToolOutcome::ResourceExhausted(_)),
    });
    (call, outcome)
}

/// Cuts the calls into groups that run one after another; those of one group run side by side.
fn groups<'a>(calls: &'a [ToolCall], accesses: &[Access]) -> Vec<&'a [ToolCall]> {
    let mut groups = Vec::new();
    let mut begin = 0;
    let is_alone = |at: usize| {
        accesses.get(at).is_some_and(|access| access.concurrency == Concurrency::Exclusive)
    };
    for at in 1..calls.len() {
        if is_alone(at - 1) || is_alone(at) {
            groups.push(&calls[begin..at]);
            begin = at;
        }
    }
    groups.push(&calls[begin..]);
    groups
}
