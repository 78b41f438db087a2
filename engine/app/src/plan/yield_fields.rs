//! Checks the placeholders of prompts against the schemas of the yields that they stand for.

use std::collections::BTreeMap;

use protocol::TaskName;
use serde_json::Value;

use crate::each::PlanPrompt;
use crate::error::Error;

/// Checks that each placeholder of a prompt stands for something that the schema of its task allows.
///
/// # Errors
/// A placeholder stands for a field that is never yielded.
pub(super) fn check(
    prompt: &PlanPrompt,
    schemas: &BTreeMap<&TaskName, &Value>,
) -> Result<(), Error> {
    for place in &prompt.yields {
        let Some(schema) = schemas.get(&place.task) else { continue };
        if let Err(known) = allows(schema, &place.path) {
            let written = &prompt.text[place.start..place.end];
            let what = format!("`{written}` stands for what task `{}` never yields", place.task);
            return Err(Error::usage(what).because(match known.is_empty() {
                true => "its schema has no such field".to_owned(),
                false => format!("its schema has {}", known.join(", ")),
            }));
        }
    }
    Ok(())
}

/// Returns whether a value of this schema may have the part at `path`. If it certainly has none,
/// returns the fields that there are in its place. A schema that is not understood allows everything.
fn allows(schema: &Value, path: &[String]) -> Result<(), Vec<String>> {
    let Some((part, rest)) = path.split_first() else { return Ok(()) };
    match schema["type"].as_str() {
        Some("object") => match &schema["properties"][part] {
            Value::Null if schema["additionalProperties"] != false => Ok(()),
            Value::Null if schema.get("patternProperties").is_some() => Ok(()),
            Value::Null => {
                let known = schema["properties"].as_object();
                let mut known: Vec<_> =
                    known.into_iter().flat_map(|known| known.keys().cloned()).collect();
                known.sort();
                Err(known)
            }
            inner => allows(inner, rest),
        },
        Some("array") if schema.get("prefixItems").is_some() && part.parse::<usize>().is_ok() => {
            Ok(())
        }
        Some("array") if part.parse::<usize>().is_ok() => allows(&schema["items"], rest),
        Some("array" | "string" | "number" | "integer" | "boolean" | "null") => Err(Vec::new()),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn only_what_is_certainly_not_there_is_refused() {
        let schema = json!({
            "type": "object",
            "properties": {
                "files": { "type": "array", "items": { "type": "object", "properties": {} } },
                "why": { "type": "string" },
                "any": { "$ref": "#/x" },
            },
            "additionalProperties": false,
        });
        let allows = |path: &str| {
            let path: Vec<_> =
                path.split('.').filter(|p| !p.is_empty()).map(str::to_owned).collect();
            super::allows(&schema, &path)
        };
        for good in ["", "files", "files.0", "files.0.name.x", "why", "any.thing"] {
            assert_eq!(allows(good), Ok(()), "{good}");
        }
        let known: Vec<_> = ["any", "files", "why"].map(str::to_owned).into();
        assert_eq!(allows("file"), Err(known));
        for bad in ["files.first", "why.not"] {
            assert_eq!(allows(bad), Err(Vec::new()), "{bad}");
        }
        assert_eq!(super::allows(&json!(true), &["a".to_owned()]), Ok(()));
        assert_eq!(super::allows(&json!({ "type": ["object"] }), &["a".to_owned()]), Ok(()));
    }
}
