//! A plan as a tree of values with their places in the text, whichever syntax it is written in, and
//! its deserialization.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;

use config::Mistake;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Number;
use serde_spanned::de::{SpannedDeserializer, is_spanned};

/// The deepest nesting of lists and tables.
pub(super) const DEPTH: usize = config::yaml::DEPTH;

/// A value, and the bytes of the text at which it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) value: NodeValue,
}

/// A value. The entries of a map are in the order of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodeValue {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// The key of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) span: Range<usize>,
    pub(super) name: String,
}

/// What is wrong with a value, and its place where it is known.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub(super) struct ValueError {
    pub(super) span: Option<Range<usize>>,
    pub(super) message: String,
}

impl Node {
    /// Returns the entries of a map; none for another value.
    pub(super) fn entries(&self) -> &[(Key, Self)] {
        match &self.value {
            NodeValue::Map(entries) => entries,
            NodeValue::Null
            | NodeValue::Bool(_)
            | NodeValue::Number(_)
            | NodeValue::Text(_)
            | NodeValue::List(_) => &[],
        }
    }

    /// Returns the items of a list; none for another value.
    pub(super) fn items(&self) -> &[Self] {
        match &self.value {
            NodeValue::List(items) => items,
            NodeValue::Null
            | NodeValue::Bool(_)
            | NodeValue::Number(_)
            | NodeValue::Text(_)
            | NodeValue::Map(_) => &[],
        }
    }

    /// Returns the key of each value that is not a map and not the list of tasks, by the place at which the
    /// value begins. The items of a list have its key.
    pub(super) fn keys(&self) -> BTreeMap<usize, String> {
        fn collect(node: &Node, key: Option<&str>, keys: &mut BTreeMap<usize, String>) {
            for (key, value) in node.entries() {
                collect(value, Some(&key.name), keys);
            }
            for item in node.items() {
                collect(item, key, keys);
            }
            let is_map = |node: &Node| matches!(node.value, NodeValue::Map(_));
            let is_tasks = |key: &str| key == "task" && node.items().iter().any(is_map);
            if let Some(key) = key.filter(|key| !is_map(node) && !is_tasks(key)) {
                let _first = keys.entry(node.span.start).or_insert_with(|| key.to_owned());
            }
        }
        let mut keys = BTreeMap::new();
        collect(self, None, &mut keys);
        keys
    }
}

impl ValueError {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span: Some(span), message: message.into() }
    }

    /// Returns the mistake in the text of the plan.
    pub(super) fn in_text(self, text: &str) -> Mistake {
        Mistake::at(text, self.span.unwrap_or_default().start, self.message)
    }
}

impl serde::de::Error for ValueError {
    fn custom<T: Display>(message: T) -> Self {
        Self { span: None, message: message.to_string() }
    }
}

impl<'de> IntoDeserializer<'de, ValueError> for Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Node {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let Self { span, value } = self;
        let read = match value {
            NodeValue::Null => visitor.visit_unit(),
            NodeValue::Bool(flag) => visitor.visit_bool(flag),
            NodeValue::Number(number) => {
                match (number.as_i64(), number.as_u64(), number.as_f64()) {
                    (Some(number), _, _) => visitor.visit_i64(number),
                    (None, Some(number), _) => visitor.visit_u64(number),
                    (None, None, Some(number)) => visitor.visit_f64(number),
                    (None, None, None) => Err(ValueError::custom("it is not a number")),
                }
            }
            NodeValue::Text(text) => visitor.visit_string(text),
            NodeValue::List(items) => visitor.visit_seq(SeqDeserializer::new(items.into_iter())),
            NodeValue::Map(entries) => {
                let entries = entries.into_iter().map(|(key, value)| (key.name, value));
                visitor.visit_map(MapDeserializer::new(entries))
            }
        };
        // The innermost value is to blame.
        read.map_err(|error| ValueError { span: error.span.or(Some(span)), ..error })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        if self.value == NodeValue::Null { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        if is_spanned(name) {
            let span = self.span.clone();
            return visitor.visit_map(SpannedDeserializer::new(self, span));
        }
        if matches!(self.value, NodeValue::List(_)) {
            // A table would be read from the items of a list, in the order of its keys.
            return Err(ValueError::new(self.span, "invalid type: list, expected a map"));
        }
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
