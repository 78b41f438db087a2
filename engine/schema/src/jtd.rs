//! Schemas in JSON Type Definition (RFC 8927), as JSON Schemas. Which of the two a schema is shows in its
//! words: people and models write both where a schema is asked for.

mod language;

use std::collections::BTreeSet;

use protocol::quote_within;
use serde_json::{Map, Value, json};

use self::language::{Language, language};
use crate::validator::{DEPTH, is_deeper};

/// Words of other schemas that say something to people only, and are kept.
const REMARKS: [&str; 4] = ["description", "title", "examples", "$comment"];

/// The numbers of JTD that are whole, with their least and greatest values.
const WHOLE: [(&str, i64, i64); 6] = [
    ("int8", -128, 127),
    ("uint8", 0, 255),
    ("int16", -32_768, 32_767),
    ("uint16", 0, 65_535),
    ("int32", -2_147_483_648, 2_147_483_647),
    ("uint32", 0, 4_294_967_295),
];

/// A point in time as RFC 3339 writes it. Days that a month lacks are not seen.
const TIMESTAMP: &str = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]\
     :([0-5][0-9]|60)(\\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$";

/// Returns the JSON Schema that is meant by a schema as people and models write them: a JSON Schema, a schema in
/// JTD, or the text of either.
///
/// # Errors
/// It is a text that is not JSON, or not valid in JTD. Whether a JSON Schema is valid shows when it is
/// compiled.
pub fn read_schema(given: &Value) -> Result<Value, String> {
    let parsed = |text: &str| -> Result<Value, String> {
        serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))
    };
    let mut schema = given.clone();
    // Some models encode what is encoded.
    for _ in 0..2 {
        if let Value::String(text) = &schema {
            schema = parsed(text)?;
        }
    }
    if is_deeper(&schema, DEPTH) {
        return Err(format!("it is nested deeper than {DEPTH} levels"));
    }
    match &schema {
        schema if is_jtd(schema) => jtd_to_json_schema(schema),
        _json_schema => Ok(schema),
    }
}

/// Returns whether a schema is one in JTD rather than a JSON Schema. Of one that may be both, and means the
/// same as either, it returns `false`.
#[must_use]
pub fn is_jtd(schema: &Value) -> bool {
    !is_deeper(schema, DEPTH) && language(schema) == Some(Language::Jtd)
}

/// Returns the JSON Schema that accepts the values that a schema in JTD accepts.
///
/// # Errors
/// The schema is not one in JTD. The message has the place.
pub fn jtd_to_json_schema(schema: &Value) -> Result<Value, String> {
    if is_deeper(schema, DEPTH) {
        return Err(format!("it is nested deeper than {DEPTH} levels"));
    }
    let none = Map::new();
    let definitions = match schema.get("definitions") {
        None => &none,
        Some(definitions) => object(definitions, "/definitions")?,
    };
    let converter = Converter { definitions };
    let mut root = converter.schema(schema, "", Position::Root)?;
    let mut converted = Map::new();
    for (name, definition) in definitions {
        converter.check_circle(name)?;
        let at = below("/definitions", name);
        converted.insert(name.clone(), converter.schema(definition, &at, Position::Inside)?);
    }
    if let Some(root) = root.as_object_mut().filter(|_| !converted.is_empty()) {
        root.insert("$defs".to_owned(), converted.into());
    }
    Ok(root)
}

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Root,
    Inside,
    /// It is what a tag stands for.
    Mapping,
}

struct Converter<'a> {
    definitions: &'a Map<String, Value>,
}

