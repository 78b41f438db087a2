//! Plans in YAML. The text may be hostile: its depth, its aliases and its documents are limited.

use std::fmt;

use protocol::quote_within;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::{Error, Location, MessageFormatter, Spanned, UserMessageFormatter};

use super::super::node::{DEPTH, Key, Mistake, Node, NodeValue};

/// The limits of values and of aliases. Plans may be long, but are written by hand or by a program.
const NODES: usize = 4_000_000;
const ALIASES: usize = 1_000;
const REPLAYED: usize = 100_000;

/// The longest error message, in characters.
const MESSAGE: usize = 200;

pub(super) fn parse(text: &str) -> Result<Node, Mistake> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH,
            flow_nesting_limit: DEPTH,
            max_nodes: NODES,
            max_events: 4 * NODES,
            max_aliases: ALIASES,
            max_anchors: ALIASES,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: REPLAYED,
            max_replay_stack_depth: DEPTH,
        },
        with_snippet: false,
        strict_booleans: true,
    };
    let read: Result<YamlNode, _> = serde_saphyr::from_str_with_options(text, options);
    match read {
        Ok(YamlNode(node)) => Ok(node),
        Err(error) => {
            let error = error.without_snippet();
            let message = match expands_too_much(error) {
                true => "its aliases expand to too much".into(),
                false => UserMessageFormatter.format_message(error),
            };
            let start =
                error.location().map(|location| offset(text, &location)).unwrap_or_default();
            let span = start..start;
            Err(Mistake::new(span, quote_within(&message, MESSAGE)))
        }
    }
}

/// Returns whether an error is that what the aliases stand for exceeds its limits.
fn expands_too_much(error: &Error) -> bool {
    match error.without_snippet() {
        Error::AliasError { error, .. } => expands_too_much(error),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => true,
        _ => false,
    }
}

/// Returns the position of an error in the text. Of some, only the line and the column are known.
fn offset(text: &str, location: &Location) -> usize {
    let number = |number: u64| usize::try_from(number).unwrap_or_default();
    if let Some(at) = location.span().byte_offset() {
        return number(at).min(text.len());
    }
    let before = text.split_inclusive('\n').take(number(location.line()).saturating_sub(1));
    let line = before.map(str::len).sum::<usize>();
    let columns = text[line..].char_indices().map(|(at, _)| line + at);
    columns.take(number(location.column()).max(1)).last().unwrap_or(line)
}

struct YamlNode(Node);

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value: YamlValue(value), referenced, .. } =
            Spanned::<YamlValue>::deserialize(deserializer)?;
        let number = |number: Option<u64>| number.and_then(|it| usize::try_from(it).ok());
        let span = referenced.span();
        let start = number(span.byte_offset()).unwrap_or_default();
        let length = number(span.byte_len()).unwrap_or_default();
        Ok(Self(Node { span: start..start + length, value }))
    }
}

struct YamlValue(NodeValue);

impl<'de> Deserialize<'de> for YamlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = NodeValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<NodeValue, E> {
        Ok(NodeValue::Null)
    }

    fn visit_none<E>(self) -> Result<NodeValue, E> {
        Ok(NodeValue::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<NodeValue, E> {
        Ok(NodeValue::Bool(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<NodeValue, E> {
        Ok(NodeValue::Number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<NodeValue, E> {
        Ok(NodeValue::Number(number.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<NodeValue, E> {
        let number = Number::from_f64(number);
        number.map(NodeValue::Number).ok_or_else(|| E::custom("`nan` and `inf` are not allowed"))
    }

    fn visit_str<E>(self, text: &str) -> Result<NodeValue, E> {
        Ok(NodeValue::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<NodeValue, A::Error> {
        let mut list = Vec::new();
        while let Some(YamlNode(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(NodeValue::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<NodeValue, A::Error> {
        let mut map = Vec::new();
        while let Some((YamlNode(key), YamlNode(value))) = entries.next_entry()? {
            let Node { span, value: NodeValue::Text(name) } = key else {
                return Err(serde::de::Error::custom("a key is a text"));
            };
            map.push((Key { span, name }, value));
        }
        Ok(NodeValue::Map(map))
    }
}
