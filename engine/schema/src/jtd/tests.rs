//! The conversion agrees with the crate `jtd`, and nothing that is not JTD is taken for it.

use engine::ports::Schemas as _;
use serde_json::{Map, Value, json};

use super::{is_jtd, jtd_to_json_schema, read_schema};
use crate::JsonSchemas;

/// Random numbers, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    fn is(&mut self, in_so_many: usize) -> bool {
        self.below(in_so_many) == 0
    }
}

const TYPES: [&str; 11] = [
    "boolean",
    "string",
    "timestamp",
    "float32",
    "float64",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
];
const NAMES: [&str; 5] = ["a", "b", "kind", "a/b~c d%", "é"];
const DEFINITIONS: [&str; 2] = ["leaf", "odd /~%name"];

/// Returns a schema.
fn schema(random: &mut Random, depth: usize) -> Value {
    let form = random.below(if depth == 0 { 4 } else { 9 });
    let mut schema = match form {
        0 | 1 => json!({ "type": random.one(&TYPES) }),
        2 => json!({ "enum": ["x", "y", ""] }),
        3 => json!({ "ref": random.one(&DEFINITIONS) }),
        4 => json!({ "elements": schema(random, depth - 1) }),
        5 => json!({ "values": schema(random, depth - 1) }),
        6 => json!({}),
        7 => {
            let mut mapping = Map::new();
            for name in ["one", "two"] {
                mapping.insert(name.to_owned(), properties(random, depth - 1, &NAMES[..2]));
            }
            json!({ "discriminator": "kind", "mapping": mapping })
        }
        _ => properties(random, depth - 1, &NAMES),
    };
    if random.is(5) {
        schema["nullable"] = random.is(2).into();
    }
    if random.is(8) {
        schema["metadata"] = json!({ "description": "Something." });
    }
    schema
}

fn properties(random: &mut Random, depth: usize, names: &[&str]) -> Value {
    let (mut needed, mut optional) = (Map::new(), Map::new());
    for name in names {
        match random.below(3) {
            0 => needed.insert((*name).to_owned(), schema(random, depth)),
            1 => optional.insert((*name).to_owned(), schema(random, depth)),
            _ => None,
        };
    }
    let mut schema = json!({ "properties": needed });
    if !optional.is_empty() {
        schema["optionalProperties"] = optional.into();
    }
    if random.is(3) {
        schema["additionalProperties"] = random.is(2).into();
    }
    schema
}

/// Returns a value that a schema accepts, mostly.
fn value(random: &mut Random, schema: &Value, root: &Value, depth: usize) -> Value {
    if depth == 0 || random.is(12) {
        return any(random);
    }
    let of = |random: &mut Random, schema: &Value| value(random, schema, root, depth - 1);
    if let Some(name) = schema["ref"].as_str() {
        return of(random, &root["definitions"][name]);
    }
    if let Some(kind) = schema["type"].as_str() {
        return match kind {
            "boolean" => random.one(&[json!(true), json!(false)]),
            "string" => json!("a text"),
            "timestamp" => random.one(&[
                json!("1985-04-12T23:20:50.52Z"),
                json!("1996-12-19T16:39:57-08:00"),
                json!("1985-13-12T23:20:50Z"),
                json!("1985-04-12"),
                json!("1985-04-12T23:20:50"),
            ]),
            _number => random.one(&[
                json!(0),
                json!(1.5),
                json!(3.0),
                json!(-1),
                json!(255),
                json!(40_000),
            ]),
        };
    }
    if let Some(choices) = schema["enum"].as_array() {
        return random.one(choices);
    }
    if schema.get("elements").is_some() {
        return (0..random.below(3)).map(|_| of(random, &schema["elements"])).collect();
    }
    let mut members = Map::new();
    if schema.get("values").is_some() {
        for name in NAMES.iter().take(random.below(3)) {
            members.insert((*name).to_owned(), of(random, &schema["values"]));
        }
        return members.into();
    }
    let tag = random.one(&["one", "two", "three"]);
    let variant = schema["mapping"].get(tag).unwrap_or(schema);
    if schema.get("mapping").is_some() && !random.is(8) {
        members.insert("kind".to_owned(), tag.into());
    }
    for word in ["properties", "optionalProperties"] {
        for (name, schema) in variant[word].as_object().into_iter().flatten() {
            if !random.is(if word == "properties" { 12 } else { 2 }) {
                members.insert(name.clone(), of(random, schema));
            }
        }
    }
    if random.is(8) {
        members.insert("more".to_owned(), json!(1));
    }
    members.into()
}

fn any(random: &mut Random) -> Value {
    random.one(&[
        json!(null),
        json!(true),
        json!("x"),
        json!(7),
        json!(-0.5),
        json!(1e300),
        json!([]),
        json!({}),
        json!({ "kind": "one" }),
        json!([{ "a": 1 }]),
    ])
}

