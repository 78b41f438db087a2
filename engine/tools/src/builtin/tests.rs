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
        arguments_schema::<Arguments>(),
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

#[test]
fn other_names_are_taken_for_the_right_one_and_never_over_it() {
    let mut arguments = json!({ "file": "a", "filename": "b" }).as_object().unwrap().clone();
    rename(&mut arguments, "path", &["file", "filename"]);
    assert_eq!(Value::from(arguments.clone()), json!({ "filename": "b", "path": "a" }));
    rename(&mut arguments, "path", &["filename"]);
    assert_eq!(arguments["path"], "a");
}