impl Converter<'_> {
    /// Converts one schema. The depth was checked.
    fn schema(&self, schema: &Value, at: &str, position: Position) -> Result<Value, String> {
        let members = object(schema, at)?;
        let is_form = |word: &&str| {
            let is_of_root = *word == "definitions" && position == Position::Root;
            !is_of_root && !["nullable", "metadata"].contains(word) && !REMARKS.contains(word)
        };
        let mut words: Vec<&str> = members.keys().map(String::as_str).filter(is_form).collect();
        words.sort_unstable();
        let mut converted = match words[..] {
            [] => Map::new(),
            ["ref"] => self.reference(&members["ref"], at)?,
            ["type"] => simple(&members["type"], at)?,
            ["enum"] => choices(&members["enum"], at)?,
            ["elements"] => {
                let items =
                    self.schema(&members["elements"], &below(at, "elements"), Position::Inside)?;
                map(json!({ "type": "array", "items": items }))
            }
            ["values"] => {
                let values =
                    self.schema(&members["values"], &below(at, "values"), Position::Inside)?;
                map(json!({ "type": "object", "additionalProperties": values }))
            }
            ["discriminator", "mapping"] => self.tagged(members, at)?,
            ["properties"]
            | ["optionalProperties"]
            | ["optionalProperties", "properties"]
            | ["additionalProperties", "properties"]
            | ["additionalProperties", "optionalProperties"]
            | ["additionalProperties", "optionalProperties", "properties"] => {
                self.properties(members, at)?
            }
            _ => {
                let words = quote_within(&words.join(", "), 80);
                return Err(format!(
                    "{}: no form of JTD has the words {words}",
                    display_pointer(at)
                ));
            }
        };
        if flag(members, "nullable", at)? {
            if position == Position::Mapping {
                return Err(format!(
                    "{}: what a tag stands for cannot be null",
                    display_pointer(at)
                ));
            }
            converted = nullable(converted);
        }
        let metadata = members.get("metadata").and_then(|it| it.get("description"));
        if let Some(text @ Value::String(_)) = members.get("description").or(metadata) {
            converted.insert("description".to_owned(), text.clone());
        }
        Ok(converted.into())
    }

    fn reference(&self, name: &Value, at: &str) -> Result<Map<String, Value>, String> {
        let name = text(name, &below(at, "ref"))?;
        if !self.definitions.contains_key(name) {
            let name = quote_within(name, 60);
            return Err(format!(
                "{}: there is no definition `{name}`",
                display_pointer(&below(at, "ref"))
            ));
        }
        // A reference is part of a URI.
        let mut path = String::new();
        for byte in name.replace('~', "~0").replace('/', "~1").bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
                path.push(char::from(byte));
            } else {
                path += &format!("%{byte:02X}");
            }
        }
        Ok(map(json!({ "$ref": format!("#/$defs/{path}") })))
    }

    /// Refuses a definition that is nothing but itself.
    fn check_circle(&self, name: &str) -> Result<(), String> {
        let mut at = name;
        for _ in 0..=self.definitions.len() {
            let next =
                self.definitions.get(at).and_then(|it| it.get("ref")).and_then(Value::as_str);
            match next {
                Some(next) => at = next,
                None => return Ok(()),
            }
        }
        let place = display_pointer(&below("/definitions", name));
        Err(format!("{place}: it leads to itself, and to nothing else"))
    }

    fn properties(
        &self,
        members: &Map<String, Value>,
        at: &str,
    ) -> Result<Map<String, Value>, String> {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for word in ["properties", "optionalProperties"] {
            let Some(given) = members.get(word) else { continue };
            let at = below(at, word);
            for (name, schema) in object(given, &at)? {
                let at = below(&at, name);
                let schema = self.schema(schema, &at, Position::Inside)?;
                if properties.insert(name.clone(), schema).is_some() {
                    return Err(format!("{}: it is in `properties`, too", display_pointer(&at)));
                }
                if word == "properties" {
                    required.push(name.clone());
                }
            }
        }
        let mut converted = map(json!({ "type": "object", "properties": properties }));
        if !required.is_empty() {
            converted.insert("required".to_owned(), required.into());
        }
        if !flag(members, "additionalProperties", at)? {
            converted.insert("additionalProperties".to_owned(), false.into());
        }
        Ok(converted)
    }

    fn tagged(&self, members: &Map<String, Value>, at: &str) -> Result<Map<String, Value>, String> {
        let tag = text(&members["discriminator"], &below(at, "discriminator"))?;
        let at = below(at, "mapping");
        let mut variants = Vec::new();
        for (name, schema) in object(&members["mapping"], &at)? {
            let at = below(&at, name);
            let mut variant = self.schema(schema, &at, Position::Mapping)?;
            let Some(properties) = variant.get_mut("properties").and_then(Value::as_object_mut)
            else {
                return Err(format!("{}: it has no properties", display_pointer(&at)));
            };
            let constant = json!({ "const": name });
            if properties.insert(tag.to_owned(), constant).is_some() {
                return Err(format!(
                    "{}: it has the tag among its properties",
                    display_pointer(&at)
                ));
            }
            let mut required = vec![Value::from(tag)];
            required.extend(variant["required"].as_array().into_iter().flatten().cloned());
            variant["required"] = required.into();
            variants.push(variant);
        }
        // None of no alternatives is an error in JSON Schema.
        Ok(if variants.is_empty() {
            map(json!({ "not": {} }))
        } else {
            map(json!({ "anyOf": variants }))
        })
    }
}

