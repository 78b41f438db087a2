//! The port for JSON Schema, against which yielded values and tool arguments are checked.

use std::sync::Arc;

use serde_json::Value;

/// A compiled JSON Schema.
pub trait Schema: Send + Sync {
    /// Returns the violations of the schema in `value`, each with its path.
    fn faults(&self, value: &Value) -> Vec<String>;
}

/// Compiles JSON Schemas.
pub trait Schemas: Send + Sync {
    /// Compiles a JSON Schema.
    ///
    /// # Errors
    /// The schema is invalid. The message contains the path of the fault.
    fn compile(&self, schema: &Value) -> Result<Arc<dyn Schema>, String>;

    /// Returns the JSON Schema that is meant by a schema as people and models write them: a JSON Schema, a
    /// schema in JSON Type Definition, or the text of either.
    ///
    /// # Errors
    /// It is neither. The message contains the path of the fault.
    fn read(&self, given: &Value) -> Result<Value, String> {
        Ok(given.clone())
    }
}

/// A schema that accepts every value.
#[derive(Clone, Copy, Debug)]
pub struct AnyValue;

impl Schema for AnyValue {
    fn faults(&self, _value: &Value) -> Vec<String> {
        Vec::new()
    }
}
