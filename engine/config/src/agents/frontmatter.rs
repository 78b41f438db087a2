//! The front matter of a Markdown file: the YAML between its first line, `---`, and the next such line. What
//! people write there is often not quite YAML, so a colon in a text is forgiven.

use crate::mistake::Mistake;
use crate::yaml::{self, Node, Value};

/// One field of the front matter.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    /// The key, as it stands in the file.
    pub(super) key: String,
    /// Its line in the file.
    pub(super) line: u64,
    /// The value.
    pub(super) value: Value,
}

/// A file that is split.
#[derive(Debug)]
pub(super) struct FrontMatter<'a> {
    /// The fields, in their order.
    pub(super) fields: Vec<Field>,
    /// What follows them, without white space around it.
    pub(super) body: &'a str,
    /// Why it is not YAML, where only its lines could be read.
    pub(super) mistake: Option<Mistake>,
}

/// Splits a file; `None` if it has no front matter. `is_known` tells the keys that there are.
pub(super) fn split<'a>(text: &'a str, is_known: impl Fn(&str) -> bool) -> Option<FrontMatter<'a>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---")?;
    let mut end = first.len();
    let last = lines.find(|line| {
        end += line.len();
        line.trim_end() == "---"
    })?;
    let (head, body) = (&text[first.len()..end - last.len()], text[end..].trim());
    // The lines of the file are counted from its first one.
    let head = head.replace("\r\n", "\n");
    let repaired = || yaml::read(&quoted(&head, &is_known));
    let (fields, mistake) = match yaml::read(&head).and_then(fields) {
        Ok(fields) => (fields, None),
        Err(mistake) => match repaired().and_then(fields) {
            Ok(fields) => (fields, None),
            Err(_again) => (plain_fields(&head, &is_known), Some(in_file(mistake))),
        },
    };
    Some(FrontMatter { fields, body, mistake })
}

/// Returns a mistake with its place in the file, before which the line `---` stands.
fn in_file(mistake: Mistake) -> Mistake {
    Mistake { line: mistake.line + 1, ..mistake }
}

fn fields(node: Node) -> Result<Vec<Field>, Mistake> {
    let members = match node.value {
        Value::Map(members) => members,
        Value::Null => Vec::new(),
        _other => return Err(Mistake::in_line(node.line, "it is not a list of `KEY: VALUE`")),
    };
    let field = |(key, node): (Node, Node)| {
        let name = key.value.as_name();
        let name = name.ok_or_else(|| Mistake::in_line(key.line, "a key is not a text"))?;
        Ok(Field { key: name, line: key.line + 1, value: node.value })
    };
    members.into_iter().map(field).collect()
}

/// The lines of one field: the key, what is behind the colon, and the lines below it.
struct Lines<'a> {
    key: &'a str,
    first: &'a str,
    line: usize,
    rest: Vec<&'a str>,
}

/// Returns the fields as their lines. A line that begins no field, or one that there is not behind a text,
/// belongs to the field before it.
fn grouped<'a>(head: &'a str, is_known: &impl Fn(&str) -> bool) -> Vec<Lines<'a>> {
    let mut groups: Vec<Lines<'a>> = Vec::new();
    for (line, text) in head.lines().enumerate() {
        let is_key = |key: &&str| {
            !key.is_empty()
                && key.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it))
        };
        let split = text.split_once(':').filter(|(key, _)| is_key(key));
        let split = split.filter(|(_, rest)| rest.is_empty() || rest.starts_with([' ', '\t']));
        // Descriptions have lines such as `Context: …` below them.
        let is_text = |last: &Lines<'_>| {
            last.key.eq_ignore_ascii_case("description")
                && is_plain(last.first)
                && !last.rest.is_empty()
        };
        let split = split.filter(|(key, _)| is_known(key) || !groups.last().is_some_and(is_text));
        match (split, groups.last_mut()) {
            (Some((key, first)), _) => {
                groups.push(Lines { key, first: first.trim(), line: line + 1, rest: Vec::new() });
            }
            (None, Some(last)) => last.rest.push(text),
            (None, None) => {}
        }
    }
    groups
}

/// Returns whether a value is a text without quotes.
fn is_plain(value: &str) -> bool {
    !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '!', '%', '@', '`'])
}

/// Returns the front matter with each text that has no quotes in quotes. The lines stay where they are.
fn quoted(head: &str, is_known: &impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    for Lines { key, first, rest, .. } in grouped(head, is_known) {
        let is_text = !first.is_empty() && !first.starts_with('#') && is_plain(first);
        let is_list = rest.iter().any(|line| line.trim_start().starts_with("- "));
        if is_text && !is_list {
            let whole = [&[first], &rest[..]].concat().join("\n");
            text += &format!("{key}: {}\n", serde_json::Value::from(whole.trim_end()));
            text.extend(rest.iter().map(|_| '\n'));
        } else {
            text += &format!("{key}: {first}\n");
            rest.iter().for_each(|line| text = format!("{text}{line}\n"));
        }
    }
    text
}

/// Returns the fields as texts, whatever they mean in YAML. Of fields with the same key the last counts.
fn plain_fields(head: &str, is_known: &impl Fn(&str) -> bool) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for Lines { key, first, line, rest } in grouped(head, is_known) {
        let items = rest.iter().filter_map(|line| line.trim_start().strip_prefix("- "));
        let node = |item: &str| Node { line: 1, span: 0..0, value: text(item) };
        let items: Vec<_> = items.map(node).collect();
        let whole = [&[first], &rest[..]].concat().join("\n");
        let value = match first {
            "" if !items.is_empty() => Value::List(items),
            _ => text(whole.trim()),
        };
        fields.retain(|field| field.key != key);
        let line = u64::try_from(line).unwrap_or(u64::MAX).saturating_add(1);
        fields.push(Field { key: key.to_owned(), line, value });
    }
    fields
}

/// Returns a text without the quotes around it.
fn text(written: &str) -> Value {
    let written = written.trim();
    let inside = |quote: char| {
        let inside = written.strip_prefix(quote).and_then(|it| it.strip_suffix(quote));
        inside.filter(|_| written.len() > 1)
    };
    let inside = inside('"').or_else(|| inside('\'')).unwrap_or(written);
    if inside.is_empty() { Value::Null } else { Value::Text(inside.to_owned()) }
}
