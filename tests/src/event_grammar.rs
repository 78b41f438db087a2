//! The grammar of the events of a session: what must hold in every stream of them.
//!
//! Work begins and ends once, turns are nested in it, messages in turns, blocks in answers. The pieces
//! of a block are its content. Each call starts once, in the order of the answer, ends once, and has
//! one result, in the order of the answer. Each input that was queued is taken or dropped once. Each
//! retry follows the one before it, and their end says how often it was tried. A model that answers in
//! place of another one is announced before it is asked, and again when it has answered.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{
    AgentEnd, AssistantMessage, FailureClass, InputId, Message, MessageRole, Part, QueueKind,
    SessionEvent, StopReason,
};

mod answer;
mod calls;

use answer::OpenAnswer;
use calls::Calls;

/// Checks that `events` are the whole stream of a session that has become idle.
///
/// # Errors
/// Which event breaks which rule.
pub fn check(events: &[SessionEvent]) -> Result<(), String> {
    let mut grammar = Grammar { answered: Some(0), ..Grammar::default() };
    for (at, event) in events.iter().enumerate() {
        grammar.event(event).map_err(|rule| format!("event {at}: {rule}"))?;
    }
    grammar.end()
}

/// A stream of events so far.
#[derive(Debug, Default)]
pub struct Grammar {
    /// Whether the session may have been opened before, so that its log is not empty.
    is_later: bool,
    work: Work,
    turn: Option<Turn>,
    /// How many turns have an answer. The first turn tells it of a session that was opened before.
    answered: Option<u32>,
    /// A message that has started, and is none of a model.
    whole: Option<MessageRole>,
    answer: Option<OpenAnswer>,
    retry: Retry,
    /// What is asked in place of a model that cannot be had.
    fallback: Option<String>,
    queue: BTreeMap<InputId, (QueueKind, String)>,
    /// The text of an input that was taken, whose message has to follow.
    taken: Option<String>,
    /// The inputs that were taken. One that comes again is taken, and not said again.
    said: BTreeSet<InputId>,
    compacting: bool,
    last: Last,
}

/// How the last work ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    /// It came to its end.
    #[default]
    Done,
    /// It did not, and can go on without an input.
    Failed,
    /// The session was restarted in it: it goes on, or is aborted before.
    Restarted,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Work {
    #[default]
    Idle,
    Begun,
}

#[derive(Debug, Default)]
struct Turn {
    number: u32,
    answered: bool,
    calls: Calls,
}

#[derive(Debug, Default)]
struct Retry {
    /// The last retry and its delay; 0 for none.
    last: (u32, u64),
    /// Whether the answer that ends the retries has ended.
    answer: Option<StopReason>,
}

/// Fails with the rule unless it holds.
#[expect(clippy::fn_params_excessive_bools, reason = "whether a rule holds is a truth value")]
fn rule(holds: bool, rule: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(rule.to_owned()) }
}

impl Grammar {
    /// Returns the grammar of a session that may have been opened before.
    #[must_use]
    pub fn later() -> Self {
        Self { is_later: true, ..Self::default() }
    }

    /// Checks the next event of the stream.
    ///
    /// # Errors
    /// Which rule it breaks.
    pub fn event(&mut self, event: &SessionEvent) -> Result<(), String> {
        self.step(event).map_err(|rule| format!("{rule}: {event:?}"))
    }

