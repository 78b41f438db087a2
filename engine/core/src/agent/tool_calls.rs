//! The tool calls of one answer: they run concurrently where possible, and their results are added
//! in the order of the calls.

use std::ops::Range;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use protocol::{
    AgentEnd, Content, Failure, FailureClass, SessionEvent, ToolCall, ToolExecutionResult,
};

use super::call_groups::groups;
use super::context::{AgentContext, announce};
use super::conversation::Conversation;
use super::findings::with_findings;
use super::limits::CallResult;
use super::prompts;
use crate::ports::{ToolOutcome, ToolOutput};

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
    conversation.loop_detector.begin_answer();
    let first = conversation.messages.len();
    let states = calls.iter().map(|_| CallState::Waiting).collect();
    let mut batch = Batch { conversation, context, calls, states, pushed: 0, end: None };
    let ran = batch.run(allowed).await;
    // If a result could not be written, the calls that still run are given up with the session.
    batch.give_up();
    let end = batch.end.take();
    for result in &conversation.messages[first..] {
        announce(context.listener, result);
    }
    ran.map(|()| end)
}

/// The calls of one answer while they run.
struct Batch<'a, 'c> {
    conversation: &'a mut Conversation,
    context: &'a AgentContext<'c>,
    calls: &'a [ToolCall],
    states: Vec<CallState>,
    /// How many results are in the conversation.
    pushed: usize,
    end: Option<AgentEnd>,
}

enum CallState {
    Waiting,
    Started,
    Ended(ToolOutcome),
    /// The call was not run, or was stopped.
    Skipped(SkipReason),
    /// The result is in the conversation.
    Answered,
}

/// Why calls after a group do not run.
type SkipReason = &'static str;

impl Batch<'_, '_> {
    async fn run(&mut self, allowed: AllowedCalls) -> Result<(), AgentEnd> {
        let classify = self.context.tools.classify(self.calls);
        let Some(accesses) = self.context.unless_aborted(classify).await else {
            return self.abort().await;
        };
        let mut skip: Option<SkipReason> = None;
        for group in groups(&accesses, self.calls.len()) {
            match skip {
                Some(reason) => {
                    self.skip(group, reason);
                    self.push_ended().await?;
                }
                None => skip = self.run_group(group, allowed).await?,
            }
            if self.end.is_some() {
                skip = Some(prompts::AFTER_YIELD);
            }
        }
        Ok(())
    }

    /// Runs the calls of a group. Returns why later calls are skipped if a user interrupts.
    async fn run_group(
        &mut self,
        group: Range<usize>,
        allowed: AllowedCalls,
    ) -> Result<Option<SkipReason>, AgentEnd> {
        group.clone().for_each(|index| self.start(index));
        let mut running: FuturesUnordered<_> = group
            .clone()
            .map(|index| run_call(self.context, index, &self.calls[index], allowed))
            .collect();
        loop {
            let Some(next) = self.context.unless_aborted(running.next()).await else {
                drop(running);
                return self.abort().await.map(|()| None);
            };
            let Some((index, outcome)) = next else { return Ok(None) };
            self.announce_end(index, &outcome);
            self.states[index] = CallState::Ended(outcome);
            self.push_ended().await?;
            let are_left = self.states.iter().any(CallState::is_unfinished);
            if are_left && self.end.is_none() && self.context.inputs.interrupts().await {
                drop(running);
                if self.context.unless_aborted(self.context.tools.interrupt()).await.is_none() {
                    return self.abort().await.map(|()| None);
                }
                self.skip(group, prompts::SKIPPED);
                self.push_ended().await?;
                return Ok(Some(prompts::SKIPPED));
            }
        }
    }

    /// Gives an error result to every call that has none. Does not wait for calls that still run.
    async fn abort(&mut self) -> Result<(), AgentEnd> {
        self.give_up();
        self.push_ended().await?;
        Err(AgentEnd::Aborted)
    }

    /// Ends the calls that have not ended with an error result. What has not begun, or was not allowed yet,
    /// never runs.
    fn give_up(&mut self) {
        let unbegun = self.context.tools.withdraw_unbegun();
        for index in 0..self.calls.len() {
            match self.states[index] {
                CallState::Waiting => self.skip(index..index + 1, prompts::NOT_RUN),
                CallState::Started if unbegun.contains(&self.calls[index].id) => {
                    let refused = ToolOutcome::Refused(ToolOutput::text(prompts::NOT_RUN));
                    self.announce_end(index, &refused);
                    self.states[index] = CallState::Ended(refused);
                }
                CallState::Started => self.skip(index..index + 1, prompts::ABORTED),
                CallState::Ended(_) | CallState::Skipped(_) | CallState::Answered => {}
            }
        }
    }

