//! Turns the events of a session into JSON lines.

use std::collections::BTreeMap;

use protocol::{
    AgentEnd, AnswerStart, AssistantMessage, Message, MessageRole, SessionEvent, StopReason,
    Timestamp,
};
use serde_json::{Map, Value, json};

use super::partial_answer::{PartialAnswer, message_value};
use super::queue::Queue;

/// How many bytes of the progress of a tool call a line repeats.
const MAX_PROGRESS: usize = 16 << 10;

/// How many bytes the updates of a call repeat before they come less often.
const REPEATED: usize = 1 << 20;

/// How many times as much as its new progress an update may repeat then.
const SHARE: usize = 32;

/// Turns the events of one session into JSON lines. Each line of a message that arrives has the whole
/// message so far, and the end of the work has every message that was added in it.
#[derive(Debug, Default)]
pub struct SessionJson {
    work: Work,
    turn: Option<Turn>,
    answer: Option<PartialAnswer>,
    /// The calls under way, by their ids.
    calls: BTreeMap<String, RunningCall>,
    queue: Queue,
    /// The messages that were added since the work began.
    added: Vec<Value>,
    /// The last answer that started.
    last: Option<AnswerStart>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Work {
    #[default]
    Idle,
    Begun,
    /// The session crashed and goes on with the same work.
    Restarted,
}

#[derive(Debug, Default)]
struct Turn {
    answer: Option<Value>,
    results: Vec<Value>,
    /// Whether the turn has ended without an answer, whose end then says why.
    ended: bool,
}

#[derive(Debug)]
struct RunningCall {
    name: String,
    args: Map<String, Value>,
    /// The size of the arguments as JSON.
    size: usize,
    progress: String,
    /// How many bytes of progress no update has had yet.
    unwritten: usize,
    /// How many bytes the updates have repeated.
    repeated: usize,
}

impl RunningCall {
    fn new(name: String, args: Map<String, Value>) -> Self {
        let size = serde_json::to_vec(&args).map_or(0, |json| json.len());
        Self { name, args, size, progress: String::new(), unwritten: 0, repeated: 0 }
    }

    /// Adds a line of progress, and returns whether an update of it is written. What updates repeat grows with the
    /// progress, and not with its square: a call can have hundreds of subagents, each with some lines.
    fn add(&mut self, line: &str) -> bool {
        self.progress.push_str(line);
        self.progress.push('\n');
        self.unwritten += line.len() + 1;
        if let Some(excess) = self.progress.len().checked_sub(MAX_PROGRESS) {
            let cut = self.progress.ceil_char_boundary(excess);
            self.progress.drain(..cut);
        }
        let all = self.size + self.progress.len();
        if self.repeated > REPEATED && self.unwritten.saturating_mul(SHARE) < all {
            return false;
        }
        (self.unwritten, self.repeated) = (0, self.repeated + all);
        true
    }
}

impl SessionJson {
    /// Returns the lines of an event, each a JSON object with the field `type`.
    pub fn lines(&mut self, event: &SessionEvent) -> Vec<Value> {
        let mut lines = Vec::new();
        if !matches!(event, SessionEvent::AgentEnd { .. }) {
            self.end_empty_turn(StopReason::Stop, None, &mut lines);
        }
        self.add_lines(event, &mut lines);
        lines
    }

