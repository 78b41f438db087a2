//! Compaction of a conversation: before a request if it becomes too long, after a request that did
//! not fit, and when the user asks for it.

use std::sync::Arc;

use protocol::{
    CompactionReason, CompactionResult, Failure, FailureClass, Message, SessionEvent, Usage,
};

use super::context::AgentContext;
use super::conversation::Conversation;
use crate::compaction::{Oversized, Preparation, Trigger, prepare};
use crate::ports::{CacheRetention, ModelRequest, RequestOptions, SessionLogError, ToolChoice};
use crate::request::{estimated_tokens, message_tokens};

/// What one run of the loop has tried already.
#[derive(Default)]
pub(super) struct Compactions {
    /// Whether a request that did not fit was followed by a compaction.
    recovered: bool,
    /// Whether a compaction failed that was begun because of the threshold.
    failed: bool,
}

/// The end of a compaction.
pub(super) enum CompactionEnd {
    /// The conversation was compacted.
    Done(CompactionResult),
    /// All messages are kept: they are few, or cannot be cut.
    NothingToDo,
    /// There is no summary. The conversation is as it was.
    Failed(Failure),
    /// It was aborted. The conversation is as it was.
    Aborted,
}

/// Compacts the conversation as its user asks for it.
///
/// # Errors
/// There is no summary, or nothing can be summed up. The conversation is as it was.
pub async fn compact(
    conversation: &mut Conversation,
    context: &AgentContext<'_>,
    instructions: Option<&str>,
) -> Result<CompactionResult, Failure> {
    match run(conversation, context, CompactionReason::Manual, instructions).await {
        Ok(CompactionEnd::Done(result)) => Ok(result),
        Ok(CompactionEnd::NothingToDo) => {
            let kept = context.compaction.keep_recent;
            let what = format!(
                "there is nothing to sum up: the newest {kept} tokens are kept as they are"
            );
            Err(Failure::new(FailureClass::Invalid, what))
        }
        Ok(CompactionEnd::Failed(failure)) => Err(failure),
        Ok(CompactionEnd::Aborted) => {
            Err(Failure::new(FailureClass::Invalid, "the compaction was aborted"))
        }
        Err(error) => Err(error.to_failure()),
    }
}

impl Compactions {
    /// Makes room before a request, if the conversation has more tokens than it should.
    pub(super) async fn before_request(
        &mut self,
        conversation: &mut Conversation,
        context: &AgentContext<'_>,
    ) -> Result<CompactionEnd, SessionLogError> {
        let window = window(conversation, context);
        let is_due = |conversation: &Conversation| {
            context.compaction.is_due(conversation.tokens(|| fixed(conversation, context)), window)
        };
        if self.failed || !is_due(conversation) {
            return Ok(CompactionEnd::NothingToDo);
        }
        conversation.prune();
        if !is_due(conversation) {
            return Ok(CompactionEnd::NothingToDo);
        }
        let end = run(conversation, context, CompactionReason::Threshold, None).await?;
        // What cannot be summed up now will not be with the next request, either.
        self.failed = !matches!(end, CompactionEnd::Done(_));
        Ok(end)
    }

    /// Makes room after a request that did not fit, once.
    pub(super) async fn after_overflow(
        &mut self,
        conversation: &mut Conversation,
        context: &AgentContext<'_>,
    ) -> Result<CompactionEnd, SessionLogError> {
        let is_on = context.compaction.trigger == Trigger::Automatic;
        if std::mem::replace(&mut self.recovered, true) || !is_on {
            return Ok(CompactionEnd::NothingToDo);
        }
        let said = conversation.messages.iter().map(|message| message_tokens(message));
        if said.fold(0, u64::saturating_add) < SHORTEST {
            return Ok(CompactionEnd::NothingToDo);
        }
        // The number is an estimate: something below it may be too long, too.
        conversation.too_long = Some(conversation.tokens(|| fixed(conversation, context)) / 10 * 9);
        run(conversation, context, CompactionReason::Overflow, None).await
    }
}

/// The shortest conversation that is compacted because a request did not fit, in tokens. A summary of
/// a shorter one would hardly be shorter, and could lose what the task is.
const SHORTEST: u64 = 512;

/// How often a summary is asked for at most, if what is to be summed up does not fit either.
const ATTEMPTS: u32 = 3;

/// Returns about how many tokens a request has beside the messages.
fn fixed(conversation: &Conversation, context: &AgentContext<'_>) -> u64 {
    let tools = context.declarations();
    let sizes = tools.iter().map(|tool| {
        let schema = serde_json::to_vec(&tool.parameters).map_or(0, |schema| schema.len());
        tool.name.len() + tool.description.len() + schema
    });
    estimated_tokens(sizes.sum::<usize>() + conversation.system.len())
}

