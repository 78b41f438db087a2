//! Compiles each schema once, because the sessions of a run use the same ones.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use engine::ports::{Schema, Schemas};
use serde_json::Value;

/// The maximum number of compiled schemas that are kept.
const KEPT: usize = 256;

/// Compiles schemas with `S`, and returns the same compiled schema for equal schemas.
#[derive(Default)]
pub struct CachedSchemas<S> {
    compiler: S,
    compiled: Mutex<HashMap<Value, Arc<dyn Schema>>>,
}

impl<S: Schemas> Schemas for CachedSchemas<S> {
    fn compile(&self, schema: &Value) -> Result<Arc<dyn Schema>, String> {
        let compiled = || self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = compiled().get(schema) {
            return Ok(Arc::clone(found));
        }
        let made = self.compiler.compile(schema)?;
        let mut compiled = compiled();
        if compiled.len() >= KEPT {
            compiled.clear();
        }
        compiled.insert(schema.clone(), Arc::clone(&made));
        Ok(made)
    }

    fn read(&self, given: &Value) -> Result<Value, String> {
        self.compiler.read(given)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::JsonSchemas;

    #[test]
    fn equal_schemas_are_compiled_once_and_others_apart() {
        let cache = CachedSchemas::<JsonSchemas>::default();
        let [short, again, long] =
            [3, 3, 9].map(|most| cache.compile(&json!({ "maxLength": most })).unwrap());
        assert!(Arc::ptr_eq(&short, &again));
        assert_eq!(short.faults(&json!("four")).len(), 1);
        assert_eq!(long.faults(&json!("four")).len(), 0);
        assert!(cache.compile(&json!({ "type": 5 })).is_err());
    }

    #[test]
    fn the_number_of_kept_schemas_is_bounded() {
        let cache = CachedSchemas::<JsonSchemas>::default();
        for most in 0..=2 * KEPT {
            cache.compile(&json!({ "maxLength": most })).unwrap();
            assert!(cache.compiled.lock().unwrap().len() <= KEPT);
        }
    }
}
