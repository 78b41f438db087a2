//! Changes one value in the text of a JSON file, so that all else stays as it is: comments, order and unknown keys.

use std::ops::Range;

use serde_json::{Map, Value as Json};

use super::files::member;
use super::jsonc::{self, end_of_comment};
use crate::mistake::Mistake;
use crate::yaml::{Node, Value};

/// Sets the value at a path of keys. Objects that are not there are made.
///
/// # Errors
/// The text is not JSON, or a value on the path is not an object.
pub(super) fn set(text: &str, keys: &[&str], value: &Json) -> Result<String, Mistake> {
    let root = jsonc::read(text)?;
    if root.value == Value::Null {
        let remarks = text.trim_end();
        let gap = if remarks.is_empty() { "" } else { "\n" };
        return set(&format!("{remarks}{gap}{{}}\n"), keys, value);
    }
    let (object, rest) = deepest(&root, keys);
    let Value::Map(members) = &object.value else {
        let key = keys[..keys.len() - rest.len()].join(".");
        let what = if key.is_empty() { "the file".to_owned() } else { format!("`{key}`") };
        return Err(Mistake::in_line(object.line, format!("{what} is not an object")));
    };
    let Some((name, below)) = rest.split_first() else { return Ok(text.to_owned()) };
    let value = below.iter().rev().fold(value.clone(), |value, key| {
        Json::Object(Map::from_iter([((*key).to_owned(), value)]))
    });
    Ok(match member(object, name) {
        Some(old) => {
            let indent = indent_of_line(text, old.span.start);
            replaced(text, old.span.clone(), &printed(&value, indent))
        }
        None => inserted(text, (object, members), name, &value),
    })
}

/// Removes the value at a path of keys; `None` if there is none.
///
/// # Errors
/// The text is not JSON.
pub(super) fn remove(text: &str, keys: &[&str]) -> Result<Option<String>, Mistake> {
    let root = jsonc::read(text)?;
    let Some((name, path)) = keys.split_last() else { return Ok(None) };
    let Some(object) = path.iter().try_fold(&root, |node, key| member(node, key)) else {
        return Ok(None);
    };
    let Value::Map(members) = &object.value else { return Ok(None) };
    let is_named = |(key, _): &(Node, Node)| matches!(&key.value, Value::Text(it) if it == name);
    let Some(index) = members.iter().position(is_named) else { return Ok(None) };
    let (key, value) = &members[index];
    let mut cut = key.span.start..value.span.end;
    let mut comma = None;
    match comma_after(text, value.span.end) {
        Some(after) => cut.end = after + 1,
        None if index > 0 => comma = comma_after(text, members[index - 1].1.span.end),
        None => {}
    }
    let left = replaced(text, whole_lines(text, cut), "");
    let left = match comma {
        Some(comma) => replaced(&left, comma..comma + 1, ""),
        None => left,
    };
    // A name may be there twice.
    Ok(Some(remove(&left, keys)?.unwrap_or(left)))
}

/// Returns the deepest object on a path of keys, and the keys below it. Of the last key, the value may be anything.
fn deepest<'n, 'k>(root: &'n Node, keys: &'k [&'k str]) -> (&'n Node, &'k [&'k str]) {
    let (mut node, mut rest) = (root, keys);
    while let [key, more @ ..] = rest
        && !more.is_empty()
        && let Some(below) = member(node, key)
        && below.value != Value::Null
    {
        (node, rest) = (below, more);
    }
    (node, rest)
}

/// Returns the text with a new member at the end of an object.
fn inserted(
    text: &str,
    (object, members): (&Node, &[(Node, Node)]),
    name: &str,
    value: &Json,
) -> String {
    let key = Json::from(name).to_string();
    let Some((last_key, last_value)) = members.last() else {
        let outer = indent_of_line(text, object.span.start);
        let indent = format!("{outer}  ");
        let value = printed(value, &indent);
        let rest = &text[object.span.start + 1..object.span.end - 1];
        let end = if rest.contains('\n') { String::new() } else { format!("\n{outer}") };
        let at = object.span.start + 1;
        return replaced(text, at..at, &format!("\n{indent}{key}: {value}{end}"));
    };
    let indent = indent_of_line(text, last_key.span.start);
    let is_own_line = text[..last_key.span.start].ends_with(indent)
        && text[..last_key.span.start - indent.len()].ends_with('\n');
    let before = if is_own_line { format!("\n{indent}") } else { " ".to_owned() };
    let member = format!("{before}{key}: {}", printed(value, indent));
    match comma_after(text, last_value.span.end) {
        Some(comma) => {
            let at = end_of_remark(text, comma + 1);
            replaced(text, at..at, &member)
        }
        None => {
            let end = last_value.span.end;
            let at = end_of_remark(text, end);
            replaced(&replaced(text, at..at, &member), end..end, ",")
        }
    }
}

