//! JSON Schemas of arguments, made from types, as models are shown them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Returns the JSON Schema of arguments: one piece, without what says nothing to a model.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    if let Some(root) = schema.as_object_mut() {
        root.remove("description");
        // An object without properties says so, or servers refuse it.
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

/// Takes out titles, formats and defaults, and writes what may be left out as what it is.
fn tidy(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    for noise in ["title", "format", "default"] {
        object.remove(noise);
    }
    // Comments are wrapped where code is.
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(tidy);
    }
    if let Some(items) = object.get_mut("items") {
        tidy(items);
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// Said to nobody.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Arguments {
        /// Where.
        path: String,
        /// How
        /// many.
        #[schemars(range(min = 1, max = 9))]
        limit: Option<u32>,
        parts: Vec<Part>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Part {
        old_text: String,
    }

    #[test]
    fn a_schema_is_one_piece_without_noise() {
        assert_eq!(
            schema::<Arguments>(),
            json!({
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "Where." },
                    "limit": { "type": "integer", "minimum": 1, "maximum": 9, "description": "How many." },
                    "parts": { "type": "array", "items": {
                        "type": "object",
                        "properties": { "oldText": { "type": "string" } },
                        "additionalProperties": false,
                        "required": ["oldText"],
                    } },
                },
                "additionalProperties": false,
                "required": ["path", "parts"],
            })
        );
    }
}
