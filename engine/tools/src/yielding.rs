//! The tool `yield`: ends the session with a value, or with the reason why there is none. What the
//! value must be is the contract's to judge.

mod embedded;

use std::sync::Arc;

use engine::ports::{Access, Concurrency, ToolContext, ToolOutcome};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use self::embedded::{PLACE, embedded, wants};
use crate::builtin::Builtin;
use crate::error::ToolError;
use crate::limits::{REASON, head};
use crate::session::Session;

/// Yields.
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

/// Null is a value here, and not the same as nothing.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

const NEITHER: &str = "yield has neither data nor error. Call it again with {\"result\":{\"data\":…}} when the \
     task is done, or with {\"result\":{\"error\":\"why\"}} when it cannot be done";
const BOTH: &str = "yield has both data and error. Call it again with {\"result\":{\"data\":…}} when the task \
     is done, or with {\"result\":{\"error\":\"why\"}} when it cannot be done";

impl Builtin for Yield {
    const NAME: &'static str = "yield";
    const CAPABILITY: &'static str = "F111";
    const DESCRIPTION: &'static str = "Ends the task. Call it once, alone, when everything is \
        done, with the result as data; or, when the task cannot be done, with the reason as error.";
    const EXAMPLE: &'static str = r#"{"result":{"data":{"summary":"what was done"}}}"#;

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

    fn declare(schema: &mut Value, result: &Value) {
        if let Some(data) = schema.pointer_mut(PLACE) {
            let said = data.get("description").cloned().unwrap_or_default();
            *data = embedded(result);
            if let Some(data) = data.as_object_mut() {
                data.entry("description").or_insert(said);
            }
        }
    }

    fn new(session: &Arc<Session>) -> Self {
        Self(Arc::clone(session))
    }

    // It touches nothing, but it ends the session: what was called before it is done then.
    fn classify(_arguments: &Map<String, Value>) -> Access {
        Access { concurrency: Concurrency::Exclusive, ..Access::none() }
    }

    async fn run(
        &self,
        arguments: YieldArguments,
        _context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let Outcome { data, error } = arguments.result;
        // Models that fill in everything fill in nothing where they mean nothing.
        let error = error.filter(|error| !error.trim().is_empty());
        match (data, error) {
            (Some(Value::Null) | None, Some(error)) => {
                Ok(ToolOutcome::GaveUp(head(error.trim(), REASON).to_owned()))
            }
            (Some(data), None) => {
                Ok(ToolOutcome::Yielded(wanted(data, self.0.env.schema.as_ref())))
            }
            (None, None) => Err(ToolError::own(YieldError(NEITHER))),
            (Some(_), Some(_)) => Err(ToolError::own(YieldError(BOTH))),
        }
    }
}

/// What is yielded is not one thing.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct YieldError(&'static str);

/// Takes JSON out of a string where the schema has no place for a string.
fn wanted(data: Value, schema: Option<&Value>) -> Value {
    let (Value::String(text), Some(schema)) = (&data, schema) else { return data };
    match serde_json::from_str::<Value>(text.trim()) {
        Ok(inner) if !wants(schema, &data) && wants(schema, &inner) => inner,
        Ok(_) | Err(_) => data,
    }
}
