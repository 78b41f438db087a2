//! What a scripted model says: a function of the script, the request and the count of attempts.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::ports::{AttemptFailure, ModelAnswer, ModelEvent, ModelRequest};
use engine::request::estimated_tokens;
use protocol::{
    Content, Cost, FailureClass, FailureDetail, Message, Part, StopReason, Timestamp, ToolCall,
    Usage,
};
use serde_json::{Map, Value};

use super::file::Fault;
use super::script::{Arguments, Call, Turn};
use super::template::Template;
use crate::completions::{MOST_BYTES, MOST_CALLS, arguments};
use crate::price::Price;

/// How many bytes of text come at once, at least.
const PIECE: usize = 24;

/// How many pieces a text comes in, at most.
const PIECES: usize = 400;

/// How long an account that is used up stays so.
const RESET: i64 = 60 * 60 * 1000;

/// One step of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Wait(Duration),
    Say(ModelEvent),
    /// The provider breaks down.
    Crash,
    /// Nothing happens any more.
    Hang,
}

/// What an answer is made from.
pub(crate) struct Cue<'a> {
    pub(crate) turn: &'a Turn,
    /// Counts the attempts at this turn from 1.
    pub(crate) attempt: u32,
    pub(crate) request: &'a ModelRequest,
    pub(crate) remembered: &'a BTreeMap<String, String>,
    pub(crate) price: Option<Price>,
    pub(crate) now: Timestamp,
}

/// Returns the steps of the answer.
pub(crate) fn play(cue: &Cue<'_>) -> Vec<Step> {
    let fault = cue.turn.fault.and_then(|planned| planned.strikes(cue.attempt));
    let delay = cue.turn.delay;
    let mut steps = Vec::new();
    if !delay.is_zero() {
        steps.push(Step::Wait(delay));
    }
    match fault {
        Some(Fault::Silence) => steps.push(Step::Hang),
        Some(Fault::Refused) => steps.push(broken(refusal(FailureClass::Refused))),
        Some(Fault::Auth) => steps.push(broken(refusal(FailureClass::Auth))),
        Some(Fault::Transient) => steps.push(broken(refusal(FailureClass::Transient))),
        Some(Fault::Quota) => {
            let failed = refusal(FailureClass::Quota);
            let at = Timestamp::from_millisecond(cue.now.as_millisecond().saturating_add(RESET));
            let failure = failed.failure.clone().with(FailureDetail::Until { at });
            steps.push(broken(AttemptFailure { failure, ..failed }));
        }
        Some(Fault::Endless) => steps.extend(cue.endless()),
        Some(Fault::Crash) => {
            steps.extend(cue.half());
            steps.push(Step::Crash);
        }
        Some(Fault::Cut) => {
            steps.extend(cue.half());
            let what = "the answer ended in the middle, as the scenario has it";
            steps.push(broken(AttemptFailure::new(FailureClass::Transient, what)));
        }
        Some(Fault::Panic) | None => {
            let whole = cue.whole(fault);
            steps.extend(cue.say(&whole.content));
            steps.push(Step::Say(ModelEvent::Used(cue.usage(&whole.content))));
            steps.push(Step::Say(ModelEvent::Ended(whole)));
        }
    }
    steps
}

fn broken(failed: AttemptFailure) -> Step {
    Step::Say(ModelEvent::Failed(failed))
}

fn refusal(class: FailureClass) -> AttemptFailure {
    AttemptFailure::new(class, format!("the scenario has the model fail here: {class}"))
}

