//! Produces the answer of one scripted turn: a pure function of the turn, the request and the number
//! of the attempt.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::ports::{AttemptFailure, ModelAnswer, ModelEvent, ModelRequest};
use engine::request::estimated_tokens;
use protocol::{
    CacheSaving, Content, Cost, CostSource, FailureClass, FailureDetail, Message, Part, StopReason,
    Timestamp, ToolCall, Usage,
};
use serde_json::{Map, Value};

use super::scenario::Fault;
use super::scenario::{Arguments, Call, Turn};
use super::template::Template;
use crate::blocks::{MAX_ANSWER_BYTES, MAX_CALLS, arguments};
use crate::usage::Price;

/// The minimum number of bytes of text in one event.
const MIN_CHUNK: usize = 24;

/// The maximum number of events that one text is split into.
const MAX_CHUNKS: usize = 400;

/// How long the simulated quota stays used up, in milliseconds.
const QUOTA_RESET: i64 = 60 * 60 * 1000;

/// One action of the scripted model while it answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    Wait(Duration),
    Emit(ModelEvent),
    /// The provider panics.
    Crash,
    /// The provider sends no further event and never ends its stream.
    Hang,
}

/// The data from which a scripted answer is produced.
pub(crate) struct TurnContext<'a> {
    pub(crate) turn: &'a Turn,
    /// Counts the attempts at this turn from 1.
    pub(crate) attempt: u32,
    pub(crate) request: &'a ModelRequest,
    pub(crate) variables: &'a BTreeMap<String, String>,
    pub(crate) price: Option<Price>,
    pub(crate) now: Timestamp,
}

/// Returns the actions of the answer.
pub(crate) fn scripted_answer(turn: &TurnContext<'_>) -> Vec<Action> {
    let fault = turn.turn.fault.and_then(|planned| planned.at_attempt(turn.attempt));
    let delay = turn.turn.delay;
    let mut actions = Vec::new();
    if !delay.is_zero() {
        actions.push(Action::Wait(delay));
    }
    match fault {
        Some(Fault::Silence) => actions.push(Action::Hang),
        Some(Fault::Refused) => actions.push(broken(refusal(FailureClass::Refused))),
        Some(Fault::Auth) => actions.push(broken(refusal(FailureClass::Auth))),
        Some(Fault::Transient) => actions.push(broken(refusal(FailureClass::Transient))),
        Some(Fault::Quota) => {
            let failed = refusal(FailureClass::Quota);
            let at =
                Timestamp::from_millisecond(turn.now.as_millisecond().saturating_add(QUOTA_RESET));
            let failure = failed.failure.clone().with(FailureDetail::Until { at });
            actions.push(broken(AttemptFailure { failure, ..failed }));
        }
        Some(Fault::Endless) => actions.extend(turn.endless()),
        Some(Fault::Crash) => {
            actions.extend(turn.first_half());
            actions.push(Action::Crash);
        }
        Some(Fault::Cut) => {
            actions.extend(turn.first_half());
            let what = "the answer ended in the middle, as the scenario has it";
            actions.push(broken(AttemptFailure::new(FailureClass::Transient, what)));
        }
        Some(Fault::Panic) | None => {
            let whole = turn.answer(fault);
            actions.extend(turn.stream(&whole.content));
            actions.push(Action::Emit(ModelEvent::Used(turn.usage(&whole.content))));
            actions.push(Action::Emit(ModelEvent::Ended(whole)));
        }
    }
    actions
}

fn broken(failed: AttemptFailure) -> Action {
    Action::Emit(ModelEvent::Failed(failed))
}

fn refusal(class: FailureClass) -> AttemptFailure {
    AttemptFailure::new(class, format!("the scenario has the model fail here: {class}"))
}