    #[expect(clippy::too_many_lines, reason = "it has one arm for each event")]
    fn step(&mut self, event: &SessionEvent) -> Result<(), String> {
        self.expect_nothing_between(event)?;
        match event {
            SessionEvent::AgentStart => {
                rule(self.work == Work::Idle, "work begins when the session is idle")?;
                let is_input = !self.queue.is_empty() || self.last != Last::Done;
                rule(is_input, "work begins for an input that waits, or goes on")?;
                (self.work, self.last) = (Work::Begun, Last::Done);
            }
            // A session that is not restarted any more ends wherever it was.
            SessionEvent::AgentEnd { end: AgentEnd::Failed(failure) }
                if failure.class == FailureClass::Crashed =>
            {
                let is_at_work = self.work == Work::Begun || self.last == Last::Restarted;
                rule(is_at_work, "only work crashes")?;
                let queue = std::mem::take(&mut self.queue);
                let (answered, is_later) = (self.answered, self.is_later);
                *self = Self { queue, answered, is_later, ..Self::default() };
            }
            SessionEvent::AgentEnd { end } => {
                self.end_work()?;
                if matches!(end, AgentEnd::Failed(_)) {
                    self.last = Last::Failed;
                }
            }
            SessionEvent::TurnStart { turn } => {
                rule(self.work == Work::Begun, "a turn is a part of work")?;
                rule(self.turn.is_none(), "turns do not overlap")?;
                let answered = *self.answered.get_or_insert(turn.saturating_sub(1));
                rule(*turn == answered + 1, "turns are counted by their answers")?;
                self.turn = Some(Turn { number: *turn, ..Turn::default() });
            }
            SessionEvent::TurnEnd { turn } => {
                let open = self.turn.take().ok_or("a turn ends that has started")?;
                rule(open.number == *turn, "the turn that ends is the one that started")?;
                rule(self.answer.is_none(), "an answer ends before its turn")?;
                let is_told = self.fallback.take().is_none() || !open.answered;
                rule(is_told, "a fallback that has answered is announced")?;
                open.calls.end()?;
                self.answered = self.answered.map(|count| count + u32::from(open.answered));
            }
            SessionEvent::InputQueued { input_id, queue, text } => {
                let earlier = self.queue.insert(*input_id, (*queue, text.clone()));
                rule(earlier.is_none(), "an input is queued once")?;
            }
            SessionEvent::InputTaken { input_id } => {
                rule(self.is_before_answer(), "an input is taken before a request")?;
                let queued = self.queue.remove(input_id);
                let text = queued.ok_or("an input is taken that waits")?.1;
                // The first one of a session that goes on may be in its log.
                let may_be_said = self.is_later && self.said.is_empty();
                self.taken = (self.said.insert(*input_id) && !may_be_said).then_some(text);
            }
            SessionEvent::InputDropped { input_id } => {
                rule(self.queue.remove(input_id).is_some(), "an input is dropped that waits")?;
            }
            SessionEvent::MessageStart { .. } | SessionEvent::MessageEnd { .. } => {
                self.message(event)?;
            }
            SessionEvent::TextStart { .. }
            | SessionEvent::TextDelta { .. }
            | SessionEvent::TextEnd { .. }
            | SessionEvent::ThinkingStart { .. }
            | SessionEvent::ThinkingDelta { .. }
            | SessionEvent::ThinkingEnd { .. }
            | SessionEvent::ToolcallStart { .. }
            | SessionEvent::ToolcallDelta { .. }
            | SessionEvent::ToolcallEnd { .. } => {
                self.answer.as_mut().ok_or("a block is a part of an answer")?.block(event)?;
            }
            SessionEvent::AutoRetryStart { .. } | SessionEvent::AutoRetryEnd { .. } => {
                self.retries(event)?;
            }
            SessionEvent::RetryFallbackApplied { from, to, .. } => {
                rule(self.is_before_answer(), "a fallback is asked before the answer")?;
                let last = self.fallback.replace(to.clone());
                rule(last.is_none_or(|last| last == *from), "fallbacks follow each other")?;
            }
            SessionEvent::RetryFallbackSucceeded { .. } => {
                let answered = self.turn.as_ref().is_some_and(|turn| turn.answered);
                let is_asked = self.fallback.take().is_some();
                rule(answered && is_asked, "a fallback that was asked has answered")?;
            }
            SessionEvent::RequestWait { .. } => {
                rule(self.turn.is_some(), "a request is a part of a turn")?;
            }
            SessionEvent::ToolExecutionStart { tool_call_id, tool_name, args } => {
                self.calls()?.start(tool_call_id, tool_name, args)?;
            }
            SessionEvent::ToolExecutionUpdate { tool_call_id, line } => {
                self.calls()?.update(tool_call_id, line)?;
            }
            SessionEvent::ToolExecutionEnd { tool_call_id, tool_name, result, is_error } => {
                self.calls()?.finish(tool_call_id, tool_name, result.as_ref(), *is_error)?;
            }
            SessionEvent::ToolCallRefused { tool_call_id, tool_name, .. } => {
                self.calls()?.refuse(tool_call_id, tool_name)?;
            }
            SessionEvent::CompactionStart { .. } => {
                rule(!std::mem::replace(&mut self.compacting, true), "compactions do not overlap")?;
            }
            SessionEvent::CompactionEnd { .. } => {
                rule(std::mem::replace(&mut self.compacting, false), "a compaction has started")?;
            }
            SessionEvent::SessionTree { .. } | SessionEvent::EntryAppended { .. } => {
                rule(self.work == Work::Idle, "the log is changed when the session is idle")?;
            }
            SessionEvent::SessionRestart { .. } => {
                let queue = std::mem::take(&mut self.queue);
                // The answer of a turn that was interrupted is in the log.
                let has_answer = self.turn.as_ref().is_some_and(|turn| turn.answered);
                let answered = self.answered.map(|count| count + u32::from(has_answer));
                let said = std::mem::take(&mut self.said);
                let (is_later, last) = (self.is_later, Last::Restarted);
                *self = Self { queue, answered, said, is_later, last, ..Self::default() };
            }
            SessionEvent::ToolUnavailable { .. }
            | SessionEvent::QuestionAsked { .. }
            | SessionEvent::QuestionClosed { .. }
            | SessionEvent::Notice { .. }
            | SessionEvent::ModelChange { .. }
            | SessionEvent::ThinkingLevelChange { .. } => {}
        }
        Ok(())
    }

