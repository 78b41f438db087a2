//! What the events of a session change.

use std::time::Duration;

use protocol::{
    AgentEnd, AssistantMessage, CompactionReason, InputId, Message, MessageRole,
    Part as MessagePart, QueueKind, SessionEvent, StopReason, TODO_TOOL, Todo, ToolCall, Usage,
};

use super::{Effect, QueuedInput, RunningCall, Stopping, ViewState, Wait, Work};
use crate::render::{count, duration, empty_answer, usage_text};
use crate::view::calls::EndedCall;
use crate::view::earlier::compacted;
use crate::view::entry::{Entry, NoteKind};

impl ViewState {
    /// Applies an event of the session.
    pub(in crate::view) fn event(&mut self, event: &SessionEvent, now: Duration) -> Vec<Effect> {
        match event {
            SessionEvent::AgentStart => {
                self.work = Some(Work { since: now, calls: 0, usage: Usage::ZERO });
            }
            SessionEvent::InputTaken { input_id } => {
                if let Some(taken) = self.unqueue(*input_id) {
                    self.finish_answer();
                    self.finished.push(Entry::Prompt(taken.text));
                    let files = taken.files.into_iter();
                    self.finished.extend(files.map(|text| Entry::Note(NoteKind::Info, text)));
                }
            }
            SessionEvent::InputDropped { input_id } => self.dropped(*input_id),
            SessionEvent::MessageStart { role: MessageRole::Assistant, .. } => {
                self.finish_answer();
                self.status.wait = None;
            }
            SessionEvent::TextStart { .. } => self.push_complete_answer(),
            SessionEvent::TextDelta { content_index, delta } => {
                self.end_thought();
                self.blocks.entry(*content_index).or_default().push_str(delta);
                self.answer.push(delta);
                let parts = self.answer.take_complete(&self.syntaxes);
                self.finished.extend(parts.into_iter().map(|(part, gap)| Entry::Answer(part, gap)));
            }
            SessionEvent::TextEnd { .. } => self.push_complete_answer(),
            SessionEvent::ThinkingStart { .. } => self.thoughts.now = Some(String::new()),
            SessionEvent::ThinkingDelta { delta, .. } => {
                self.thoughts.now.get_or_insert_default().push_str(delta);
            }
            SessionEvent::ThinkingEnd { .. } => self.end_thought(),
            SessionEvent::MessageEnd { message: Message::Assistant(answer) } => {
                self.answered(answer)
            }
            SessionEvent::ToolExecutionStart { tool_call_id, tool_name, args } => {
                let call = ToolCall::new(tool_call_id, tool_name, args.clone());
                self.work.iter_mut().for_each(|work| work.calls += 1);
                self.calls.push(RunningCall { call, latest: None });
            }
            SessionEvent::QuestionAsked { question } => self.asked(question),
            SessionEvent::QuestionClosed { question_id, .. } => self.question_closed(*question_id),
            SessionEvent::ToolExecutionUpdate { tool_call_id, line } => {
                let calls = self.calls.iter_mut().filter(|it| it.call.id == *tool_call_id);
                calls.for_each(|call| call.latest = Some(line.clone()));
            }
            SessionEvent::ToolExecutionEnd { tool_call_id, tool_name, result, is_error } => {
                let at = self.calls.iter().position(|it| it.call.id == *tool_call_id);
                let details = result.as_ref().and_then(|result| result.details.as_ref());
                let list = details.filter(|_| tool_name == TODO_TOOL && !is_error);
                if let Some(todos) = list.and_then(Todo::list_of) {
                    self.todos = todos;
                }
                if let Some(at) = at {
                    let call = self.calls.remove(at).call;
                    let (result, is_error) = (result.clone(), *is_error);
                    let ended = Box::new(EndedCall { call, result, is_error });
                    self.finished.push(Entry::Call(ended));
                }
            }
            SessionEvent::AgentEnd { end } => return self.ended(end, now),
            other => self.about_the_request(other, now),
        }
        Vec::new()
    }

    /// Applies an event that says how a request gets on.
    fn about_the_request(&mut self, event: &SessionEvent, now: Duration) {
        match event {
            SessionEvent::RequestWait { reason, .. } => {
                self.status.wait = Some(Wait { what: reason.clone(), until: None });
            }
            SessionEvent::AutoRetryStart {
                attempt, delay_ms, error_message, waits_for, ..
            } => {
                let (delay, asked) =
                    (duration(*delay_ms), if *attempt > 0 { "asked again" } else { "asked" });
                self.note(NoteKind::Warning, format!("{error_message}; {asked} in {delay}"));
                let what = waits_for.as_ref().map_or("the next attempt", |it| &it.account);
                self.status.wait = Some(Wait::on(what));
                self.waits_until(now + Duration::from_millis(*delay_ms));
            }
            SessionEvent::AutoRetryEnd { .. } => self.status.wait = None,
            SessionEvent::RetryFallbackApplied { from, to, error_message } => {
                let text = format!("{to} is asked in place of {from}: {error_message}");
                self.note(NoteKind::Warning, text);
                self.status.model.clone_from(to);
            }
            SessionEvent::ModelChange { model } => self.status.model.clone_from(model),
            SessionEvent::ThinkingLevelChange { thinking_level } => {
                self.status.thinking = Some(*thinking_level);
            }
            SessionEvent::CompactionStart { .. } => {
                self.is_compacting = true;
                self.status.wait = Some(Wait::on("the summary of the conversation"));
            }
            SessionEvent::CompactionEnd { reason, result, error_message, aborted, .. } => {
                (self.is_compacting, self.status.wait) = (false, None);
                if self.work.is_none() {
                    self.stopping = None;
                }
                match (result, error_message) {
                    // The answer to the command says why.
                    (None, Some(_)) if *reason == CompactionReason::Manual => {}
                    (Some(result), _) => {
                        self.status.context = 0;
                        self.note(NoteKind::Info, compacted(result.tokens_before));
                    }
                    (None, Some(why)) => {
                        self.note(NoteKind::Error, format!("cannot compact: {why}"));
                    }
                    (None, None) if *aborted => {
                        self.note(NoteKind::Info, "the compaction was stopped");
                    }
                    (None, None) => {}
                }
            }
            SessionEvent::Notice { message } => self.note(NoteKind::Warning, message.clone()),
            SessionEvent::ToolUnavailable { tool_name, error_message } => {
                let text = format!("the tool {tool_name} is not there: {error_message}");
                self.note(NoteKind::Warning, text);
            }
            SessionEvent::SessionRestart { error_message } => {
                self.finish_answer();
                self.calls.clear();
                let text = format!("the session crashed and was restarted: {error_message}");
                self.note(NoteKind::Error, text);
            }
            _other => {}
        }
    }