/// Returns a value with an indentation of all its lines but the first.
fn printed(value: &Json, indent: &str) -> String {
    format!("{value:#}").replace('\n', &format!("\n{indent}"))
}

/// Returns the white space at the beginning of the line of an offset.
fn indent_of_line(text: &str, offset: usize) -> &str {
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let line = &text[start..offset];
    &line[..line.len() - line.trim_start().len()]
}

/// Returns the place of the comma behind white space and comments.
fn comma_after(text: &str, offset: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = offset;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b',' => return Some(at),
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => {
                at = end_of_comment(bytes, at)
            }
            byte if byte.is_ascii_whitespace() => at += 1,
            _ => return None,
        }
    }
    None
}

/// Returns the end of the comment that follows in the same line, or `offset` if there is none.
fn end_of_remark(text: &str, offset: usize) -> usize {
    let rest = &text[offset..];
    let start = offset + rest.len() - rest.trim_start_matches([' ', '\t']).len();
    if text[start..].starts_with("//") {
        return end_of_comment(text.as_bytes(), start);
    }
    offset
}

/// Extends a range that is cut out to whole lines if nothing else is in them.
fn whole_lines(text: &str, cut: Range<usize>) -> Range<usize> {
    let before = text[..cut.start].trim_end_matches([' ', '\t']);
    let after = text[cut.end..].trim_start_matches([' ', '\t', '\r']);
    let is_whole = before.ends_with('\n') && (after.starts_with('\n') || after.starts_with('}'));
    if !is_whole {
        return cut;
    }
    let end = text.len() - after.len();
    before.len()..if after.starts_with('\n') { end + 1 } else { end }
}

fn replaced(text: &str, range: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..range.start], &text[range.end..])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_set_and_all_else_stays() {
        for (text, keys, after) in [
            ("", &["a"][..], "{\n  \"a\": 1\n}\n"),
            ("{}", &["a"], "{\n  \"a\": 1\n}"),
            ("// mine\n", &["a"], "// mine\n{\n  \"a\": 1\n}\n"),
            ("{\n}\n", &["a", "b"], "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n"),
            ("{ \"a\": 2 } // x", &["a"], "{ \"a\": 1 } // x"),
            ("{ \"b\": 2 }", &["a"], "{ \"b\": 2, \"a\": 1 }"),
            ("{\n  \"b\": 2 // two\n}", &["a"], "{\n  \"b\": 2, // two\n  \"a\": 1\n}"),
            ("{\n\t\"b\": 2, // two\n}", &["a"], "{\n\t\"b\": 2, // two\n\t\"a\": 1\n}"),
            ("{ \"a\": { \"é\": 3 } }", &["a", "b"], "{ \"a\": { \"é\": 3, \"b\": 1 } }"),
            ("{ \"a\": null }", &["a", "b"], "{ \"a\": {\n  \"b\": 1\n} }"),
        ] {
            assert_eq!(set(text, keys, &json!(1)).unwrap(), after, "{text}");
        }
        let mistake = set("{\n\"a\": [] }", &["a", "b"], &json!(1)).unwrap_err();
        assert_eq!((mistake.line, mistake.message.as_str()), (2, "`a` is not an object"));
    }

    #[test]
    fn a_value_is_removed_with_its_comma() {
        for (text, after) in [
            ("{ \"a\": 1 }", "{  }"),
            ("{\n  \"a\": 1,\n  \"b\": 2\n}", "{\n  \"b\": 2\n}"),
            ("{\n  \"b\": 2, // two\n  \"a\": { \"x\": [1] }\n}", "{\n  \"b\": 2 // two\n}"),
            ("{ \"b\": 2, \"a\": 1, }", "{ \"b\": 2,  }"),
            ("{ \"a\": 1, \"a\": 2, \"b\": 2 }", "{   \"b\": 2 }"),
        ] {
            let left = remove(text, &["a"]).unwrap().unwrap();
            assert_eq!(left, after, "{text}");
            assert!(jsonc::read(&left).is_ok());
        }
        assert_eq!(remove("{ \"b\": { \"a\": 1 } }", &["a"]), Ok(None));
    }
}
