//! Corrects common mistakes in the arguments that models send, such as numbers in quotes or null
//! for an absent member, and quotes text in messages to the model.

use serde_json::{Map, Number, Value};

/// Changes `value` to match `schema` where the intention is clear.
pub(super) fn coerce(value: &mut Value, schema: &Value) {
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            reparse(value, Value::is_object);
            if let Value::Object(members) = value {
                coerce_members(members, schema);
            }
        }
        Some("array") => {
            reparse(value, Value::is_array);
            if value.is_object() {
                *value = Value::Array(vec![value.take()]);
            }
            if let (Value::Array(items), Some(schema)) = (value, schema.get("items")) {
                items.iter_mut().for_each(|item| coerce(item, schema));
            }
        }
        Some("integer") => coerce_integer(value, schema),
        Some("number") => reparse(value, Value::is_number),
        Some("boolean") => reparse(value, Value::is_boolean),
        Some("string") => {
            if matches!(value, Value::Number(_) | Value::Bool(_)) {
                *value = Value::String(value.to_string());
            }
        }
        _ => {}
    }
}

fn coerce_members(members: &mut Map<String, Value>, schema: &Value) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    let required = schema.get("required").and_then(Value::as_array);
    for (name, schema) in properties {
        let is_required = required.is_some_and(|names| names.iter().any(|other| other == name));
        // A member without a type accepts null.
        let is_typed = schema.get("type").is_some();
        if !is_required && is_typed && members.get(name).is_some_and(Value::is_null) {
            members.remove(name);
        }
        if let Some(value) = members.get_mut(name) {
            coerce(value, schema);
        }
    }
}

/// Replaces a string by the JSON value that it contains, if it is of the wanted type.
fn reparse(value: &mut Value, is_wanted: fn(&Value) -> bool) {
    let Value::String(text) = &*value else { return };
    if let Ok(inner) = serde_json::from_str::<Value>(text.trim())
        && is_wanted(&inner)
    {
        *value = inner;
    }
}

/// Moves an integer into the range that `schema` allows.
fn coerce_integer(value: &mut Value, schema: &Value) {
    reparse(value, Value::is_number);
    let Some(mut number) = integer(value) else { return };
    if let Some(most) = schema.get("maximum").and_then(Value::as_i64) {
        number = number.min(most);
    }
    if let Some(least) = schema.get("minimum").and_then(Value::as_i64) {
        number = number.max(least);
    }
    *value = Value::Number(Number::from(number));
}

#[expect(clippy::cast_possible_truncation, reason = "whole and far below 2^63 by the check")]
fn integer(value: &Value) -> Option<i64> {
    let whole = |float: &f64| float.fract() == 0.0 && float.abs() < 9e15;
    value.as_i64().or_else(|| value.as_f64().filter(whole).map(|float| float as i64))
}

/// The maximum number of quoted characters.
const QUOTED: usize = 200;

/// Returns text of a model or a file in a form to quote in a sentence: printable, on one line and
/// of limited length.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut out = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == QUOTED {
            out.push('…');
            break;
        }
        match letter {
            '\t' => out.push(' '),
            control if control.is_control() => out.extend(control.escape_default()),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn coerced(mut value: Value, schema: &Value) -> Value {
        coerce(&mut value, schema);
        value
    }

    #[test]
    fn what_was_clearly_meant_is_taken() {
        let integer = json!({ "type": "integer", "minimum": 1, "maximum": 9 });
        let array = json!({ "type": "array", "items": { "type": "string" } });
        let object = json!({
            "type": "object",
            "properties": { "a": { "type": "boolean" }, "b": { "type": "string" }, "c": {} },
            "required": ["b"],
        });
        let cases = [
            (json!("5"), &integer, json!(5)),
            (json!(5.0), &integer, json!(5)),
            (json!(" 50 "), &integer, json!(9)),
            (json!(-3), &integer, json!(1)),
            (json!("five"), &integer, json!("five")),
            (json!(1.5), &integer, json!(1.5)),
            (json!("[\"a\",1]"), &array, json!(["a", "1"])),
            (json!({ "x": 1 }), &array, json!([{ "x": 1 }])),
            (json!("{\"a\":\"true\"}"), &object, json!({ "a": true })),
            (json!({ "a": null, "b": null, "c": null }), &object, json!({ "b": null, "c": null })),
            (json!({ "b": { "deep": 1 } }), &object, json!({ "b": { "deep": 1 } })),
            (json!(null), &object, json!(null)),
        ];
        for (value, schema, expected) in cases {
            assert_eq!(coerced(value.clone(), schema), expected, "{value}");
        }
    }

    #[test]
    fn what_is_quoted_stays_on_its_line_and_has_an_end() {
        assert_eq!(quote("a\tb\nc\u{1b}[m"), "a b\\nc\\u{1b}[m");
        assert_eq!(quote(&"x".repeat(500)).chars().count(), QUOTED + 1);
    }
}