    fn add_lines(&mut self, event: &SessionEvent, lines: &mut Vec<Value>) {
        match event {
            SessionEvent::AgentStart => {
                if std::mem::replace(&mut self.work, Work::Begun) != Work::Restarted {
                    lines.push(json!({ "type": "agent_start" }));
                }
            }
            SessionEvent::TurnStart { .. } => {
                self.turn = Some(Turn::default());
                lines.push(json!({ "type": "turn_start" }));
            }
            SessionEvent::MessageStart { role: MessageRole::Assistant, answer: Some(start) } => {
                let answer = PartialAnswer::new(start.clone());
                lines.push(json!({ "type": "message_start", "message": answer.snapshot() }));
                (self.answer, self.last) = (Some(answer), Some(start.clone()));
            }
            SessionEvent::MessageStart { .. } => {} // the whole message follows at once
            SessionEvent::MessageEnd { message: Message::Assistant(answer) } => {
                self.end_answer(answer, lines);
            }
            SessionEvent::MessageEnd { message } => self.add_message(message, lines),
            SessionEvent::ToolExecutionStart { tool_call_id, tool_name, args } => {
                let (name, args) = (tool_name.clone(), args.clone());
                lines.push(json!({
                    "type": "tool_execution_start", "toolCallId": tool_call_id, "toolName": name,
                    "args": args,
                }));
                self.calls.insert(tool_call_id.clone(), RunningCall::new(name, args));
            }
            SessionEvent::ToolExecutionUpdate { tool_call_id, line } => {
                self.update_call(tool_call_id, line, lines);
            }
            SessionEvent::ToolExecutionEnd { tool_call_id, tool_name, result, is_error } => {
                self.calls.remove(tool_call_id);
                lines.push(json!({
                    "type": "tool_execution_end", "toolCallId": tool_call_id,
                    "toolName": tool_name, "result": result, "isError": is_error,
                }));
            }
            SessionEvent::TurnEnd { .. } => self.end_turn(lines),
            SessionEvent::SessionRestart { error_message } => {
                self.end_interrupted(error_message, lines);
                self.work = Work::Restarted;
                lines.extend(serde_json::to_value(event));
            }
            SessionEvent::AgentEnd { end } => self.end_work(end, lines),
            SessionEvent::InputQueued { .. }
            | SessionEvent::InputTaken { .. }
            | SessionEvent::InputDropped { .. } => lines.extend(self.queue.update(event)),
            SessionEvent::TextStart { .. }
            | SessionEvent::TextDelta { .. }
            | SessionEvent::ThinkingStart { .. }
            | SessionEvent::ThinkingDelta { .. }
            | SessionEvent::ToolcallStart { .. }
            | SessionEvent::ToolcallDelta { .. } => self.update_answer(event, lines),
            // The end of the message ends its blocks.
            SessionEvent::TextEnd { .. }
            | SessionEvent::ThinkingEnd { .. }
            | SessionEvent::ToolcallEnd { .. } => {}
            SessionEvent::ToolUnavailable { .. }
            | SessionEvent::Notice { .. }
            | SessionEvent::ToolCallRefused { .. }
            | SessionEvent::QuestionAsked { .. }
            | SessionEvent::QuestionClosed { .. }
            | SessionEvent::ModelChange { .. }
            | SessionEvent::ThinkingLevelChange { .. }
            | SessionEvent::RequestWait { .. }
            | SessionEvent::AutoRetryStart { .. }
            | SessionEvent::AutoRetryEnd { .. }
            | SessionEvent::RetryFallbackApplied { .. }
            | SessionEvent::RetryFallbackSucceeded { .. }
            | SessionEvent::SessionTree { .. }
            | SessionEvent::EntryAppended { .. }
            | SessionEvent::CompactionStart { .. }
            | SessionEvent::CompactionEnd { .. } => lines.extend(serde_json::to_value(event)),
        }
    }

    fn update_answer(&mut self, event: &SessionEvent, lines: &mut Vec<Value>) {
        let Some(answer) = &mut self.answer else { return };
        for update in answer.update(event) {
            lines.push(message_update(update, &answer.snapshot()));
        }
    }

    fn end_answer(&mut self, message: &AssistantMessage, lines: &mut Vec<Value>) {
        let value = message_value(&Message::Assistant(message.clone()));
        for update in self.answer.take().map(|answer| answer.finish(message)).unwrap_or_default() {
            lines.push(message_update(update, &value));
        }
        self.end_message(value, lines);
    }

    fn add_message(&mut self, message: &Message, lines: &mut Vec<Value>) {
        let value = message_value(message);
        lines.push(json!({ "type": "message_start", "message": value }));
        lines.push(json!({ "type": "message_end", "message": value }));
        if let (Some(turn), MessageRole::ToolResult) = (&mut self.turn, message.role()) {
            turn.results.push(value.clone());
        }
        self.added.push(value);
    }

