//! Raw values of settings as JSON, and lists of two layers as one.

use serde_json::Value as Json;

use crate::value::RawValue;
use crate::yaml::{Node, Value};

impl RawValue {
    /// Returns the value as JSON; the text of a variable or an option as it is.
    pub(crate) fn to_json(&self) -> Json {
        match self {
            Self::Yaml(value) => to_json(value),
            Self::Text(text) => text.as_str().into(),
        }
    }

    /// Returns a list of what is in both values, which may also be single entries.
    pub(crate) fn joined(&self, more: &Self) -> Self {
        let nodes = |given: &Self| match given {
            Self::Yaml(Value::List(nodes)) => nodes.clone(),
            Self::Yaml(Value::Null) => Vec::new(),
            Self::Yaml(value) => vec![Node { line: 1, span: 0..0, value: value.clone() }],
            Self::Text(text) => {
                vec![Node { line: 1, span: 0..0, value: Value::Text(text.clone()) }]
            }
        };
        let mut all = nodes(self);
        all.extend(nodes(more));
        Self::Yaml(Value::List(all))
    }
}

pub(crate) fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(flag) => (*flag).into(),
        Value::Integer(number) => (*number).into(),
        Value::Number(number) => {
            number.parse::<f64>().map_or_else(|_odd| number.as_str().into(), Json::from)
        }
        Value::Text(text) => text.as_str().into(),
        Value::List(nodes) => nodes.iter().map(|node| to_json(&node.value)).collect(),
        Value::Map(members) => {
            let named = |(name, node): &(Node, Node)| {
                (name.value.as_name().unwrap_or_default(), to_json(&node.value))
            };
            Json::Object(members.iter().map(named).collect())
        }
    }
}
