//! Plans in YAML.

use std::ops::Range;

use config::Mistake;
use config::yaml::{self, Value};
use serde_json::Number;

use super::super::node::{Key, Node, NodeValue, ValueError};

pub(super) fn parse(text: &str) -> Result<Node, Mistake> {
    node(yaml::read(text)?).map_err(|error| error.in_text(text))
}

/// Returns the tree of a value. Its depth is limited by the parser.
fn node(read: yaml::Node) -> Result<Node, ValueError> {
    let yaml::Node { span, value, .. } = read;
    let value = match value {
        Value::Null => NodeValue::Null,
        Value::Bool(flag) => NodeValue::Bool(flag),
        Value::Integer(number) => NodeValue::Number(number.into()),
        Value::Number(text) => NodeValue::Number(number(&text, &span)?),
        Value::Text(text) => NodeValue::Text(text),
        Value::List(items) => {
            NodeValue::List(items.into_iter().map(node).collect::<Result<_, _>>()?)
        }
        Value::Map(entries) => {
            let entry = |(key, value): (yaml::Node, yaml::Node)| {
                let Value::Text(name) = key.value else {
                    return Err(ValueError::new(key.span, "a key is a text"));
                };
                Ok((Key { span: key.span, name }, node(value)?))
            };
            NodeValue::Map(entries.into_iter().map(entry).collect::<Result<_, _>>()?)
        }
    };
    Ok(Node { span, value })
}

/// Returns a number that is negative or has a fraction.
fn number(text: &str, span: &Range<usize>) -> Result<Number, ValueError> {
    let whole = text.parse::<i64>().map(Number::from).ok();
    let number = whole.or_else(|| text.parse().ok().and_then(Number::from_f64));
    number.ok_or_else(|| ValueError::new(span.clone(), "`nan` and `inf` are not allowed"))
}