    fn update_call(&mut self, id: &str, line: &str, lines: &mut Vec<Value>) {
        let Some(call) = self.calls.get_mut(id) else { return };
        if !call.add(line) {
            return;
        }
        lines.push(json!({
            "type": "tool_execution_update", "toolCallId": id, "toolName": call.name,
            "args": call.args,
            "partialResult": {
                "content": [{ "type": "text", "text": call.progress }], "details": {},
            },
        }));
    }

    fn end_turn(&mut self, lines: &mut Vec<Value>) {
        match self.turn.take() {
            Some(Turn { answer: Some(message), results, .. }) => {
                lines.push(
                    json!({ "type": "turn_end", "message": message, "toolResults": results }),
                );
            }
            Some(turn) => self.turn = Some(Turn { ended: true, ..turn }),
            None => {}
        }
    }

    /// Gives a turn that ended before the model was asked an answer without content, and ends it.
    fn end_empty_turn(&mut self, stop: StopReason, why: Option<&str>, lines: &mut Vec<Value>) {
        if self.turn.as_ref().is_some_and(|turn| turn.ended) {
            self.add_empty_answer(stop, why, lines);
            self.end_turn(lines);
        }
    }

    fn add_empty_answer(&mut self, stop: StopReason, why: Option<&str>, lines: &mut Vec<Value>) {
        let start = self.last.clone().unwrap_or_else(|| AnswerStart {
            api: String::new(),
            provider: String::new(),
            model: String::new(),
            timestamp: Timestamp::from_millisecond(0),
        });
        let value = PartialAnswer::empty(&start, stop, why);
        lines.push(json!({ "type": "message_start", "message": value }));
        self.end_message(value, lines);
    }

    fn end_message(&mut self, value: Value, lines: &mut Vec<Value>) {
        lines.push(json!({ "type": "message_end", "message": value }));
        if let Some(turn) = &mut self.turn {
            turn.answer = Some(value.clone());
        }
        self.added.push(value);
    }

    /// Ends what a crash has interrupted.
    fn end_interrupted(&mut self, why: &str, lines: &mut Vec<Value>) {
        if let Some(answer) = self.answer.take() {
            let mut value = answer.snapshot();
            value["stopReason"] = "error".into();
            value["errorMessage"] = why.into();
            self.end_message(value, lines);
        }
        for (id, call) in std::mem::take(&mut self.calls) {
            let result = json!({ "content": [{ "type": "text", "text": why }] });
            lines.push(json!({
                "type": "tool_execution_end", "toolCallId": id, "toolName": call.name,
                "result": result, "isError": true,
            }));
        }
        self.end_turn(lines);
        self.end_empty_turn(StopReason::Error, Some(why), lines);
    }

    fn end_work(&mut self, end: &AgentEnd, lines: &mut Vec<Value>) {
        let is_told = |added: &[Value], reason: &str| {
            let answer = added.iter().rev().find(|message| message["role"] == "assistant");
            answer.is_some_and(|answer| answer["stopReason"] == reason)
        };
        match end {
            AgentEnd::Failed(failure) => {
                let why = Some(failure.message.as_str());
                self.end_empty_turn(StopReason::Error, why, lines);
                // A client reads from the last answer whether the work failed.
                if !is_told(&self.added, "error") {
                    self.add_empty_answer(StopReason::Error, why, lines);
                }
            }
            AgentEnd::Aborted => {
                let why = Some("Request was aborted");
                self.end_empty_turn(StopReason::Aborted, why, lines);
            }
            AgentEnd::Yielded(_) | AgentEnd::GaveUp(_) | AgentEnd::Silent(_) => {
                self.end_empty_turn(StopReason::Stop, None, lines);
            }
        }
        let added = std::mem::take(&mut self.added);
        lines.push(json!({ "type": "agent_end", "messages": added }));
        self.work = Work::Idle;
    }
}

fn message_update(event: Map<String, Value>, partial: &Value) -> Value {
    let mut event = event;
    event.insert("partial".to_owned(), partial.clone());
    json!({ "type": "message_update", "assistantMessageEvent": event, "message": partial })
}
