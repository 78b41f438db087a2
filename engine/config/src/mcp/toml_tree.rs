//! TOML as a tree whose nodes have their places.

use std::panic::resume_unwind;
use std::thread;

use toml::de::{DeTable, DeValue};

use super::lines::Lines;
use crate::mistake::Mistake;
use crate::yaml::{DEPTH, Node, Value};

/// The stack of the thread that parses: the parser takes a frame for each level, of which dotted keys make many.
const STACK: usize = 64 << 20;

/// Parses a document.
///
/// # Errors
/// The text is not TOML, or is nested too deeply.
pub(super) fn read(text: &str) -> Result<Node, Mistake> {
    thread::scope(|scope| {
        let started = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || parsed(text));
        let started = started
            .map_err(|error| Mistake::in_line(1, format!("it cannot be parsed: {error}")))?;
        started.join().unwrap_or_else(|panicked| resume_unwind(panicked))
    })
}

fn parsed(text: &str) -> Result<Node, Mistake> {
    let lines = Lines::of(text);
    let table = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        // The text of the error may quote the file, which may have secrets.
        Mistake::in_line(lines.of_offset(offset), "it is not valid TOML")
    })?;
    let value = map(table.get_ref(), &lines, DEPTH)?;
    Ok(Node { line: 1, span: table.span(), value })
}

fn map(table: &DeTable<'_>, lines: &Lines, depth: usize) -> Result<Value, Mistake> {
    let mut members = Vec::with_capacity(table.len());
    for (key, value) in table {
        let span = key.span();
        let line = lines.of_offset(span.start);
        let name = Value::Text(key.get_ref().clone().into_owned());
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Mistake::in_line(line, "it is nested too deeply"));
        };
        let node = Node {
            line: lines.of_offset(value.span().start),
            span: value.span(),
            value: of_value(value.get_ref(), lines, line, depth)?,
        };
        members.push((Node { line, span, value: name }, node));
    }
    members.sort_by_key(|(key, _)| key.span.start);
    Ok(Value::Map(members))
}

/// Returns a value that begins in a line.
fn of_value(value: &DeValue<'_>, lines: &Lines, line: u64, depth: usize) -> Result<Value, Mistake> {
    Ok(match value {
        DeValue::String(text) => Value::Text(text.clone().into_owned()),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_other| Value::Number(number.as_str().to_owned()), Value::Integer),
        DeValue::Float(number) => Value::Number(number.as_str().to_owned()),
        DeValue::Datetime(time) => Value::Text(time.to_string()),
        DeValue::Array(items) => {
            let Some(depth) = depth.checked_sub(1) else {
                return Err(Mistake::in_line(line, "it is nested too deeply"));
            };
            let item = |item: &toml::Spanned<DeValue<'_>>| {
                let line = lines.of_offset(item.span().start);
                let value = of_value(item.get_ref(), lines, line, depth)?;
                Ok(Node { line, span: item.span(), value })
            };
            Value::List(items.iter().map(item).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => map(table, lines, depth)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_the_lines_of_their_keys_and_a_mistake_that_of_its_place() {
        let text = "model = 'x'\n[mcp_servers.a]\ncommand = 'npx'\nargs = ['-y', 1]\n[mcp_servers.b]\nurl = 'u'\n";
        let node = read(text).unwrap();
        let Value::Map(members) = &node.value else { panic!("it is a table") };
        let Value::Map(servers) = &members[1].1.value else { panic!("it is a table") };
        let lines: Vec<_> = servers.iter().map(|(key, _)| key.line).collect();
        assert_eq!(lines, [2, 5]);
        let mistake = read("a = 1\nb = canary\n").unwrap_err();
        assert_eq!((mistake.line, mistake.message.as_str()), (2, "it is not valid TOML"));
        let dotted = format!("a{} = 1", ".a".repeat(70));
        assert!(read(&dotted).unwrap_err().message.contains("nested"));
    }
}
