//! Parses YAML, of settings, of the file of models and of plans, into a tree whose nodes have their places.
//! The text may be hostile: its size, depth, aliases and documents are limited.

use std::fmt;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

use protocol::quote_within;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Error, MessageFormatter, Spanned, UserMessageFormatter};

use crate::mistake::Mistake;

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The line, from 1.
    pub line: u64,
    /// The bytes at which it stands in the text that was parsed.
    pub span: Range<usize>,
    /// The value.
    pub value: Value,
}

/// A YAML value. An empty value is null.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number that is not negative.
    Integer(u64),
    /// Any other number, as text.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// The keys and values of a mapping, in the order of the text.
    Map(Vec<(Node, Node)>),
}

/// The deepest nesting of lists and mappings.
pub const DEPTH: usize = 64;

/// The limits of values and of aliases. A plan may be long, but is written by hand or by a program.
const NODES: usize = 4_000_000;
const ALIASES: usize = 1_000;
const REPLAYED: usize = 100_000;

/// The longest error message, in characters.
const MESSAGE: usize = 200;

/// The stack of the thread that parses. The parser takes some frames for each level, and the caller may have
/// little room.
const STACK: usize = 16 << 20;

/// Parses one document. An empty text is null.
///
/// # Errors
/// The text is not YAML, or exceeds a limit.
pub fn read(text: &str) -> Result<Node, Mistake> {
    thread::scope(|scope| {
        let started = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || parsed(text));
        let started = started
            .map_err(|error| Mistake::in_line(1, format!("it cannot be parsed: {error}")))?;
        started.join().unwrap_or_else(|panicked| resume_unwind(panicked))
    })
}

fn parsed(text: &str) -> Result<Node, Mistake> {
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
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let place = error.location();
        let line = place.map_or(1, |place| place.line().max(1));
        let column = place.map(|place| place.column()).filter(|column| *column > 0);
        Mistake { line, column, message: quote_within(&message(&error), MESSAGE) }
    })
}

/// Returns what is wrong with a text.
fn message(error: &Error) -> String {
    match error.without_snippet() {
        Error::MultipleDocuments { .. }
        | Error::Budget { breach: BudgetBreach::Documents { .. }, .. } => {
            "a second document begins (`---`), and only one is allowed".to_owned()
        }
        error if expands_too_much(error) => "its aliases expand to too much".to_owned(),
        error => UserMessageFormatter.format_message(error).into_owned(),
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

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::<Value>::deserialize(deserializer)?;
        let bytes = |number: Option<u64>| number.and_then(|it| usize::try_from(it).ok());
        let start = bytes(referenced.span().byte_offset()).unwrap_or_default();
        let length = bytes(referenced.span().byte_len()).unwrap_or_default();
        Ok(Self { line: referenced.line().max(1), span: start..start + length, value })
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

    /// Returns the scalars of a tree, each with its line.
    fn scalars(node: &Node) -> Vec<(u64, Value)> {
        match &node.value {
            Value::List(nodes) => nodes.iter().flat_map(scalars).collect(),
            Value::Map(members) => members
                .iter()
                .flat_map(|(key, node)| [scalars(key), scalars(node)].concat())
                .collect(),
            scalar => vec![(node.line, scalar.clone())],
        }
    }

    #[test]
    fn a_node_knows_its_place() {
        let source = "# ä\na: x\nb:\n  - 20m\n  - -1\n  - 7\n  - on\n  - true\n  -\n";
        let node = read(source).unwrap();
        let text = |text: &str| Value::Text(text.to_owned());
        let expected = [
            (2, text("a")),
            (2, text("x")),
            (3, text("b")),
            (4, text("20m")),
            (5, Value::Number("-1".to_owned())),
            (6, Value::Integer(7)),
            (7, text("on")),
            (8, Value::Bool(true)),
            (9, Value::Null),
        ];
        assert_eq!(scalars(&node), expected);
        let Value::Map(members) = node.value else { panic!("it is a mapping") };
        assert_eq!(source[members[0].1.span.clone()], *"x");
    }

    #[test]
    fn a_second_document_is_named() {
        for text in ["a: 1\n---\nb: 2\n", "--- 1\n--- 2\n", "a: 1\n...\n---\nb: [\n"] {
            let mistake = read(text).unwrap_err();
            assert!(mistake.message.starts_with("a second document begins"), "{text}: {mistake}");
            assert!(mistake.line > 1, "{text}: {mistake}");
        }
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
            let mistake = read(bad).unwrap_err();
            assert_eq!(
                (mistake.line, mistake.column.is_some()),
                (line, true),
                "{bad:?}: {mistake}"
            );
            assert!(!mistake.message.is_empty());
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
        let many = "--- 1\n".repeat(10);
        for hostile in [bomb, deep, indented, endless, many] {
            let mistake = read(&hostile).unwrap_err();
            assert!(mistake.message.len() <= 4 * MESSAGE, "{mistake:?}");
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
