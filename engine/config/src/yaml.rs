//! Parses YAML into a tree whose nodes have line numbers. The text may be hostile: its size, depth,
//! aliases and documents are limited.

use std::fmt;

use protocol::quote_within;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{MessageFormatter, Spanned, UserMessageFormatter};

/// A value with its line, from 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) line: u64,
    pub(crate) value: Value,
}

/// A YAML value. An empty value is null.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Integer(u64),
    /// Any other number, as text.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// A syntax error, with its line and, where it is known, its column, from 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) line: u64,
    pub(crate) column: Option<u64>,
    pub(crate) message: String,
}

/// The limits of depth, size and aliases.
const DEPTH: usize = 16;
const NODES: usize = 20_000;
const ALIASES: usize = 100;

/// The longest error message, in characters.
const MESSAGE: usize = 200;

/// Parses one document. An empty text is null.
pub(crate) fn read(text: &str) -> Result<Node, Malformed> {
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
            max_total_replayed_events: NODES,
            max_replay_stack_depth: DEPTH,
        },
        with_snippet: false,
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let message = UserMessageFormatter.format_message(error.without_snippet()).into_owned();
        let place = error.location();
        let line = place.map_or(1, |place| place.line().max(1));
        let column = place.map(|place| place.column()).filter(|column| *column > 0);
        Malformed { line, column, message: quote_within(&message, MESSAGE) }
    })
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { line: referenced.line().max(1), value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Integer(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(u64::try_from(number)
            .map_or_else(|_negative| Value::Number(number.to_string()), Value::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        while let Some(member) = members.next_entry()? {
            map.push(member);
        }
        Ok(Value::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: u64, text: &str) -> Node {
        Node { line, value: Value::Text(text.to_owned()) }
    }

    #[test]
    fn a_node_knows_its_line() {
        let node =
            read("# nothing\na: x\nb:\n  - 20m\n  - -1\n  - 7\n  - on\n  - true\n  -\n").unwrap();
        let line = |line, value| Node { line, value };
        let list = Value::List(vec![
            text(4, "20m"),
            line(5, Value::Number("-1".to_owned())),
            line(6, Value::Integer(7)),
            text(7, "on"),
            line(8, Value::Bool(true)),
            line(9, Value::Null),
        ]);
        let map = vec![(text(2, "a"), text(2, "x")), (text(3, "b"), line(4, list))];
        assert_eq!(node.value, Value::Map(map));
    }

    #[test]
    fn an_empty_text_is_null() {
        for empty in ["", "\n\n", "# only a remark\n", "---\n", "\u{feff}"] {
            assert_eq!(read(empty).map(|node| node.value), Ok(Value::Null), "{empty:?}");
        }
    }

    #[test]
    fn what_is_not_yaml_is_refused_with_its_line() {
        for (bad, line) in [
            ("a: 1\nb: [1, 2\n", 2),
            ("a: 1\na: 2\n", 2),
            ("a: \"x\n", 2),
            ("a:\n  b: 1\n c: 2\n", 3),
            ("a: *b", 1),
        ] {
            let malformed = read(bad).unwrap_err();
            assert_eq!(malformed.line, line, "{bad:?}: {malformed:?}");
            assert!(!malformed.message.is_empty());
        }
    }

    #[test]
    fn a_hostile_text_is_refused() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            bomb += &format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(", "));
        }
        let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
        let indented: String = (0..200).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        let endless = "a: &a [*a]\n".to_owned();
        let long = "- x\n".repeat(100_000);
        let many = "--- 1\n".repeat(10);
        for hostile in [bomb, deep, indented, endless, long, many] {
            let began = std::time::Instant::now();
            let malformed = read(&hostile).unwrap_err();
            assert!(malformed.message.len() <= 4 * MESSAGE, "{malformed:?}");
            assert!(began.elapsed().as_secs() < 30);
        }
    }

    #[test]
    fn no_text_makes_reading_panic() {
        const PIECES: [&str; 28] = [
            "a",
            ":",
            " ",
            "\n",
            "- ",
            "[",
            "]",
            "{",
            "}",
            ",",
            "&a ",
            "*a",
            "? ",
            "<<: ",
            "|\n",
            ">-\n",
            "\"",
            "'",
            "#",
            "!!int ",
            "!!binary ",
            "---\n",
            "...\n",
            "%YAML 1.2\n",
            "\t",
            "\u{feff}",
            "é\u{0}",
            "9e999",
        ];
        let mut seed: u64 = 7;
        let mut next = |below: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap() % below
        };
        let mut accepted = 0;
        for _ in 0..3_000 {
            let text: String = (0..next(24)).map(|_| PIECES[next(PIECES.len())]).collect();
            accepted += usize::from(read(&text).is_ok());
        }
        assert!(accepted > 0);
    }
}
