//! What every API demands of tools and ids, however it words them.

use std::collections::BTreeSet;

use serde_json::Value;

/// Adds a fault for each key of `value` that is not known.
pub(super) fn unknown(value: &Value, known: &[&str], what: &str, faults: &mut Vec<String>) {
    let Some(object) = value.as_object() else {
        faults.push(format!("{what} is no object"));
        return;
    };
    let strange = object.keys().filter(|key| !known.contains(&key.as_str()));
    faults.extend(strange.map(|key| format!("{what} has the key `{key}`")));
}

/// Adds a fault for each tool whose name or schema no provider takes. A tool is its name and the
/// schema of its arguments.
pub(super) fn tools<'a>(
    tools: impl Iterator<Item = (&'a Value, &'a Value)>,
    faults: &mut Vec<String>,
) {
    let mut names = BTreeSet::new();
    for (name, schema) in tools {
        let name = name.as_str().unwrap_or_default();
        if !is_plain(name, 64) || !names.insert(name) {
            faults.push(format!("{name:?} is no name of a tool, or one twice"));
        }
        if schema["type"] != "object" {
            faults.push(format!("the arguments of `{name}` are no object: {schema}"));
        }
    }
}

/// Returns whether a text is made of letters, digits, `_` and `-`, and not too long.
pub(super) fn is_plain(text: &str, most: usize) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    !text.is_empty() && text.len() <= most && text.chars().all(allowed)
}

/// Returns whether a value is a text of more than white space.
pub(super) fn is_said(text: &Value) -> bool {
    text.as_str().is_some_and(|text| !text.trim().is_empty())
}

/// Returns the items of a list; none if it is something else.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