#[test]
fn random_schemas_accept_what_the_crate_jtd_accepts() {
    let mut random = Random(11);
    let (mut accepted, mut rejected, mut detected) = (0, 0, 0);
    for _ in 0..400 {
        let mut given = schema(&mut random, 3);
        given["definitions"] = json!({
            "leaf": { "type": "uint8" },
            "odd /~%name": { "optionalProperties": { "next": { "ref": "odd /~%name", "nullable": true } } },
        });
        let theirs = serde_json::from_value(given.clone()).unwrap();
        let theirs = jtd::Schema::from_serde_schema(theirs).unwrap();
        theirs.validate().unwrap();
        let converted = jtd_to_json_schema(&given).unwrap();
        let ours = JsonSchemas.compile(&converted).unwrap();
        detected += usize::from(is_jtd(&given));
        for _ in 0..8 {
            let value = value(&mut random, &given, &given, 6);
            let faults = jtd::validate(&theirs, &value, jtd::ValidateOptions::new()).unwrap();
            let told = ours.faults(&value);
            assert_eq!(faults.is_empty(), told.is_empty(), "{given} {value} {told:?}");
            *(if told.is_empty() { &mut accepted } else { &mut rejected }) += 1;
        }
    }
    assert!(accepted > 500 && rejected > 500, "{accepted} {rejected}");
    assert!(detected > 200, "{detected}");
}

#[test]
fn which_language_a_schema_is_in_shows_in_its_words() {
    for (schema, expected) in [
        (json!({ "elements": { "type": "string" } }), true),
        (json!({ "type": "uint8" }), true),
        (json!({ "properties": { "a": { "type": "string" } } }), true),
        (json!({ "properties": { "elements": { "type": "object" } } }), false),
        (json!({ "properties": { "a": { "properties": {}, "required": [] } } }), false),
        (json!({ "optionalProperties": {} }), true),
        (json!({ "type": "string", "nullable": true }), true),
        (json!({ "values": {} }), true),
        (json!({ "discriminator": "a", "mapping": {} }), true),
        (json!({ "type": "object", "properties": { "a": { "type": "string" } } }), false),
        (json!({ "properties": { "a": { "type": ["string", "null"] } } }), false),
        (json!({ "properties": {}, "additionalProperties": { "type": "string" } }), false),
        (json!({ "$ref": "#/definitions/a", "definitions": {} }), false),
        (json!({ "required": ["values"] }), false),
        // What both mean alike stays as it is.
        (json!({ "type": "string" }), false),
        (json!({ "enum": ["a"] }), false),
        (json!({}), false),
        (json!(true), false),
    ] {
        assert_eq!(is_jtd(&schema), expected, "{schema}");
    }
}

#[test]
fn a_schema_may_be_its_text() {
    let expected = json!({
        "type": "object",
        "properties": { "a": { "type": "string", "description": "A name." } },
        "required": ["a"],
        "additionalProperties": false,
    });
    let jtd = json!({ "properties": { "a": { "type": "string", "metadata": { "description": "A name." } } } });
    let twice = json!(json!(jtd.to_string()).to_string());
    for given in [jtd.clone(), json!(jtd.to_string()), twice] {
        assert_eq!(read_schema(&given), Ok(expected.clone()));
    }
    assert_eq!(read_schema(&expected), Ok(expected.clone()));
    let refusal = read_schema(&json!("{")).unwrap_err();
    assert!(refusal.starts_with("it is not JSON: "), "{refusal}");
}

#[test]
fn what_is_not_jtd_is_refused_with_its_place() {
    let deep = (0..200).fold(json!({}), |inner, _| json!({ "elements": inner }));
    for (schema, refusal) in [
        (json!({ "elements": { "type": "text" } }), "/elements/type: `text` is no type of JTD"),
        (
            json!({ "elements": {}, "values": {} }),
            "the schema: no form of JTD has the words elements, values",
        ),
        (json!({ "properties": { "a/b": 1 } }), "/properties/a~1b: it must be an object"),
        (json!({ "ref": "a" }), "/ref: there is no definition `a`"),
        (
            json!({ "ref": "a", "definitions": { "a": { "ref": "b" }, "b": { "ref": "a" } } }),
            "/definitions/a: it leads to itself, and to nothing else",
        ),
        (
            json!({ "elements": { "definitions": {} } }),
            "/elements: no form of JTD has the words definitions",
        ),
        (json!({ "enum": ["a", "a"] }), "/enum: it must be a list of different texts"),
        (json!({ "enum": [] }), "/enum: it must be a list of different texts"),
        (json!({ "enum": [1] }), "/enum: it must be a list of different texts"),
        (
            json!({ "properties": { "a": {} }, "optionalProperties": { "a": {} } }),
            "/optionalProperties/a: it is in `properties`, too",
        ),
        (json!({ "values": {}, "nullable": 1 }), "/nullable: it must be true or false"),
        (
            json!({ "discriminator": "a", "mapping": { "x": { "type": "string" } } }),
            "/mapping/x: it has no properties",
        ),
        (
            json!({ "discriminator": "a", "mapping": { "x": { "properties": { "a": {} } } } }),
            "/mapping/x: it has the tag among its properties",
        ),
        (
            json!({ "discriminator": "a", "mapping": { "x": { "properties": {}, "nullable": true } } }),
            "/mapping/x: what a tag stands for cannot be null",
        ),
        (deep, "it is nested deeper than 128 levels"),
    ] {
        assert_eq!(jtd_to_json_schema(&schema), Err(refusal.to_owned()), "{schema}");
    }
}
