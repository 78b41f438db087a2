//! Plans in TOML.

use serde_json::Number;
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::node::{Key, Mistake, Node, NodeValue};

pub(super) fn parse(text: &str) -> Result<Node, Mistake> {
    let table = DeTable::parse(text).map_err(|error| {
        Mistake::new(error.span().unwrap_or_default(), error.message().trim_end())
    })?;
    Ok(Node { span: table.span(), value: map(table.get_ref())? })
}

fn map(table: &DeTable<'_>) -> Result<NodeValue, Mistake> {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = key.get_ref();
        Ok((Key { span: key.span(), name: name.clone().into_owned() }, node(value)?))
    };
    let mut entries: Vec<_> = table.iter().map(entry).collect::<Result<_, _>>()?;
    entries.sort_by_key(|(key, _)| key.span.start);
    Ok(NodeValue::Map(entries))
}

fn node(value: &Spanned<DeValue<'_>>) -> Result<Node, Mistake> {
    let span = value.span();
    let mistake = |message: &str| Mistake::new(span.clone(), message);
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
            let parsed = parsed.ok_or_else(|| mistake("there is no such number in a plan"))?;
            NodeValue::Number(parsed)
        }
        DeValue::Datetime(_) => return Err(mistake("a plan has no dates; write it in quotes")),
        DeValue::Array(items) => NodeValue::List(items.iter().map(node).collect::<Result<_, _>>()?),
        DeValue::Table(table) => map(table)?,
    };
    Ok(Node { span, value })
}