    /// The end of the wait under way is known.
    pub(in crate::view) fn waits_until(&mut self, end: Duration) {
        self.status.wait.iter_mut().for_each(|wait| wait.until = Some(end));
    }

    /// Removes an input from the queue.
    fn unqueue(&mut self, id: InputId) -> Option<QueuedInput> {
        let at = self.queue.iter().position(|queued| queued.id == id)?;
        Some(self.queue.remove(at))
    }

    /// An input was dropped: it is sent again when the work has stopped, or goes back to the editor.
    fn dropped(&mut self, id: InputId) {
        let Some(QueuedInput { kind, text, .. }) = self.unqueue(id) else { return };
        match self.stopping {
            Some(Stopping::Send) if kind != QueueKind::Prompt => self.resend.push(text),
            Some(_) => self.given_back.push(text),
            None => {
                self.given_back.push(text);
                self.give_back();
            }
        }
        // Inputs that are dropped before any work has begun are followed by no end of work.
        if self.work.is_none() && self.queue.is_empty() {
            self.stopping = None;
            self.give_back();
        }
    }

    /// Puts the inputs that were given back before what is typed.
    pub(super) fn give_back(&mut self) {
        let mut texts = std::mem::take(&mut self.given_back);
        if texts.is_empty() {
            return;
        }
        texts.push(self.editor.text());
        texts.retain(|text| !text.is_empty());
        self.editor.set(&texts.join("\n"));
    }

    /// Prints what has come of the answer. Nothing more belongs to its last block.
    fn push_complete_answer(&mut self) {
        let parts = self.answer.finish(&self.syntaxes);
        self.finished.extend(parts.into_iter().map(|(part, gap)| Entry::Answer(part, gap)));
    }

    pub(super) fn finish_answer(&mut self) {
        self.push_complete_answer();
        self.blocks.clear();
        self.end_thought();
    }

    /// An answer is complete: prints what of it has not arrived in parts.
    fn answered(&mut self, answer: &AssistantMessage) {
        for (index, part) in answer.content.iter().enumerate() {
            let MessagePart::Text { text, .. } = part else { continue };
            let arrived = self.blocks.remove(&index).unwrap_or_default();
            match text.strip_prefix(&arrived) {
                Some("") => {}
                Some(rest) => self.answer.push(rest),
                None => {
                    self.push_complete_answer();
                    self.note(NoteKind::Warning, "parts of the answer were missing; it is:");
                    self.answer.push(text);
                }
            }
            self.push_complete_answer();
        }
        self.finish_answer();
        self.status.usage = self.status.usage + answer.usage;
        if answer.stop_reason != StopReason::Error && answer.usage.tokens() > 0 {
            self.status.context = answer.usage.tokens();
        }
        match (answer.stop_reason, empty_answer(answer)) {
            (StopReason::Stop | StopReason::Length, Some(why))
                if answer.calls().next().is_none() =>
            {
                self.note(NoteKind::Warning, format!("the answer is empty: {why}"));
            }
            (StopReason::Length, _) => {
                self.note(NoteKind::Warning, "the answer was cut off, because it was too long");
            }
            _other => {}
        }
        if let Some(work) = &mut self.work {
            work.usage = work.usage + answer.usage;
        }
    }

    fn ended(&mut self, end: &AgentEnd, now: Duration) -> Vec<Effect> {
        self.finish_answer();
        let interrupted = std::mem::take(&mut self.calls).into_iter().map(|running| {
            let ended = EndedCall { call: running.call, result: None, is_error: true };
            Entry::Call(Box::new(ended))
        });
        self.finished.extend(interrupted);
        self.status.wait = None;
        match end {
            AgentEnd::Failed(failure) => self.note(NoteKind::Error, failure.message.clone()),
            AgentEnd::Aborted => self.note(NoteKind::Info, "stopped"),
            AgentEnd::Yielded(_) | AgentEnd::GaveUp(_) | AgentEnd::Silent(_) => {}
        }
        if let Some(work) = self.work.take() {
            let took = duration(millis(now.saturating_sub(work.since)));
            let calls = match work.calls {
                0 => String::new(),
                calls => format!("{} · ", count(calls, "call")),
            };
            let text = format!("{took} · {calls}{}", usage_text(work.usage));
            self.finished.push(Entry::TurnEnd(text));
        }
        self.stopping = None;
        self.give_back();
        let mut effects = Vec::new();
        for text in std::mem::take(&mut self.resend) {
            let kind = if effects.is_empty() { QueueKind::Prompt } else { QueueKind::Steering };
            let input = protocol::UserInput::new(InputId::generate(), text);
            effects.extend(self.send_as(kind, input));
        }
        effects
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
