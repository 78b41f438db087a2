//! How much a model of the file of models thinks, and how a request states it.

use protocol::ThinkingMode;

use super::fields::Fields;
use crate::mistake::Mistake;
use crate::yaml::Value;

/// What the user says about how a model thinks. What is absent is as it is elsewhere, or unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelThinking {
    /// Whether the user says anything about it.
    pub(super) is_given: bool,
    /// Its levels, in ascending order; empty if the user does not say which it has.
    pub(super) levels: Vec<String>,
    /// How a request states how much to think.
    pub(super) mode: Option<ThinkingMode>,
    /// How much it is to think unless a request says otherwise.
    pub(super) default_level: Option<String>,
}

/// The names of thinking levels, in ascending order.
const LEVELS: [&str; 6] = ["off", "minimal", "low", "medium", "high", "xhigh"];

/// The levels between which a model has all, if the user says only one of them.
const LOWEST: usize = 1;
const HIGHEST: usize = LEVELS.len() - 2;

impl ModelThinking {
    /// Parses the member `thinking` of a model.
    pub(super) fn parse(
        fields: &mut Fields<'_>,
        warnings: &mut Vec<Mistake>,
    ) -> Result<Self, Mistake> {
        let Some((_, node)) = fields.take("thinking") else { return Ok(Self::default()) };
        let mut thinking = Fields::of(node, fields.key("thinking"))?;
        let least = thinking.read("minLevel", level)?;
        let most = thinking.read("maxLevel", level)?;
        let listed = thinking.read("levels", |value| match value {
            Value::List(list) => list.iter().map(|node| level(&node.value)).collect(),
            _ => Err("a list of thinking levels"),
        })?;
        let default = thinking.read("defaultLevel", level)?;
        let mode = thinking.read("mode", mode)?;
        thinking.rest(&[], warnings);
        let mut levels: Vec<usize> = match (listed, least, most) {
            (Some(listed), _, _) => listed,
            (None, None, None) => Vec::new(),
            (None, least, most) => (least.unwrap_or(LOWEST)..=most.unwrap_or(HIGHEST)).collect(),
        };
        levels.sort_unstable();
        levels.dedup();
        let name = |at: usize| LEVELS.get(at).map(|&it| it.to_owned());
        Ok(Self {
            is_given: true,
            levels: levels.into_iter().filter_map(name).collect(),
            mode,
            default_level: default.and_then(name),
        })
    }
}

/// Returns the place of a level among all.
fn level(value: &Value) -> Result<usize, &'static str> {
    const EXPECTED: &str = "a thinking level: off, minimal, low, medium, high or xhigh";
    match value {
        Value::Text(text) => LEVELS.iter().position(|level| level == text).ok_or(EXPECTED),
        // YAML reads `off` as a text here, but other programs write `false`.
        Value::Bool(false) => Ok(0),
        _ => Err(EXPECTED),
    }
}

/// Parses the name of a mode.
fn mode(value: &Value) -> Result<ThinkingMode, &'static str> {
    let found = match value {
        Value::Text(text) => ThinkingMode::find(text),
        _ => None,
    };
    found.ok_or("one of effort, budget, google-level, anthropic-adaptive, anthropic-budget-effort")
}
