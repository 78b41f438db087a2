//! The schema of a task's result inside the schema of `yield`'s arguments.

use serde_json::{Map, Value, json};

/// Where in the schema of the arguments that of the result stands.
pub(super) const PLACE: &str = "/properties/result/properties/data";

/// How deep a schema may be nested to be rewritten, and how many references are followed.
const DEPTH: usize = 64;
const HOPS: usize = 8;

/// How much of a schema is told in words if it cannot be embedded.
const TOLD: usize = 8 << 10;

/// Keywords under which schemas stand by name, and under which values stand that are no schemas.
const NAMED: &[&str] =
    &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const VALUES: &[&str] = &["const", "enum", "default", "examples", "example", "required"];

/// Keywords with which a schema means something else in another place.
const BOUND: &[&str] = &[
    "$id",
    "id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
    "$vocabulary",
];

/// Returns the schema of a task's result for [`PLACE`]. References to parts of it are rewritten to
/// where those parts are now; a schema that cannot be moved is told in words, and is no constraint.
pub(super) fn embedded(schema: &Value) -> Value {
    let mut moved = schema.clone();
    match &mut moved {
        Value::Object(object) => {
            object.remove("$schema");
        }
        // Servers want objects: this one accepts everything.
        _ => return json!({}),
    }
    if relocate(&mut moved, DEPTH).is_some() {
        return moved;
    }
    let mut text = schema.to_string();
    text.truncate(text.floor_char_boundary(TOLD));
    json!({ "description": format!("The result of the task. It must match this JSON Schema: {text}") })
}

/// Rewrites the references in a schema; nothing if it cannot be moved.
fn relocate(schema: &mut Value, depth: usize) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    match schema {
        Value::Array(schemas) => schemas.iter_mut().try_for_each(|part| relocate(part, depth)),
        Value::Object(object) => relocate_object(object, depth),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(()),
    }
}

fn relocate_object(object: &mut Map<String, Value>, depth: usize) -> Option<()> {
    for (keyword, value) in object.iter_mut() {
        let keyword = keyword.as_str();
        if BOUND.contains(&keyword) {
            return None;
        }
        if keyword == "$ref" {
            let pointer = value.as_str()?.strip_prefix('#')?;
            if !pointer.is_empty() && !pointer.starts_with('/') {
                return None;
            }
            *value = Value::String(format!("#{PLACE}{pointer}"));
        } else if let (true, Value::Object(named)) = (NAMED.contains(&keyword), &mut *value) {
            named.values_mut().try_for_each(|part| relocate(part, depth))?;
        } else if !VALUES.contains(&keyword) {
            relocate(value, depth)?;
        }
    }
    Some(())
}

/// Returns whether `schema` has a place for values of the type of `value`, as far as its own words
/// about types go.
pub(super) fn wants(schema: &Value, value: &Value) -> bool {
    let Some(schema) = resolved(schema) else { return true };
    let is_one = |name: &str| match (name, value) {
        ("object", Value::Object(_))
        | ("array", Value::Array(_))
        | ("string", Value::String(_))
        | ("boolean", Value::Bool(_))
        | ("null", Value::Null)
        | ("number", Value::Number(_)) => true,
        ("integer", Value::Number(number)) => number.is_i64() || number.is_u64(),
        _ => false,
    };
    match schema.get("type") {
        Some(Value::String(name)) => is_one(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(is_one),
        // Who names properties means an object.
        _ if schema.get("properties").is_some() => value.is_object(),
        _ => true,
    }
}

/// Follows the references at the root of a schema.
fn resolved(root: &Value) -> Option<&Value> {
    let mut schema = root;
    for _ in 0..HOPS {
        match schema.get("$ref").and_then(Value::as_str) {
            Some(reference) => schema = root.pointer(reference.strip_prefix('#')?)?,
            None => return Some(schema),
        }
    }
    None
}