impl TurnContext<'_> {
    fn text(&self, template: &Template) -> String {
        template.fill(self.variables)
    }

    /// Returns the actions of the first half of the answer.
    fn first_half(&self) -> Vec<Action> {
        let mut actions = self.stream(&self.answer(None).content);
        actions.truncate(actions.len().div_ceil(2));
        actions
    }

    /// Returns the complete answer.
    fn answer(&self, fault: Option<Fault>) -> ModelAnswer {
        let mut content = Vec::new();
        let thinking = self.turn.thinking.as_ref().map(|it| self.text(it));
        content.extend(thinking.map(Part::thinking));
        let text = self.turn.text.as_ref().map(|it| self.text(it)).filter(|it| !it.is_empty());
        content.extend(text.map(Part::text));
        content.extend(self.calls(fault).into_iter().map(Part::ToolCall));
        let has_calls = content.iter().any(|part| matches!(part, Part::ToolCall(_)));
        let stop_reason = if has_calls { StopReason::ToolUse } else { StopReason::Stop };
        ModelAnswer { content, stop_reason }
    }

    fn calls(&self, fault: Option<Fault>) -> Vec<ToolCall> {
        let turn = self.request.messages.len();
        let mut calls = Vec::new();
        for (at, call) in self.turn.calls.iter().take(MAX_CALLS).enumerate() {
            let wanted = call.id.as_ref().map(|id| self.text(id));
            let id = wanted.unwrap_or_else(|| format!("call_{turn}_{}", at + 1));
            let (arguments, malformed) = self.arguments(call);
            let (name, thought_signature) = (call.tool.clone(), None);
            calls.push(ToolCall { id, name, arguments, malformed, thought_signature });
        }
        if fault == Some(Fault::Panic) {
            let id = format!("call_{turn}_panic");
            let name = "panic".to_owned();
            let (malformed, thought_signature) = (None, None);
            calls.push(ToolCall { id, name, arguments: Map::new(), malformed, thought_signature });
        }
        calls
    }

    fn arguments(&self, call: &Call) -> (Map<String, Value>, Option<String>) {
        match &call.arguments {
            Arguments::Text(text) => arguments(&self.text(text)),
            Arguments::Values(planted) => match planted.fill(&|template| self.text(template)) {
                Value::Object(arguments) => (arguments, None),
                other => (Map::new(), Some(other.to_string())),
            },
        }
    }

    fn usage(&self, content: &[Part]) -> Usage {
        let usage = self.turn.usage.unwrap_or_else(|| Usage {
            input: estimated_tokens(request_size(self.request)),
            output: estimated_tokens(content.iter().map(part_size).sum()),
            ..Usage::ZERO
        });
        // Scripted answers are free, unless the user has set a price to simulate costs too.
        let cost = self.price.map_or(Cost::default(), |price| price.cost_of(&usage));
        let free = || usage.has_cached().then(CacheSaving::default);
        let cache_saving = self.price.map_or_else(free, |price| price.saving_of(&usage));
        let cost_source = CostSource::Priced;
        Usage { cost: Some(cost), cost_source, cache_saving, ..usage }
    }

    /// Returns the actions that stream this content.
    fn stream(&self, content: &[Part]) -> Vec<Action> {
        let mut actions = Vec::new();
        for (block, part) in content.iter().enumerate() {
            match part {
                Part::Text { text, .. } => {
                    let event = |text| ModelEvent::Text { block, text };
                    self.stream_text(text, event, &mut actions);
                }
                Part::Thinking { thinking, .. } => {
                    let event = |text| ModelEvent::Thinking { block, text };
                    self.stream_text(thinking, event, &mut actions);
                }
                Part::RedactedThinking { .. } | Part::ServerTool { .. } => {}
                Part::ToolCall(call) => {
                    let (id, tool) = (call.id.clone(), call.name.clone());
                    actions.push(Action::Emit(ModelEvent::Calling { block, id, tool }));
                    let json = sent_arguments(call);
                    actions.push(Action::Emit(ModelEvent::Arguments { block, json }));
                }
            }
        }
        actions
    }

    fn stream_text(
        &self,
        text: &str,
        event: impl Fn(String) -> ModelEvent,
        actions: &mut Vec<Action>,
    ) {
        let size = MIN_CHUNK.max(text.len().div_ceil(MAX_CHUNKS));
        let mut rest = text;
        while !rest.is_empty() {
            if !self.turn.pace.is_zero() {
                actions.push(Action::Wait(self.turn.pace));
            }
            // A character has at most four bytes and a chunk more, so that no chunk is empty.
            let (now, later) = rest.split_at(rest.floor_char_boundary(size));
            actions.push(Action::Emit(event(now.to_owned())));
            rest = later;
        }
    }

    /// Returns the actions of an answer of the maximum size.
    fn endless(&self) -> Vec<Action> {
        let words = self.turn.text.as_ref().map(|it| self.text(it));
        let words = words.filter(|it| !it.is_empty()).unwrap_or_else(|| "and so on ".to_owned());
        let mut text = words.repeat(MAX_ANSWER_BYTES.div_ceil(words.len()));
        text.truncate(text.floor_char_boundary(MAX_ANSWER_BYTES));
        let content = vec![Part::text(text)];
        let mut actions = self.stream(&content);
        actions.push(Action::Emit(ModelEvent::Used(self.usage(&content))));
        let whole = ModelAnswer { content, stop_reason: StopReason::Length };
        actions.push(Action::Emit(ModelEvent::Ended(whole)));
        actions
    }
}

/// Returns the size of a request in bytes of text.
pub(crate) fn request_size(request: &ModelRequest) -> usize {
    let content = |content: &[Content]| -> usize {
        let size = |content: &Content| match content {
            Content::Text { text } => text.len(),
            Content::Image { data, .. } => data.len(),
        };
        content.iter().map(size).sum()
    };
    let sizes = request.messages.iter().map(|message| match &**message {
        Message::User(user) => content(&user.content),
        Message::Assistant(answer) => answer.content.iter().map(part_size).sum(),
        Message::ToolResult(result) => content(&result.content),
    });
    request.system.len() + sizes.sum::<usize>()
}

fn part_size(part: &Part) -> usize {
    match part {
        Part::Text { text, .. } => text.len(),
        Part::Thinking { thinking, .. } => thinking.len(),
        Part::RedactedThinking { data } => data.len(),
        Part::ServerTool { block } => Value::Object(block.clone()).to_string().len(),
        Part::ToolCall(call) => call.name.len() + sent_arguments(call).len(),
    }
}

/// Returns the arguments of a call as a model sends them.
fn sent_arguments(call: &ToolCall) -> String {
    let json = || Value::Object(call.arguments.clone()).to_string();
    call.malformed.clone().unwrap_or_else(json)
}
