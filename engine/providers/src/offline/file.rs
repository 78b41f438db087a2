//! A scenario file as it is written.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
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

/// A call of a tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallTable {
    pub(crate) tool: String,
    pub(crate) arguments: Option<toml::Table>,
    pub(crate) arguments_text: Option<Spanned<String>>,
    pub(crate) id: Option<Spanned<String>>,
}

/// What a turn says that it used.
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

/// What goes wrong in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    /// The provider panics in the middle of its answer.
    Crash,
    /// Nothing is ever said.
    Silence,
    /// The answer ends in the middle.
    Cut,
    /// The answer does not end.
    Endless,
    /// The answer is refused.
    Refused,
    /// The account is used up for an hour.
    Quota,
    /// The server is overloaded.
    Transient,
    /// The key is not accepted.
    Auth,
    /// A tool that panics is called.
    Panic,
}
