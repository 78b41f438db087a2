//! Compiles JSON Schemas to validators, and refuses schemas with external references.

use std::sync::Arc;

use engine::ports::{Schema, Schemas};
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::jtd::read_schema;
use crate::violation_message;

/// How deep a schema or a value may be nested; validation is recursive.
pub(crate) const DEPTH: usize = 128;

/// The maximum number of violations that are reported for one value.
const MAX_VIOLATIONS: usize = 10;

/// The limits of time and memory for one regular expression of a schema.
const BACKTRACKS: usize = 100_000;
const PATTERN_BYTES: usize = 1 << 20;

/// Compiles JSON Schemas: draft 2020-12 unless `$schema` names another. External
/// references are errors.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonSchemas;

impl Schemas for JsonSchemas {
    fn compile(&self, schema: &Value) -> Result<Arc<dyn Schema>, String> {
        if is_deeper(schema, DEPTH) {
            return Err(format!("it is nested deeper than {DEPTH} levels"));
        }
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(BACKTRACKS)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES);
        let built = jsonschema::options().offline().with_pattern_options(patterns).build(schema);
        let validator =
            built.map_err(|error| distinct(violation_message::lines(&error)).join("; "))?;
        Ok(Arc::new(CompiledSchema { validator }))
    }

    fn read(&self, given: &Value) -> Result<Value, String> {
        read_schema(given)
    }
}

/// A compiled schema.
struct CompiledSchema {
    validator: Validator,
}

impl Schema for CompiledSchema {
    fn faults(&self, value: &Value) -> Vec<String> {
        if is_deeper(value, DEPTH) {
            return vec![format!("it is nested deeper than {DEPTH} levels")];
        }
        distinct(
            self.validator.iter_errors(value).flat_map(|error| violation_message::lines(&error)),
        )
    }
}

/// Returns the first distinct lines, and `and more` if there were more.
fn distinct(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for line in lines {
        if distinct.len() == MAX_VIOLATIONS {
            distinct.push("and more".to_owned());
            break;
        }
        if !distinct.contains(&line) {
            distinct.push(line);
        }
    }
    distinct
}

/// Returns whether `value` is nested deeper than `left` levels.
pub(crate) fn is_deeper(value: &Value, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return true };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, left)),
        Value::Object(members) => members.values().any(|member| is_deeper(member, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests;
