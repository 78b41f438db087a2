//! The tool `yield`: ends the session with a result, or with the reason why there is none. The
//! contract decides whether the result is valid.

use std::sync::Arc;

use engine::ports::{
    Access, Concurrency, SessionPurpose, ToolContext, ToolEnv, ToolOutcome, ToolSpec,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::builtin::{Builtin, Session};
use crate::display::{MAX_REASON, head};
use crate::error::ToolError;

/// The tool `yield`.
pub(crate) struct Yield(Arc<Session>);

/// How the task ends.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct YieldArguments {
    /// Either data or error, not both.
    result: Outcome,
}

/// What came of the task.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outcome {
    /// The result of the task.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Value")]
    data: Option<Value>,
    /// Why the task cannot be done, if it cannot.
    error: Option<String>,
}

/// Deserializes `null` as `Some(Value::Null)`, to distinguish it from a missing field.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

const NEITHER: &str = "yield has neither data nor error. Call it again with {\"result\":{\"data\":…}} when the \
     task is done, or with {\"result\":{\"error\":\"why\"}} when it cannot be done";
const BOTH: &str = "yield has both data and error. Call it again with {\"result\":{\"data\":…}} when the task \
     is done, or with {\"result\":{\"error\":\"why\"}} when it cannot be done";

impl Builtin for Yield {
    const NAME: &'static str = "yield";
    const DESCRIPTION: &'static str = "Ends the task. Call it once, alone, when everything is \
        done, with the result as data; or, when the task cannot be done, with the reason as error.";
    const EXAMPLE: &'static str = r#"{"result":{"data":{"summary":"what was done"}}}"#;

    const PURPOSE: Option<SessionPurpose> = Some(SessionPurpose::Task);

    type Arguments = YieldArguments;

    fn reshape(arguments: &mut Map<String, Value>) {
        let is_flat = ["data", "error"].iter().any(|name| arguments.contains_key(*name));
        if !is_flat || arguments.contains_key("result") {
            return;
        }
        let mut result = Map::new();
        for name in ["data", "error"] {
            if let Some(value) = arguments.remove(name) {
                result.insert(name.to_owned(), value);
            }
        }
        arguments.insert("result".to_owned(), Value::Object(result));
    }

    // The schema of the task's result is part of that of the arguments.
    fn declared(usual: &ToolSpec, env: &ToolEnv) -> Option<ToolSpec> {
        let mut declared = usual.clone();
        let schema = Arc::make_mut(&mut declared.parameters);
        let data = schema.pointer_mut(RESULT_POINTER)?;
        let said = data.get("description").cloned().unwrap_or_default();
        *data = embedded(env.schema.as_ref()?);
        if let Some(data) = data.as_object_mut() {
            data.entry("description").or_insert(said);
        }
        Some(declared)
    }

    fn new(session: &Arc<Session>) -> Self {
        Self(Arc::clone(session))
    }

    // `yield` changes no files. It is exclusive because it ends the session: the calls before it
    // must have finished.
    fn classify(_arguments: &Map<String, Value>) -> Access {
        Access { concurrency: Concurrency::Exclusive, ..Access::none() }
    }

    async fn run(
        &self,
        arguments: YieldArguments,
        _context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let Outcome { data, error } = arguments.result;
        // Some models send all fields, with a blank `error`. A blank error counts as missing.
        let error = error.filter(|error| !error.trim().is_empty());
        match (data, error) {
            (Some(Value::Null) | None, Some(error)) => {
                Ok(ToolOutcome::GaveUp(head(error.trim(), MAX_REASON).to_owned()))
            }
            (Some(data), None) => {
                Ok(ToolOutcome::Yielded(unwrap_json(data, self.0.env.schema.as_ref())))
            }
            (None, None) => Err(ToolError::own(YieldError(NEITHER))),
            (Some(_), Some(_)) => Err(ToolError::own(YieldError(BOTH))),
        }
    }
}

/// The error of a result that has neither `data` nor `error`, or both.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct YieldError(&'static str);

/// Parses JSON in a string if the schema accepts the parsed value but no string.
fn unwrap_json(data: Value, schema: Option<&Value>) -> Value {
    let (Value::String(text), Some(schema)) = (&data, schema) else { return data };
    match serde_json::from_str::<Value>(text.trim()) {
        Ok(inner) if !accepts_type(schema, &data) && accepts_type(schema, &inner) => inner,
        Ok(_) | Err(_) => data,
    }
}

/// The JSON pointer to the schema of the result in the schema of the arguments.
const RESULT_POINTER: &str = "/properties/result/properties/data";

/// The deepest nesting of a schema that is rewritten, and the longest chain of references that is
/// followed.
const DEPTH: usize = 64;
const HOPS: usize = 8;

/// How many bytes of a schema that cannot be embedded the description quotes.
const QUOTED: usize = 8 << 10;

/// Keywords whose value maps names to schemas, and keywords whose value contains no schema.
const NAMED: &[&str] =
    &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const VALUES: &[&str] = &["const", "enum", "default", "examples", "example", "required"];

/// Keywords whose meaning depends on the position of the schema. A schema with one is not embedded.
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

/// Returns the schema of a task's result for embedding at [`RESULT_POINTER`]. References within the
/// schema are rewritten to its new position. If that is impossible, returns a schema that accepts
/// every value and quotes the original in its description.
fn embedded(schema: &Value) -> Value {
    let mut moved = schema.clone();
    match &mut moved {
        Value::Object(object) => {
            object.remove("$schema");
        }
        // Providers require a schema that is an object. The empty object accepts every value.
        _ => return json!({}),
    }
    if relocate(&mut moved, DEPTH).is_some() {
        return moved;
    }
    let mut text = schema.to_string();
    text.truncate(text.floor_char_boundary(QUOTED));
    json!({ "description": format!("The result of the task. It must match this JSON Schema: {text}") })
}

/// Rewrites the references in a schema; `None` if it cannot be moved.
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
            *value = Value::String(format!("#{RESULT_POINTER}{pointer}"));
        } else if let (true, Value::Object(named)) = (NAMED.contains(&keyword), &mut *value) {
            named.values_mut().try_for_each(|part| relocate(part, depth))?;
        } else if !VALUES.contains(&keyword) {
            relocate(value, depth)?;
        }
    }
    Some(())
}

/// Returns whether `schema` accepts values of the type of `value`, judged by its `type` alone.
fn accepts_type(schema: &Value, value: &Value) -> bool {
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
        // A schema with properties means an object.
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
