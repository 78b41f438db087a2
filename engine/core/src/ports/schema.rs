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
}

/// A schema that accepts every value.
#[derive(Clone, Copy, Debug)]
pub struct AnyValue;

impl Schema for AnyValue {
    fn faults(&self, _value: &Value) -> Vec<String> {
        Vec::new()
    }
}
