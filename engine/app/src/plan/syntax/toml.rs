//! Plans in TOML.

use std::panic::resume_unwind;
use std::thread;

use serde_json::Number;
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::node::{DEPTH, Key, Node, NodeValue, ValueError};

/// The stack of the thread that parses. The parser limits inline tables to 80 levels and dotted keys to 79,
/// but not one in the other, and takes a frame for each level when it frees what it has parsed.
const STACK: usize = 64 << 20;

pub(super) fn parse(text: &str) -> Result<Node, ValueError> {
    thread::scope(|scope| {
        let started = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || parsed(text));
        let started = started
            .map_err(|error| ValueError::new(0..0, format!("it cannot be parsed: {error}")))?;
        started.join().unwrap_or_else(|panicked| resume_unwind(panicked))
    })
}

fn parsed(text: &str) -> Result<Node, ValueError> {
    let table = DeTable::parse(text).map_err(|error| {
        ValueError::new(error.span().unwrap_or_default(), error.message().trim_end())
    })?;
    Ok(Node { span: table.span(), value: map(table.get_ref(), DEPTH)? })
}

/// Returns the tree of a table, in which values may be nested `depth` deep: dotted keys nest more deeply than
/// the parser does.
fn map(table: &DeTable<'_>, depth: usize) -> Result<NodeValue, ValueError> {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = key.get_ref();
        Ok((Key { span: key.span(), name: name.clone().into_owned() }, node(value, depth)?))
    };
    let mut entries: Vec<_> = table.iter().map(entry).collect::<Result<_, _>>()?;
    entries.sort_by_key(|(key, _)| key.span.start);
    Ok(NodeValue::Map(entries))
}

fn node(value: &Spanned<DeValue<'_>>, depth: usize) -> Result<Node, ValueError> {
    let span = value.span();
    let mistake = |message: &str| ValueError::new(span.clone(), message);
    let depth = depth.checked_sub(1).ok_or_else(|| mistake("it is too deeply nested"))?;
    let value = match value.get_ref() {
        DeValue::String(text) => NodeValue::Text(text.clone().into_owned()),
        DeValue::Boolean(flag) => NodeValue::Bool(*flag),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            let parsed = parsed.map_err(|_error| mistake("this number is too large"))?;
            NodeValue::Number(parsed.into())
        }
        DeValue::Float(number) => {
            let parsed = number.as_str().parse().ok().and_then(Number::from_f64);
            let parsed = parsed.ok_or_else(|| mistake("`nan` and `inf` are not allowed"))?;
            NodeValue::Number(parsed)
        }
        DeValue::Datetime(_) => {
            return Err(mistake("dates are not supported; quote the value"));
        }
        DeValue::Array(items) => {
            let items = items.iter().map(|item| node(item, depth));
            NodeValue::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => map(table, depth)?,
    };
    Ok(Node { span, value })
}
