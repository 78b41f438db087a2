//! Makes judges out of JSON Schemas, and refuses schemas that reach outside themselves.

use engine::ports::{Schema, Schemas};
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::complaint;

/// How deep a schema or a value may be nested; the checks recurse.
const DEPTH: usize = 128;

/// How many faults are told about one value.
const FAULTS: usize = 10;

/// How much work and memory one regular expression of a schema may cost.
const BACKTRACKS: usize = 100_000;
const PATTERN_BYTES: usize = 1 << 20;

/// Compiles JSON Schemas: draft 2020-12 unless `$schema` names another. A reference to anything but
/// a part of the same schema is an error.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonSchemas;

impl Schemas for JsonSchemas {
    fn compile(&self, schema: &Value) -> Result<Box<dyn Schema>, String> {
        if is_deeper(schema, DEPTH) {
            return Err(format!("it is nested deeper than {DEPTH} levels"));
        }
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(BACKTRACKS)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES);
        let built = jsonschema::options().offline().with_pattern_options(patterns).build(schema);
        let validator = built.map_err(|error| told(complaint::lines(&error)).join("; "))?;
        Ok(Box::new(Judge { validator }))
    }
}

struct Judge {
    validator: Validator,
}

impl Schema for Judge {
    fn faults(&self, value: &Value) -> Vec<String> {
        if is_deeper(value, DEPTH) {
            return vec![format!("it is nested deeper than {DEPTH} levels")];
        }
        told(self.validator.iter_errors(value).flat_map(|error| complaint::lines(&error)))
    }
}

/// The first lines, each once, and whether there were more.
fn told(lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for line in lines {
        if told.len() == FAULTS {
            told.push("and more".to_owned());
            break;
        }
        if !told.contains(&line) {
            told.push(line);
        }
    }
    told
}

/// Whether `value` is nested deeper than `left` levels.
fn is_deeper(value: &Value, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return true };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, left)),
        Value::Object(members) => members.values().any(|member| is_deeper(member, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests;
