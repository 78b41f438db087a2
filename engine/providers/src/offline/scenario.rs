//! Scenarios: the tables of a scenario file, and the checked scenarios that the parser makes of
//! them.

use super::template::Template;
use protocol::Usage;
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;

/// A scenario file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileTable {
    pub(crate) version: Spanned<i64>,
    #[serde(default, rename = "scenario")]
    pub(crate) scenarios: Vec<Spanned<ScenarioTable>>,
    #[serde(default, rename = "turn")]
    pub(crate) turns: Vec<Spanned<TurnTable>>,
}

/// A `[[scenario]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioTable {
    pub(crate) when: Option<Spanned<String>>,
    #[serde(default, rename = "turn")]
    pub(crate) turns: Vec<Spanned<TurnTable>>,
}

/// A `[[turn]]` or `[[scenario.turn]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TurnTable {
    #[serde(default)]
    pub(crate) remember: BTreeMap<Spanned<String>, Spanned<String>>,
    pub(crate) thinking: Option<Spanned<String>>,
    pub(crate) text: Option<Spanned<String>>,
    #[serde(default)]
    pub(crate) calls: Vec<Spanned<CallTable>>,
    pub(crate) delay: Option<Spanned<String>>,
    pub(crate) pace: Option<Spanned<String>>,
    pub(crate) usage: Option<UsageTable>,
    pub(crate) fault: Option<Fault>,
    pub(crate) times: Option<Spanned<u32>>,
    #[serde(default)]
    pub(crate) repeat: Option<Spanned<bool>>,
}

/// An element of `calls`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallTable {
    pub(crate) tool: String,
    pub(crate) arguments: Option<toml::Table>,
    pub(crate) arguments_text: Option<Spanned<String>>,
    pub(crate) id: Option<Spanned<String>>,
}

/// The `usage` of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UsageTable {
    pub(crate) input: u64,
    pub(crate) output: u64,
    #[serde(default)]
    pub(crate) cache_read: u64,
    #[serde(default)]
    pub(crate) cache_write: u64,
}

/// A failure that a turn simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    /// The provider panics in the middle of its answer.
    Crash,
    /// The provider never answers.
    Silence,
    /// The answer ends in the middle.
    Cut,
    /// The answer does not end.
    Endless,
    /// The provider refuses to answer.
    Refused,
    /// The quota of the account is used up for an hour.
    Quota,
    /// The server is overloaded.
    Transient,
    /// The provider does not accept the API key.
    Auth,
    /// The model calls a tool that panics.
    Panic,
}

/// The checked scenarios of a file, in their order.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) scenarios: Vec<Arc<Scenario>>,
}

/// The answers of a model in sessions whose first message matches `when`.
#[derive(Debug)]
pub(crate) struct Scenario {
    /// Matches the first message; `None` matches every message.
    pub(crate) when: Option<Regex>,
    pub(crate) turns: Vec<Turn>,
}

/// One answer of the model.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) remember: Vec<Remember>,
    pub(crate) thinking: Option<Template>,
    pub(crate) text: Option<Template>,
    pub(crate) calls: Vec<Call>,
    pub(crate) delay: Duration,
    pub(crate) pace: Duration,
    pub(crate) usage: Option<Usage>,
    pub(crate) fault: Option<PlannedFault>,
    pub(crate) after: AfterTurn,
}

/// A variable, and the regular expression that captures it.
#[derive(Debug)]
pub(crate) struct Remember {
    pub(crate) name: String,
    pub(crate) regex: Regex,
}

/// A tool call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) arguments: Arguments,
    pub(crate) id: Option<Template>,
}

/// The arguments of a tool call.
#[derive(Debug)]
pub(crate) enum Arguments {
    /// Values, whose strings may have placeholders.
    Values(ValueTemplate),
    /// A text that need not be JSON.
    Text(Template),
}

/// A JSON value whose strings may have placeholders.
#[derive(Debug)]
pub(crate) enum ValueTemplate {
    Plain(Value),
    Text(Template),
    List(Vec<ValueTemplate>),
    Table(Vec<(String, ValueTemplate)>),
}

/// A simulated failure and how often it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlannedFault {
    pub(crate) fault: Fault,
    pub(crate) times: Times,
}

/// How often a turn fails in one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    Always,
    First(u32),
}

/// Which turn follows a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterTurn {
    Next,
    /// The same turn, for ever.
    Repeat,
}

impl Scenario {
    /// Returns the turn after `answers` answers, with its index; `None` after the last.
    pub(crate) fn turn(&self, answers: usize) -> Option<(usize, &Turn)> {
        let last = self.turns.len().checked_sub(1)?;
        if answers <= last {
            return self.turns.get(answers).map(|turn| (answers, turn));
        }
        let repeats = self.turns[last].after == AfterTurn::Repeat;
        repeats.then(|| (last, &self.turns[last]))
    }
}

impl PlannedFault {
    /// Returns the failure of the attempt with this number, from 1; `None` if it does not fail.
    pub(crate) fn at_attempt(self, attempt: u32) -> Option<Fault> {
        match self.times {
            Times::Always => Some(self.fault),
            Times::First(times) => (attempt <= times).then_some(self.fault),
        }
    }
}