/// Returns how many tokens a request may have, as far as that is known: what did not fit once will not
/// fit again.
fn window(conversation: &Conversation, context: &AgentContext<'_>) -> Option<u64> {
    let known = context.model.client.routes.current().context_window();
    known.into_iter().chain(conversation.too_long).min()
}

/// Compacts the conversation.
async fn run(
    conversation: &mut Conversation,
    context: &AgentContext<'_>,
    reason: CompactionReason,
    instructions: Option<&str>,
) -> Result<CompactionEnd, SessionLogError> {
    let fixed = fixed(conversation, context);
    let (tokens, window) = (conversation.tokens(|| fixed), window(conversation, context));
    let room = match reason {
        CompactionReason::Overflow => context.compaction.room_after_overflow(tokens, fixed, window),
        CompactionReason::Manual | CompactionReason::Threshold => {
            let unknown = tokens.max(context.compaction.keep_recent.saturating_mul(4));
            context.compaction.threshold(window).unwrap_or(unknown)
        }
    };
    let mut usage = Usage::ZERO;
    let mut input = room;
    let mut end = CompactionEnd::NothingToDo;
    for attempt in 0..ATTEMPTS {
        let Some(mut prepared) = prepare(&Oversized {
            room: room.saturating_sub(fixed),
            keep_recent: context.compaction.keep_recent,
            input,
            instructions,
            ..conversation.oversized()
        }) else {
            return Ok(CompactionEnd::NothingToDo);
        };
        if attempt == 0 {
            context.listener.event(SessionEvent::CompactionStart { reason });
        }
        let prompts = std::mem::take(&mut prepared.prompts);
        let requests = prompts.into_iter().map(|prompt| request(conversation, prompt)).collect();
        end = match sum_up(requests, context, &mut usage).await {
            None => CompactionEnd::Aborted,
            Some(Err(failure)) if failure.class == FailureClass::Overflow => {
                // The window is smaller than it is known to be.
                input /= 2;
                end = CompactionEnd::Failed(failure);
                continue;
            }
            Some(Err(failure)) => CompactionEnd::Failed(failure),
            Some(Ok(answers)) => {
                let stored = conversation.compact(prepared, answers, tokens, usage).await;
                CompactionEnd::Done(stored.inspect_err(|error| {
                    announce_end(context, reason, &CompactionEnd::Failed(error.to_failure()));
                })?)
            }
        };
        break;
    }
    conversation.usage.used = conversation.usage.used + usage;
    announce_end(context, reason, &end);
    Ok(end)
}

fn announce_end(context: &AgentContext<'_>, reason: CompactionReason, end: &CompactionEnd) {
    let (result, aborted, error_message) = match end {
        CompactionEnd::Done(result) => (Some(result.clone()), false, None),
        CompactionEnd::Failed(failure) => (None, false, Some(failure.message.clone())),
        CompactionEnd::Aborted => (None, true, None),
        CompactionEnd::NothingToDo => (None, false, None),
    };
    let will_retry = reason == CompactionReason::Overflow && result.is_some();
    context.listener.event(SessionEvent::CompactionEnd {
        reason,
        result,
        aborted,
        will_retry,
        error_message,
    });
}

/// Returns the request for one part of the summary.
pub(super) fn request(conversation: &Conversation, prompt: String) -> ModelRequest {
    ModelRequest {
        session: conversation.session,
        system: Preparation::SYSTEM.into(),
        messages: vec![Arc::new(Message::user(prompt, conversation.clock.now()))],
        tools: Arc::from([]),
        choice: ToolChoice::Free,
        options: RequestOptions { cache: CacheRetention::None, ..RequestOptions::default() },
    }
}

/// Asks the model for the parts of the summary. Returns `None` if the work is aborted.
pub(super) async fn sum_up(
    requests: Vec<ModelRequest>,
    context: &AgentContext<'_>,
    usage: &mut Usage,
) -> Option<Result<Vec<String>, Failure>> {
    let mut answers = Vec::new();
    for request in requests {
        let asked = context.model.client.ask(&request, &|_progress| {});
        match context.unless_aborted(asked).await? {
            Ok(answer) => {
                *usage = *usage + answer.usage;
                let text = answer.text();
                if text.trim().is_empty() {
                    let what = "the model wrote no summary of the conversation";
                    return Some(Err(Failure::new(FailureClass::Invalid, what)));
                }
                answers.push(text);
            }
            Err(failed) => {
                *usage = *usage + failed.partial.usage;
                return Some(Err(failed.failure));
            }
        }
    }
    Some(Ok(answers))
}