    /// Ends the calls of `range` that have not ended with an error result.
    fn skip(&mut self, range: Range<usize>, reason: SkipReason) {
        for index in range {
            if matches!(self.states[index], CallState::Waiting) {
                self.start(index);
            }
            if matches!(self.states[index], CallState::Started) {
                self.announce_end(index, &ToolOutcome::Failed(ToolOutput::text(reason)));
                self.states[index] = CallState::Skipped(reason);
            }
        }
    }

    fn start(&mut self, index: usize) {
        let call = &self.calls[index];
        self.states[index] = CallState::Started;
        self.context.listener.event(SessionEvent::ToolExecutionStart {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: call.arguments.clone(),
        });
    }

    fn announce_end(&self, index: usize, outcome: &ToolOutcome) {
        let (call, (output, result)) = (&self.calls[index], output(outcome));
        let ToolOutput { content, details } = output;
        if matches!(outcome, ToolOutcome::Refused(_)) {
            self.context.listener.event(SessionEvent::ToolCallRefused {
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                reason: content.iter().map(Content::as_text).collect(),
            });
        }
        self.context.listener.event(SessionEvent::ToolExecutionEnd {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            result: Some(ToolExecutionResult { content, details }),
            is_error: result == CallResult::Failed,
        });
    }

    /// Adds the results of calls that have ended, up to the first call that has not.
    async fn push_ended(&mut self) -> Result<(), AgentEnd> {
        while let Some(state) = self.states.get_mut(self.pushed)
            && !state.is_unfinished()
        {
            let (call, state) =
                (&self.calls[self.pushed], std::mem::replace(state, CallState::Answered));
            self.pushed += 1;
            let outcome = match state {
                CallState::Ended(outcome) => outcome,
                CallState::Skipped(reason) => {
                    let output = ToolOutput::text(reason);
                    self.conversation.push_result(call, output, CallResult::Failed).await?;
                    continue;
                }
                CallState::Waiting | CallState::Started | CallState::Answered => continue,
            };
            let (output, result) = output(&outcome);
            self.conversation.push_result(call, output, result).await?;
            let poison = self.conversation.loop_detector.record(call, result);
            match outcome {
                ToolOutcome::Output(_) | ToolOutcome::Failed(_) | ToolOutcome::Refused(_) => {}
                ToolOutcome::ResourceExhausted(what) => {
                    let failure = Failure::new(FailureClass::Resources, what);
                    self.end.get_or_insert(AgentEnd::Failed(failure));
                }
                ToolOutcome::Yielded(value) => {
                    let Conversation { findings, schema, .. } = &*self.conversation;
                    let value = with_findings(value, findings, schema.as_ref());
                    self.end = Some(AgentEnd::Yielded(value));
                }
                ToolOutcome::GaveUp(why) => self.end = Some(AgentEnd::GaveUp(why)),
            }
            if let Some(failure) = poison {
                self.end = Some(AgentEnd::Failed(failure));
            }
        }
        Ok(())
    }
}

impl CallState {
    fn is_unfinished(&self) -> bool {
        match self {
            Self::Waiting | Self::Started => true,
            Self::Ended(_) | Self::Skipped(_) | Self::Answered => false,
        }
    }
}

/// Returns what the model reads of an outcome.
fn output(outcome: &ToolOutcome) -> (ToolOutput, CallResult) {
    match outcome {
        ToolOutcome::Output(output) => (output.clone(), CallResult::Ok),
        ToolOutcome::Failed(output) | ToolOutcome::Refused(output) => {
            (output.clone(), CallResult::Failed)
        }
        ToolOutcome::ResourceExhausted(what) => (ToolOutput::text(what), CallResult::Failed),
        ToolOutcome::Yielded(_) | ToolOutcome::GaveUp(_) => {
            (ToolOutput::text(prompts::YIELDED), CallResult::Ok)
        }
    }
}

async fn run_call(
    context: &AgentContext<'_>,
    index: usize,
    call: &ToolCall,
    allowed: AllowedCalls,
) -> (usize, ToolOutcome) {
    if allowed == AllowedCalls::YieldOnly && !call.name.eq_ignore_ascii_case(prompts::YIELD) {
        return (index, ToolOutcome::Failed(ToolOutput::text(prompts::ONLY_YIELD)));
    }
    if let Some(text) = context.refusal(call) {
        return (index, ToolOutcome::Failed(ToolOutput::text(text)));
    }
    (index, context.tools.call(call.clone()).await)
}
