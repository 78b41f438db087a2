//! The tool calls of one answer: they run concurrently where possible, and their results are added
//! in the order of the calls.

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use protocol::{AgentEnd, Failure, FailureClass, SessionEvent, ToolCall};

use super::context::AgentContext;
use super::conversation::Conversation;
use super::limits::CallResult;
use super::prompts;
use crate::ports::{Access, Concurrency, ToolOutcome, ToolOutput};

/// The tool calls that may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AllowedCalls {
    /// All calls.
    All,
    /// Only calls of `yield`.
    YieldOnly,
}

/// Runs `calls` and adds their results to the conversation. Returns the end of the session if one
/// of the calls ended it.
pub(super) async fn run_calls(
    conversation: &mut Conversation,
    context: &AgentContext<'_>,
    calls: &[ToolCall],
    allowed: AllowedCalls,
) -> Result<Option<AgentEnd>, AgentEnd> {
    if calls.is_empty() {
        return Ok(None);
    }
    let Some(accesses) = context.unless_aborted(context.tools.classify(calls)).await else {
        answer_aborted_calls(conversation, context).await?;
        return Err(AgentEnd::Aborted);
    };
    let mut end = None;
    for group in groups(calls, &accesses) {
        if end.is_some() {
            for call in group {
                let output = ToolOutput::text(prompts::AFTER_YIELD);
                conversation.push_result(call, output, CallResult::Failed).await?;
            }
            continue;
        }
        let running = group.iter().map(|call| run_call(context, call, allowed));
        // All calls of the group start here. A result is added as soon as the results of all
        // earlier calls have been added.
        let mut running: FuturesOrdered<_> = running.collect();
        let mut poison = None;
        loop {
            let Some(next) = context.unless_aborted(running.next()).await else {
                drop(running);
                answer_aborted_calls(conversation, context).await?;
                return Err(AgentEnd::Aborted);
            };
            let Some((call, outcome)) = next else { break };
            let (output, result) = match outcome {
                ToolOutcome::Output(output) => (output, CallResult::Ok),
                ToolOutcome::Failed(output) => (output, CallResult::Failed),
                ToolOutcome::ResourceExhausted(what) => {
                    let failure = Failure::new(FailureClass::Resources, what.clone());
                    end = end.or(Some(AgentEnd::Failed(failure)));
                    (ToolOutput::text(what), CallResult::Failed)
                }
                ToolOutcome::Yielded(value) => {
                    end = Some(AgentEnd::Yielded(value));
                    (ToolOutput::text(prompts::YIELDED), CallResult::Ok)
                }
                ToolOutcome::GaveUp(why) => {
                    end = Some(AgentEnd::GaveUp(why));
                    (ToolOutput::text(prompts::YIELDED), CallResult::Ok)
                }
            };
            conversation.push_result(call, output, result).await?;
            poison = poison.or(conversation.loop_detector.record(call, result));
        }
        if let Some(failure) = poison {
            end = Some(AgentEnd::Failed(failure));
        }
    }
    Ok(end)
}

/// Adds a result for every call that has none. Does not wait for calls that still run.
async fn answer_aborted_calls(
    conversation: &mut Conversation,
    context: &AgentContext<'_>,
) -> Result<(), AgentEnd> {
    for call in conversation.unanswered_calls() {
        conversation
            .push_result(&call, ToolOutput::text(prompts::ABORTED), CallResult::Failed)
            .await?;
        let (tool_call_id, tool_name) = (call.id, call.name);
        let ended = SessionEvent::ToolExecutionEnd { tool_call_id, tool_name, is_error: true };
        context.listener.event(ended);
    }
    Ok(())
}

async fn run_call<'a>(
    context: &AgentContext<'_>,
    call: &'a ToolCall,
    allowed: AllowedCalls,
) -> (&'a ToolCall, ToolOutcome) {
    if allowed == AllowedCalls::YieldOnly && !call.name.eq_ignore_ascii_case(prompts::YIELD) {
        return (call, ToolOutcome::Failed(ToolOutput::text(prompts::ONLY_YIELD)));
    }
    context.listener.event(SessionEvent::ToolExecutionStart {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        args: call.arguments.clone(),
    });
    let outcome = context.tools.call(call.clone()).await;
    context.listener.event(SessionEvent::ToolExecutionEnd {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        is_error: matches!(outcome, ToolOutcome::Failed(_) | ToolOutcome::ResourceExhausted(_)),
    });
    (call, outcome)
}

/// Splits the calls into groups. The groups run one after another, the calls of one group
/// concurrently.
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
