//! Whether a schema is a JSON Schema or one in JTD, by its words.

use serde_json::Value;

use super::WHOLE;

/// Words that only JSON Schema has.
const JSON_SCHEMA_WORDS: [&str; 30] = [
    "$anchor",
    "$defs",
    "$dynamicRef",
    "$id",
    "$ref",
    "$schema",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "dependentRequired",
    "else",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "required",
];

/// Words that only JTD has.
const JTD_WORDS: [&str; 7] =
    ["elements", "mapping", "metadata", "nullable", "optionalProperties", "ref", "values"];

/// A language of schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    JsonSchema,
    Jtd,
}

/// Returns the language of a schema, if it shows.
pub(super) fn language(schema: &Value) -> Option<Language> {
    let members = schema.as_object()?;
    let has = |word: &str| members.contains_key(word);
    let kind = members.get("type");
    let names_type =
        |names: &[&str]| kind.and_then(Value::as_str).is_some_and(|it| names.contains(&it));
    let is_json_type = kind.is_some_and(Value::is_array)
        || names_type(&["object", "array", "number", "integer", "null"]);
    let is_open = members.get("additionalProperties").is_some_and(Value::is_object);
    if is_json_type || is_open || JSON_SCHEMA_WORDS.iter().any(|word| has(word)) {
        return Some(Language::JsonSchema);
    }
    let is_jtd_type = names_type(&["float32", "float64", "timestamp"])
        || WHOLE.iter().any(|(name, ..)| names_type(&[name]));
    if is_jtd_type || JTD_WORDS.iter().any(|word| has(word)) {
        return Some(Language::Jtd);
    }
    // An object in JSON Schema hardly ever lacks its type, and in JTD it has none.
    let properties = members.get("properties")?.as_object()?;
    let mut languages = properties.values().filter_map(language);
    let is_other = kind.is_some() || languages.any(|it| it == Language::JsonSchema);
    Some(if is_other { Language::JsonSchema } else { Language::Jtd })
}
