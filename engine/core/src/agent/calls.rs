//! The calls of one answer: carried out side by side, answered in their own order.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use protocol::{Failure, FailureClass, SessionEvent, ToolCall};

use super::conversation::Conversation;
use super::repeats::Came;
use super::run::{End, Means};
use super::words;
use crate::ports::{ToolAnswer, ToolConcurrency, ToolDeclaration, ToolText};

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
    let declared = means.hands.declarations();
    let mut end = None;
    for group in groups(calls, &declared) {
        if end.is_some() {
            for call in group {
                conversation.answer(call, words::AFTER_YIELD, None, Came::Badly).await?;
            }
            continue;
        }
        let running = group.iter().map(|call| one(means, call, scope));
        // All of them run from here on; each is told as soon as all before it are.
        let mut running: FuturesOrdered<_> = running.collect();
        let mut poison = None;
        while let Some((call, answer)) = running.next().await {
            let (text, came_of_it) = match answer {
                ToolAnswer::Said(text) => (text, Came::Well),
                ToolAnswer::Failed(text) => (text, Came::Badly),
                ToolAnswer::Exhausted(what) => {
                    let failure = Failure::new(FailureClass::Resources, what.clone());
                    end = end.or(Some(End::Failed(failure)));
                    (ToolText::plain(what), Came::Badly)
                }
                ToolAnswer::Yielded(value) => {
                    end = Some(End::Yielded(value));
                    (ToolText::plain(words::YIELDED), Came::Well)
                }
                ToolAnswer::GaveUp(why) => {
                    end = Some(End::GaveUp(why));
                    (ToolText::plain(words::YIELDED), Came::Well)
                }
            };
            conversation.answer(call, &text.text, text.details, came_of_it).await?;
            poison = poison.or(conversation.repeats.note(call, came_of_it));
        }
        if let Some(failure) = poison {
            end = Some(End::Failed(failure));
        }
    }
    Ok(end)
}

async fn one<'a>(
    means: &Means<'_>,
    call: &'a ToolCall,
    scope: Scope,
) -> (&'a ToolCall, ToolAnswer) {
    if scope == Scope::YieldOnly && call.name != words::YIELD {
        return (call, ToolAnswer::Failed(ToolText::plain(words::ONLY_YIELD)));
    }
    means.listener.event(SessionEvent::ToolExecutionStart {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        args: call.arguments.clone(),
    });
    let answer = means.hands.call(call.clone()).await;
    means.listener.event(SessionEvent::ToolExecutionEnd {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        is_error: matches!(answer, ToolAnswer::Failed(_) | ToolAnswer::Exhausted(_)),
    });
    (call, answer)
}

/// Cuts the calls into groups that run one after another; those of one group run side by side.
fn groups<'a>(calls: &'a [ToolCall], declared: &Arc<[ToolDeclaration]>) -> Vec<&'a [ToolCall]> {
    let alone = |call: &ToolCall| {
        let tool = declared.iter().find(|tool| tool.name == call.name);
        tool.is_some_and(|tool| tool.concurrency == ToolConcurrency::Exclusive)
    };
    calls.chunk_by(|one, next| !alone(one) && !alone(next)).collect()
}