    /// A message that is whole ends at once, and the message of an input follows it at once.
    fn expect_nothing_between(&self, event: &SessionEvent) -> Result<(), String> {
        let is_of_queue =
            matches!(event, SessionEvent::InputQueued { .. } | SessionEvent::InputDropped { .. });
        if is_of_queue {
            return Ok(());
        }
        let is_message =
            matches!(event, SessionEvent::MessageStart { .. } | SessionEvent::MessageEnd { .. });
        rule(self.whole.is_none() || is_message, "a whole message ends at once")?;
        rule(self.taken.is_none() || is_message, "the message of an input follows it")?;
        let are_over = match self.retry {
            Retry { last: (0, _), .. } | Retry { answer: None, .. } => return Ok(()),
            // The attempt has failed; another one may follow.
            Retry { answer: Some(StopReason::Error), .. } => {
                matches!(
                    event,
                    SessionEvent::AutoRetryStart { .. } | SessionEvent::AutoRetryEnd { .. }
                )
            }
            Retry { .. } => matches!(event, SessionEvent::AutoRetryEnd { .. }),
        };
        rule(are_over, "retries end with their answer")
    }

    fn message(&mut self, event: &SessionEvent) -> Result<(), String> {
        match event {
            SessionEvent::MessageStart { role: MessageRole::Assistant, answer } => {
                rule(self.is_before_answer(), "a turn has one answer")?;
                let start = answer.clone().ok_or("an answer says who gives it")?;
                self.answer = Some(OpenAnswer::new(start));
            }
            SessionEvent::MessageStart { role, answer } => {
                rule(self.whole.is_none(), "messages do not overlap")?;
                rule(self.answer.is_none() && self.turn.is_some(), "messages are parts of turns")?;
                rule(answer.is_none(), "only an answer says who gives it")?;
                self.whole = Some(*role);
            }
            SessionEvent::MessageEnd { message: Message::Assistant(message) } => {
                rule(self.whole.is_none(), "messages do not overlap")?;
                let answer = self.answer.take().ok_or("an answer ends that has started")?;
                answer.end(message)?;
                self.answered(message)?;
            }
            SessionEvent::MessageEnd { message } => {
                let role = self.whole.take();
                rule(
                    role == Some(message.role()),
                    "the message that ends is the one that started",
                )?;
                match message {
                    Message::User(said) => {
                        rule(self.is_before_answer(), "an input comes before the answer")?;
                        if let Some(text) = self.taken.take() {
                            rule(text == said.text(), "the message is that of the input")?;
                        }
                    }
                    Message::ToolResult(result) => self.calls()?.result(result)?,
                    Message::Assistant(_) => {}
                }
            }
            _other => {}
        }
        Ok(())
    }

