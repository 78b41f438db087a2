//! Repairs arguments whose intention is clear: other names, JSON in a text, a number in quotes, one item for a
//! list, null, a number beyond a limit. Each repair is noted.

use serde_json::{Map, Number, Value};

use crate::ports::ToolOutput;

/// The maximum number of repairs that are noted.
const NOTED: usize = 20;

/// The name of the repairs in the details of an output.
const DETAIL: &str = "repairs";

/// How often JSON may be a text in a text.
const LAYERS: usize = 2;

/// Arguments after their repairs.
#[derive(Debug, PartialEq)]
pub(super) struct Repaired {
    pub(super) arguments: Map<String, Value>,
    pub(super) repairs: Repairs,
}

/// What was repaired.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Repairs(Vec<String>);

/// Returns the arguments as `schema` describes them where that is clear; `reshape` gives arguments with other
/// names those of the schema.
pub(super) fn repaired(
    mut arguments: Map<String, Value>,
    schema: &Value,
    reshape: impl FnOnce(&mut Map<String, Value>),
) -> Repaired {
    let mut repairs = Repairs::default();
    let before = arguments.clone();
    reshape(&mut arguments);
    repairs.note_names(&before, &arguments);
    let mut value = Value::Object(arguments);
    repairs.coerce(&mut value, schema, "");
    let arguments = match value {
        Value::Object(arguments) => arguments,
        // This happens only with a schema that does not accept objects.
        _ => Map::new(),
    };
    Repaired { arguments, repairs }
}

impl Repairs {
    /// Adds the repairs to the details of an output.
    pub(super) fn add_to(self, output: &mut ToolOutput) {
        if self.0.is_empty() {
            return;
        }
        let details = output.details.get_or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(details) = details {
            details.insert(DETAIL.to_owned(), self.0.into());
        }
    }

    fn note(&mut self, at: &str, what: &str) {
        if self.0.len() < NOTED {
            let at = if at.is_empty() { "/" } else { at };
            self.0.push(format!("{at}: {what}"));
        }
    }

    fn note_names(&mut self, before: &Map<String, Value>, after: &Map<String, Value>) {
        let lacks = |of: &Map<String, Value>, other: &Map<String, Value>| {
            let names = of.keys().filter(|name| !other.contains_key(*name));
            names.cloned().collect::<Vec<_>>().join(", ")
        };
        let (gone, new) = (lacks(before, after), lacks(after, before));
        match (gone.is_empty(), new.is_empty()) {
            (true, true) if before == after => {}
            (false, false) => self.note("", &format!("{gone} is taken for {new}")),
            (false, true) => self.note("", &format!("{gone} is left out")),
            (true, _) => self.note("", "parts in another form are taken for those of the schema"),
        }
    }

    /// Changes `value` to match `schema` where the intention is clear.
    fn coerce(&mut self, value: &mut Value, schema: &Value, at: &str) {
        match schema.get("type").and_then(Value::as_str) {
            Some("object") => {
                self.reparse(value, Value::is_object, at);
                if let Value::Object(members) = value {
                    self.coerce_members(members, schema, at);
                }
            }
            Some("array") => {
                self.reparse(value, Value::is_array, at);
                let items = schema.get("items");
                if value.is_object() || items.is_some_and(|schema| is_item(value, schema)) {
                    *value = Value::Array(vec![value.take()]);
                    self.note(at, "one item is taken for a list");
                }
                if let (Value::Array(values), Some(schema)) = (value, items) {
                    for (number, value) in values.iter_mut().enumerate() {
                        self.coerce(value, schema, &format!("{at}/{number}"));
                    }
                }
            }
            Some("integer") => self.coerce_integer(value, schema, at),
            Some("number") => self.reparse(value, Value::is_number, at),
            Some("boolean") => self.reparse(value, Value::is_boolean, at),
            Some("string") => {
                if matches!(value, Value::Number(_) | Value::Bool(_)) {
                    *value = Value::String(value.to_string());
                    self.note(at, "a value is taken for its text");
                }
            }
            _ => {}
        }
    }

