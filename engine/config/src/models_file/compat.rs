//! How a server departs from the API that it speaks: the switches of `compat`, checked and as data.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value as Json};

use super::fields::Fields;
use crate::mistake::Mistake;
use crate::yaml::{Node, Value};

/// The switches of `compat` that the user has set, by name, as JSON.
pub type CompatSwitches = BTreeMap<String, Json>;

/// What the value of a switch may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Flag,
    OneOf(&'static [&'static str]),
    /// A mapping of thinking levels to their names at the server.
    Levels,
    /// Any mapping.
    Object,
}

/// Every switch.
const SWITCHES: [(&str, Kind); 24] = [
    ("supportsStore", Kind::Flag),
    ("supportsDeveloperRole", Kind::Flag),
    ("supportsMultipleSystemMessages", Kind::Flag),
    ("supportsReasoningEffort", Kind::Flag),
    ("reasoningEffortMap", Kind::Levels),
    ("supportsUsageInStreaming", Kind::Flag),
    ("maxTokensField", Kind::OneOf(&["max_tokens", "max_completion_tokens"])),
    ("requiresToolResultName", Kind::Flag),
    ("requiresAssistantAfterToolResult", Kind::Flag),
    ("requiresThinkingAsText", Kind::Flag),
    ("requiresMistralToolIds", Kind::Flag),
    ("thinkingFormat", Kind::OneOf(&["openai", "openrouter", "zai", "qwen", "qwen-chat-template"])),
    ("reasoningContentField", Kind::OneOf(&["reasoning_content", "reasoning", "reasoning_text"])),
    ("requiresReasoningContentForToolCalls", Kind::Flag),
    ("allowsSyntheticReasoningContentForToolCalls", Kind::Flag),
    ("requiresAssistantContentForToolCalls", Kind::Flag),
    ("supportsToolChoice", Kind::Flag),
    ("disableReasoningOnForcedToolChoice", Kind::Flag),
    ("disableReasoningOnToolChoice", Kind::Flag),
    ("supportsStrictMode", Kind::Flag),
    ("toolStrictMode", Kind::OneOf(&["all_strict", "none"])),
    ("openRouterRouting", Kind::Object),
    ("vercelGatewayRouting", Kind::Object),
    ("extraBody", Kind::Object),
];

/// The keys of a request that `extraBody` cannot replace: without them it would be another one.
const OWN_KEYS: [&str; 4] = ["model", "messages", "stream", "tools"];

/// Parses `compat`.
pub(super) fn compat(
    fields: &mut Fields<'_>,
    warnings: &mut Vec<Mistake>,
) -> Result<CompatSwitches, Mistake> {
    let Some((_, node)) = fields.take("compat") else { return Ok(CompatSwitches::new()) };
    let mut given = Fields::of(node, fields.key("compat"))?;
    let (mut switches, mut one_system_message) = (CompatSwitches::new(), None);
    for (name, kind) in SWITCHES {
        let Some((line, node)) = given.take(name) else { continue };
        let value = kind.read(node).ok_or_else(|| given.mistake(line, name, &kind.expected()))?;
        let own = OWN_KEYS.iter().find(|own| value.get(**own).is_some());
        if let (Some(own), "extraBody") = (own, name) {
            let message = format!("`{}` must not have `{own}`", given.key(name));
            return Err(Mistake::in_line(line, message));
        }
        if name == "supportsMultipleSystemMessages" {
            one_system_message = Some(line);
        }
        switches.insert(name.to_owned(), value);
    }
    if let Some(line) = one_system_message {
        let key = given.key("supportsMultipleSystemMessages");
        let message = format!("`{key}` has no effect: requests have one system message");
        warnings.push(Mistake::in_line(line, message));
    }
    given.rest(&[], warnings);
    Ok(switches)
}

impl Kind {
    fn read(self, node: &Node) -> Option<Json> {
        match (self, &node.value) {
            (Self::Flag, Value::Bool(flag)) => Some(Json::Bool(*flag)),
            (Self::OneOf(words), Value::Text(text)) => {
                words.contains(&text.as_str()).then(|| Json::from(text.as_str()))
            }
            (Self::Levels, Value::Map(members)) => {
                let level = |(name, value): &(Node, Node)| {
                    let name = name.value.as_name()?;
                    let known = name.parse::<protocol::ThinkingLevel>().is_ok();
                    Some((name, json(value)?)).filter(|(_, it)| known && it.is_string())
                };
                members.iter().map(level).collect::<Option<Map<_, _>>>().map(Json::Object)
            }
            (Self::Object, Value::Map(_)) => json(node),
            _ => None,
        }
    }

    fn expected(self) -> String {
        match self {
            Self::Flag => "`true` or `false`".to_owned(),
            Self::OneOf(words) => format!("one of {}", words.join(", ")),
            Self::Levels => "a mapping of thinking levels to texts".to_owned(),
            Self::Object => "a mapping".to_owned(),
        }
    }
}

/// Returns a value as JSON.
fn json(node: &Node) -> Option<Json> {
    Some(match &node.value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Integer(number) => Json::from(*number),
        Value::Number(text) => {
            let whole = text.parse::<i64>().ok().map(Number::from);
            Json::Number(whole.or_else(|| Number::from_f64(text.parse().ok()?))?)
        }
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(list) => Json::Array(list.iter().map(json).collect::<Option<_>>()?),
        Value::Map(members) => {
            let member = |(name, value): &(Node, Node)| Some((name.value.as_name()?, json(value)?));
            Json::Object(members.iter().map(member).collect::<Option<_>>()?)
        }
    })
}