    fn answered(&mut self, message: &AssistantMessage) -> Result<(), String> {
        let turn = self.turn.as_mut().ok_or("an answer is a part of a turn")?;
        let is_whole = !matches!(message.stop_reason, StopReason::Error | StopReason::Aborted);
        if is_whole {
            turn.answered = true;
            turn.calls = Calls::of(message.calls().cloned().collect());
        } else {
            rule(message.calls().next().is_none(), "a failed answer has no calls")?;
        }
        self.retry.answer = Some(message.stop_reason);
        // What follows an attempt that failed is a retry, or the end of the retries.
        if message.stop_reason == StopReason::Error && self.retry.last.0 == 0 {
            self.retry.answer = None;
        }
        Ok(())
    }

    fn retries(&mut self, event: &SessionEvent) -> Result<(), String> {
        rule(self.turn.is_some(), "a retry is a part of a turn")?;
        match event {
            SessionEvent::AutoRetryStart { attempt, max_attempts, delay_ms, .. } => {
                rule(self.answer.is_none(), "a retry follows an attempt")?;
                let (last, delay) = self.retry.last;
                let is_next = *attempt == last + 1 || (*attempt == last && *delay_ms != delay);
                rule(is_next && attempt <= max_attempts, "retries are counted")?;
                self.retry = Retry { last: (*attempt, *delay_ms), answer: None };
            }
            SessionEvent::AutoRetryEnd { success, attempt, final_error } => {
                let Retry { last, answer } = std::mem::take(&mut self.retry);
                rule(
                    last.0 > 0 && *attempt == last.0,
                    "the end of retries says how many they were",
                )?;
                let failed = matches!(answer, Some(StopReason::Error | StopReason::Aborted));
                rule(answer.is_some() && *success != failed, "retries end as their answer")?;
                rule(final_error.is_some() == failed, "retries that fail say why")?;
            }
            _other => {}
        }
        Ok(())
    }

    fn end_work(&mut self) -> Result<(), String> {
        let last = std::mem::take(&mut self.last);
        rule(self.work == Work::Begun || last == Last::Restarted, "work ends that has begun")?;
        rule(self.turn.is_none(), "turns end before the work")?;
        rule(!self.compacting, "a compaction ends before the work")?;
        rule(self.retry.last.0 == 0, "retries end before the work")?;
        self.work = Work::Idle;
        self.retry = Retry::default();
        Ok(())
    }

    /// The stream is over: nothing is open.
    fn end(&self) -> Result<(), String> {
        rule(self.work == Work::Idle, "work that has begun has ended")?;
        rule(self.queue.is_empty(), "each input is taken or dropped")
    }

    fn calls(&mut self) -> Result<&mut Calls, String> {
        Ok(&mut self.turn.as_mut().ok_or("a call is a part of a turn")?.calls)
    }

    /// Returns whether the model is to be asked in the turn, or is being asked.
    fn is_before_answer(&self) -> bool {
        self.answer.is_none() && self.turn.as_ref().is_some_and(|turn| !turn.answered)
    }
}
