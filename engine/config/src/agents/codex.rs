//! The files of Codex's agents, which are TOML.

use crate::agents::frontmatter::Field;
use crate::mistake::Mistake;
use crate::yaml::{Node, Value};

/// Returns the fields of a file.
pub(super) fn fields(text: &str) -> Result<Vec<Field>, Mistake> {
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        Mistake::at(text, offset, format!("it is not TOML: {}", error.message()))
    })?;
    let field = |(key, value): (String, toml::Value)| {
        let begins = |line: &str| {
            let name = line.trim_start().trim_start_matches(['[', '"']);
            let rest = name.strip_prefix(key.as_str());
            rest.is_some_and(|it| it.trim_start().starts_with(['=', '.', ']', '"']))
        };
        let line = text.lines().position(begins).unwrap_or_default();
        let line = u64::try_from(line).unwrap_or(u64::MAX).saturating_add(1);
        Field { key, line, value: yaml(value, line) }
    };
    Ok(table.into_iter().map(field).collect())
}

/// Returns a value of TOML, which begins in a line, as one of the YAML below the first line of a file.
fn yaml(value: toml::Value, line: u64) -> Value {
    let node = |value| Node { line: line.saturating_sub(1), span: 0..0, value };
    match value {
        toml::Value::String(text) => Value::Text(text),
        toml::Value::Integer(number) => u64::try_from(number)
            .map_or_else(|_negative| Value::Number(number.to_string()), Value::Integer),
        toml::Value::Float(number) => Value::Number(number.to_string()),
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Datetime(time) => Value::Text(time.to_string()),
        toml::Value::Array(items) => {
            Value::List(items.into_iter().map(|item| node(yaml(item, line))).collect())
        }
        toml::Value::Table(table) => {
            let members = table.into_iter();
            let member = |(key, value)| (node(Value::Text(key)), node(yaml(value, line)));
            Value::Map(members.map(member).collect())
        }
    }
}
