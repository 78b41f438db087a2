//! What a yielded value must look like.

use serde_json::Value;

/// Judges a value.
pub trait Schema: Send + Sync {
    /// Returns what is wrong with `value`, each with the path of the fault; empty if nothing is.
    fn faults(&self, value: &Value) -> Vec<String>;
}

/// Makes schemas.
pub trait Schemas: Send + Sync {
    /// Compiles a JSON Schema.
    ///
    /// # Errors
    /// What is wrong with it, with the path of the fault.
    fn compile(&self, schema: &Value) -> Result<Box<dyn Schema>, String>;
}

/// Accepts every value.
#[derive(Clone, Copy, Debug)]
pub struct AnyValue;

impl Schema for AnyValue {
    fn faults(&self, _value: &Value) -> Vec<String> {
        Vec::new()
    }
}