    fn coerce_members(&mut self, members: &mut Map<String, Value>, schema: &Value, at: &str) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        let required = schema.get("required").and_then(Value::as_array);
        for (name, schema) in properties {
            let at = format!("{at}/{name}");
            let is_required = required.is_some_and(|names| names.iter().any(|other| other == name));
            // A member without a type accepts null.
            let is_typed = schema.get("type").is_some();
            if !is_required && is_typed && members.get(name).is_some_and(Value::is_null) {
                members.remove(name);
                self.note(&at, "null is left out");
            }
            if let Some(value) = members.get_mut(name) {
                self.coerce(value, schema, &at);
            }
        }
    }

    /// Replaces a string by the JSON value that it contains, if it is of the wanted type.
    fn reparse(&mut self, value: &mut Value, is_wanted: fn(&Value) -> bool, at: &str) {
        let Value::String(text) = &*value else { return };
        let mut text = text.clone();
        for _ in 0..LAYERS {
            match serde_json::from_str::<Value>(text.trim()) {
                Ok(Value::String(inner)) => text = inner,
                Ok(inner) if is_wanted(&inner) => {
                    *value = inner;
                    return self.note(at, "a text is taken for the JSON in it");
                }
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Moves an integer into the range that `schema` allows.
    fn coerce_integer(&mut self, value: &mut Value, schema: &Value, at: &str) {
        self.reparse(value, Value::is_number, at);
        let Some(given) = integer(value) else { return };
        let mut number = given;
        if let Some(most) = schema.get("maximum").and_then(Value::as_i64) {
            number = number.min(most);
        }
        if let Some(least) = schema.get("minimum").and_then(Value::as_i64) {
            number = number.max(least);
        }
        if number != given {
            self.note(at, &format!("{number} is taken for {given}, which is beyond the limit"));
        }
        *value = Value::Number(Number::from(number));
    }
}

/// Returns whether a plain value is of the type of the items of a list.
fn is_item(value: &Value, items: &Value) -> bool {
    match items.get("type").and_then(Value::as_str) {
        Some("string") => value.is_string(),
        Some("integer" | "number") => value.is_number(),
        _ => false,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "whole and far below 2^63 by the check")]
fn integer(value: &Value) -> Option<i64> {
    let whole = |float: &f64| float.fract() == 0.0 && float.abs() < 9e15;
    value.as_i64().or_else(|| value.as_f64().filter(whole).map(|float| float as i64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn coerced(mut value: Value, schema: &Value) -> (Value, Vec<String>) {
        let mut repairs = Repairs::default();
        repairs.coerce(&mut value, schema, "");
        (value, repairs.0)
    }

    #[test]
    fn what_was_clearly_meant_is_taken_and_noted() {
        let integer = json!({ "type": "integer", "minimum": 1, "maximum": 9 });
        let array = json!({ "type": "array", "items": { "type": "string" } });
        let object = json!({
            "type": "object",
            "properties": { "a": { "type": "boolean" }, "b": { "type": "string" }, "c": {} },
            "required": ["b"],
        });
        let text = "/: a text is taken for the JSON in it";
        let cases = [
            (json!("5"), &integer, json!(5), vec![text]),
            (json!(5.0), &integer, json!(5), vec![]),
            (
                json!(" 50 "),
                &integer,
                json!(9),
                vec![text, "/: 9 is taken for 50, which is beyond the limit"],
            ),
            (
                json!(-3),
                &integer,
                json!(1),
                vec!["/: 1 is taken for -3, which is beyond the limit"],
            ),
            (json!("five"), &integer, json!("five"), vec![]),
            (json!(1.5), &integer, json!(1.5), vec![]),
            (
                json!("[\"a\",1]"),
                &array,
                json!(["a", "1"]),
                vec![text, "/1: a value is taken for its text"],
            ),
            (json!("\"[\\\"a\\\"]\""), &array, json!(["a"]), vec![text]),
            (
                json!({ "x": 1 }),
                &array,
                json!([{ "x": 1 }]),
                vec!["/: one item is taken for a list"],
            ),
            (json!("a"), &array, json!(["a"]), vec!["/: one item is taken for a list"]),
            (
                json!("{\"a\":\"true\"}"),
                &object,
                json!({ "a": true }),
                vec![text, "/a: a text is taken for the JSON in it"],
            ),
            (
                json!({ "a": null, "b": null, "c": null }),
                &object,
                json!({ "b": null, "c": null }),
                vec!["/a: null is left out"],
            ),
            (json!({ "b": { "deep": 1 } }), &object, json!({ "b": { "deep": 1 } }), vec![]),
            (json!(null), &object, json!(null), vec![]),
        ];
        for (value, schema, expected, notes) in cases {
            let (coerced, noted) = coerced(value.clone(), schema);
            assert_eq!(
                (coerced, noted),
                (expected, notes.into_iter().map(str::to_owned).collect()),
                "{value}"
            );
        }
    }

    #[test]
    fn repairs_are_in_the_details_of_what_the_call_answers() {
        let arguments = json!({ "file": "a", "limit": "7" }).as_object().unwrap().clone();
        let schema = json!({ "type": "object", "properties": {
            "path": { "type": "string" }, "limit": { "type": "integer" },
        } });
        let found = repaired(arguments, &schema, |arguments| {
            let value = arguments.remove("file").unwrap();
            arguments.insert("path".to_owned(), value);
        });
        assert_eq!(Value::from(found.arguments), json!({ "path": "a", "limit": 7 }));
        let mut output = ToolOutput::text("x").with_details(json!({ "path": "a" }));
        found.repairs.add_to(&mut output);
        let notes = ["/: file is taken for path", "/limit: a text is taken for the JSON in it"];
        assert_eq!(output.details, Some(json!({ "path": "a", "repairs": notes })));
        let mut plain = ToolOutput::text("x");
        Repairs::default().add_to(&mut plain);
        assert_eq!(plain.details, None);
    }
}