impl Cue<'_> {
    fn words(&self, template: &Template) -> String {
        template.fill(self.remembered)
    }

    /// Returns the first half of the answer, as it would be said.
    fn half(&self) -> Vec<Step> {
        let mut steps = self.say(&self.whole(None).content);
        steps.truncate(steps.len().div_ceil(2));
        steps
    }

    fn whole(&self, fault: Option<Fault>) -> ModelAnswer {
        let mut content = Vec::new();
        let thinking = self.turn.thinking.as_ref().map(|it| self.words(it));
        content.extend(thinking.map(|thinking| Part::Thinking { thinking }));
        let text = self.turn.text.as_ref().map(|it| self.words(it)).filter(|it| !it.is_empty());
        content.extend(text.map(|text| Part::Text { text }));
        content.extend(self.calls(fault).into_iter().map(Part::ToolCall));
        let calling = content.iter().any(|part| matches!(part, Part::ToolCall(_)));
        let stop_reason = if calling { StopReason::ToolUse } else { StopReason::Stop };
        ModelAnswer { content, stop_reason }
    }

    fn calls(&self, fault: Option<Fault>) -> Vec<ToolCall> {
        let turn = self.request.messages.len();
        let mut calls = Vec::new();
        for (at, call) in self.turn.calls.iter().take(MOST_CALLS).enumerate() {
            let wanted = call.id.as_ref().map(|id| self.words(id));
            let id = wanted.unwrap_or_else(|| format!("call_{turn}_{}", at + 1));
            let (arguments, malformed) = self.arguments(call);
            calls.push(ToolCall { id, name: call.tool.clone(), arguments, malformed });
        }
        if fault == Some(Fault::Panic) {
            let id = format!("call_{turn}_panic");
            let name = "panic".to_owned();
            calls.push(ToolCall { id, name, arguments: Map::new(), malformed: None });
        }
        calls
    }

    fn arguments(&self, call: &Call) -> (Map<String, Value>, Option<String>) {
        match &call.arguments {
            Arguments::Text(text) => arguments(&self.words(text)),
            Arguments::Values(planted) => match planted.fill(&|template| self.words(template)) {
                Value::Object(arguments) => (arguments, None),
                other => (Map::new(), Some(other.to_string())),
            },
        }
    }

    fn usage(&self, content: &[Part]) -> Usage {
        let told = self.turn.usage.unwrap_or_else(|| Usage {
            input: estimated_tokens(read(self.request)),
            output: estimated_tokens(content.iter().map(written).sum()),
            ..Usage::ZERO
        });
        // A rehearsal costs nothing, unless a price is set to rehearse that too.
        let cost = self.price.map_or(Cost::default(), |price| price.of(&told));
        Usage { cost: Some(cost), ..told }
    }

    /// Returns how the answer is said.
    fn say(&self, content: &[Part]) -> Vec<Step> {
        let mut steps = Vec::new();
        for part in content {
            match part {
                Part::Text { text } => self.spell(text, ModelEvent::Text, &mut steps),
                Part::Thinking { thinking } => {
                    self.spell(thinking, ModelEvent::Thinking, &mut steps)
                }
                Part::ToolCall(call) => {
                    steps.push(Step::Say(ModelEvent::Calling(call.name.clone())))
                }
            }
        }
        steps
    }

    fn spell(&self, text: &str, piece: impl Fn(String) -> ModelEvent, steps: &mut Vec<Step>) {
        let size = PIECE.max(text.len().div_ceil(PIECES));
        let mut rest = text;
        while !rest.is_empty() {
            if !self.turn.pace.is_zero() {
                steps.push(Step::Wait(self.turn.pace));
            }
            // No letter has more than four bytes, so that each piece has one.
            let (now, later) = rest.split_at(rest.floor_char_boundary(size));
            steps.push(Step::Say(piece(now.to_owned())));
            rest = later;
        }
    }

    /// Returns text without end, cut where every answer is cut.
    fn endless(&self) -> Vec<Step> {
        let words = self.turn.text.as_ref().map(|it| self.words(it));
        let words = words.filter(|it| !it.is_empty()).unwrap_or_else(|| "and so on ".to_owned());
        let mut text = words.repeat(MOST_BYTES.div_ceil(words.len()));
        text.truncate(text.floor_char_boundary(MOST_BYTES));
        let content = vec![Part::Text { text }];
        let mut steps = self.say(&content);
        steps.push(Step::Say(ModelEvent::Used(self.usage(&content))));
        let whole = ModelAnswer { content, stop_reason: StopReason::Length };
        steps.push(Step::Say(ModelEvent::Ended(whole)));
        steps
    }
}

/// Returns how many bytes the model reads.
pub(crate) fn read(request: &ModelRequest) -> usize {
    let content = |content: &[Content]| -> usize {
        content.iter().map(|Content::Text { text }| text.len()).sum()
    };
    let sizes = request.messages.iter().map(|message| match &**message {
        Message::User(user) => content(&user.content),
        Message::Assistant(answer) => answer.content.iter().map(written).sum(),
        Message::ToolResult(result) => content(&result.content),
    });
    request.system.len() + sizes.sum::<usize>()
}

fn written(part: &Part) -> usize {
    match part {
        Part::Text { text } => text.len(),
        Part::Thinking { thinking } => thinking.len(),
        Part::ToolCall(call) => {
            let malformed = call.malformed.as_ref().map(String::len);
            let size = || Value::Object(call.arguments.clone()).to_string().len();
            call.name.len() + malformed.unwrap_or_else(size)
        }
    }
}