/// Converts one of the types.
fn simple(kind: &Value, at: &str) -> Result<Map<String, Value>, String> {
    let at = below(at, "type");
    let kind = text(kind, &at)?;
    if let Some((_, least, greatest)) = WHOLE.iter().find(|(name, ..)| *name == kind) {
        return Ok(map(json!({ "type": "integer", "minimum": least, "maximum": greatest })));
    }
    match kind {
        "boolean" | "string" => Ok(map(json!({ "type": kind }))),
        "float32" | "float64" => Ok(map(json!({ "type": "number" }))),
        "timestamp" => {
            Ok(map(json!({ "type": "string", "format": "date-time", "pattern": TIMESTAMP })))
        }
        other => Err(format!(
            "{}: `{}` is no type of JTD",
            display_pointer(&at),
            quote_within(other, 60)
        )),
    }
}

fn choices(given: &Value, at: &str) -> Result<Map<String, Value>, String> {
    let wrong =
        || format!("{}: it must be a list of different texts", display_pointer(&below(at, "enum")));
    let choices = given.as_array().filter(|it| !it.is_empty()).ok_or_else(wrong)?;
    let names: Option<BTreeSet<_>> = choices.iter().map(Value::as_str).collect();
    if names.is_none_or(|names| names.len() < choices.len()) {
        return Err(wrong());
    }
    Ok(map(json!({ "type": "string", "enum": choices })))
}

/// Returns a schema that accepts null as well.
fn nullable(mut schema: Map<String, Value>) -> Map<String, Value> {
    if schema.is_empty() {
        return schema;
    }
    let Some(kind) = schema.get("type").cloned() else {
        return map(json!({ "anyOf": [schema, { "type": "null" }] }));
    };
    schema.insert("type".to_owned(), json!([kind, "null"]));
    if let Some(Value::Array(choices)) = schema.get_mut("enum") {
        choices.push(Value::Null);
    }
    schema
}

fn flag(members: &Map<String, Value>, word: &str, at: &str) -> Result<bool, String> {
    match members.get(word) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_other) => {
            Err(format!("{}: it must be true or false", display_pointer(&below(at, word))))
        }
    }
}

fn object<'a>(value: &'a Value, at: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{}: it must be an object", display_pointer(at)))
}

fn text<'a>(value: &'a Value, at: &str) -> Result<&'a str, String> {
    value.as_str().ok_or_else(|| format!("{}: it must be a text", display_pointer(at)))
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _other => Map::new(),
    }
}

/// Returns the pointer to a member of the object at `at`.
fn below(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Returns a pointer as a message names it.
fn display_pointer(at: &str) -> String {
    if at.is_empty() { "the schema".to_owned() } else { quote_within(at, 120) }
}

#[cfg(test)]
mod tests;
