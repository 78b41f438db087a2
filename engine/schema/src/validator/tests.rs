use engine::ports::Schemas;
use serde_json::{Value, json};

use super::JsonSchemas;

fn faults(schema: Value, value: Value) -> Vec<String> {
    JsonSchemas.compile(&schema).unwrap().faults(&value)
}

fn refusal(schema: Value) -> String {
    JsonSchemas.compile(&schema).err().expect("the schema must be refused")
}

#[test]
fn a_value_that_matches_has_no_faults() {
    let schema = json!({ "type": "object", "required": ["changed_files"] });
    assert_eq!(faults(schema, json!({ "changed_files": [] })), Vec::<String>::new());
    assert_eq!(faults(json!(true), Value::Null), Vec::<String>::new());
}

#[test]
fn every_fault_has_its_place_and_what_is_wrong_there() {
    let schema = json!({
        "type": "object",
        "required": ["summary", "a/b~c"],
        "properties": {
            "count": { "type": "integer", "minimum": 1 },
            "files": { "type": "array", "items": { "type": "string" }, "maxItems": 2 },
            "kind": { "enum": ["fix", "feature"] },
            "name": { "pattern": "^[a-z]+$" },
        },
        "additionalProperties": false,
    });
    let value =
        json!({ "count": 0, "files": ["a", 2, "c"], "kind": "bug", "name": "X", "extra": 1 });
    let mut faults = faults(schema, value);
    faults.sort();
    assert_eq!(
        faults,
        [
            "/a~1b~0c: is missing",
            "/count: must be at least 1, not 0",
            "/extra: is not one of the properties there are",
            "/files/1: must be a string, not 2",
            "/files: must have at most 2 items",
            "/kind: must be one of \"fix\", \"feature\", not \"bug\"",
            "/name: must match the pattern ^[a-z]+$, which \"X\" does not",
            "/summary: is missing",
        ]
    );
}

#[test]
fn a_fault_of_the_whole_value_says_so() {
    let schema = json!({ "type": ["object", "array"] });
    assert_eq!(faults(schema, Value::Null), ["the value: must be an array or an object, not null"]);
}

#[test]
fn of_several_alternatives_the_nearest_is_explained() {
    let schema = json!({ "properties": { "at": { "anyOf": [
        { "type": "null" },
        { "type": "object", "required": ["line", "file"] },
    ] } } });
    assert_eq!(faults(schema.clone(), json!({ "at": { "file": "x" } })), ["/at/line: is missing"]);
    assert_eq!(faults(schema, json!({ "at": 1 })), ["/at: must be null or an object"]);
    let shapes = json!({ "oneOf": [
        { "required": ["radius", "unit", "colour"] },
        { "required": ["width"] },
    ] });
    assert_eq!(
        faults(shapes, json!({})),
        ["the value: matches none of the 2 alternatives; for the nearest", "/width: is missing"]
    );
}

#[test]
fn at_most_ten_faults_are_told_and_each_is_short() {
    let schema = json!({ "items": { "const": "x".repeat(10_000) } });
    let faults = faults(schema, json!(vec!["y".repeat(10_000); 50]));
    assert_eq!(faults.len(), 11);
    assert_eq!(faults[10], "and more");
    assert!(faults.iter().all(|fault| fault.chars().count() <= 241), "{faults:?}");
}

#[test]
fn what_a_terminal_would_obey_is_escaped() {
    let schema = json!({ "properties": { "a": true }, "additionalProperties": false });
    let told = faults(schema, json!({ "\u{1b}[2J\u{202e}": 1 }));
    assert_eq!(told, ["/\\u{1b}[2J\\u{202e}: is not one of the properties there are"]);
    let none = json!({ "additionalProperties": false });
    assert_eq!(faults(none, json!({ "a": 1 })), ["the value: must have no properties"]);
}

#[test]
fn a_schema_that_is_none_is_refused_with_the_place_of_the_fault() {
    assert_eq!(
        refusal(json!({ "properties": { "a": { "type": "text" } } })),
        "/properties/a/type: must be one of \"array\", \"boolean\", \"integer\", \"null\", \
         \"number\", …, not \"text\""
    );
    assert_eq!(refusal(json!(7)), "the value: must be true or false or an object, not 7");
}

#[test]
fn a_reference_out_of_the_schema_is_refused_and_nothing_is_fetched() {
    for outside in
        ["http://127.0.0.1:1/x.json", "https://example.com/x", "file:///etc/passwd", "x.json"]
    {
        let refusal = refusal(json!({ "$ref": outside }));
        assert!(refusal.contains("only references inside the schema are followed"), "{refusal}");
    }
}

#[test]
fn a_reference_inside_the_schema_is_followed_and_a_circle_ends() {
    let list = json!({ "$ref": "#/$defs/list", "$defs": { "list": {
        "type": "object", "properties": { "next": { "$ref": "#/$defs/list" } },
    } } });
    assert_eq!(
        faults(list, json!({ "next": { "next": 1 } })),
        ["/next/next: must be an object, not 1"]
    );
    for circle in [
        json!({ "$ref": "#" }),
        json!({ "allOf": [{ "$ref": "#" }] }),
        json!({ "anyOf": [{ "$ref": "#" }, { "type": "null" }] }),
        json!({ "not": { "$ref": "#" } }),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
        json!({ "$dynamicRef": "#x", "$dynamicAnchor": "x" }),
    ] {
        // Such a schema may mean anything; its check has to end.
        let judged = JsonSchemas.compile(&circle).map(|schema| schema.faults(&json!(1)).len());
        assert!(judged.is_ok_and(|faults| faults <= 2), "{circle}");
    }
}

#[test]
fn what_is_nested_too_deep_is_refused() {
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(faults(json!(true), deep.clone()), ["it is nested deeper than 128 levels"]);
    assert_eq!(refusal(json!({ "const": deep })), "it is nested deeper than 128 levels");
}

#[test]
fn a_pattern_that_never_ends_is_cut_short() {
    let told = faults(json!({ "pattern": "^(?=(a+)+$)(a|aa)+\\1$" }), json!("a".repeat(60) + "b"));
    assert_eq!(told.len(), 1, "{told:?}");
    let huge = json!({ "pattern": "((a{1000}){1000}){1000}" });
    assert!(JsonSchemas.compile(&huge).is_err());
}

#[test]
fn no_schema_makes_the_check_panic() {
    const KEYWORDS: [&str; 20] = [
        "$id",
        "$ref",
        "$schema",
        "$anchor",
        "$dynamicRef",
        "$defs",
        "type",
        "pattern",
        "format",
        "items",
        "properties",
        "anyOf",
        "not",
        "if",
        "required",
        "enum",
        "minimum",
        "multipleOf",
        "contentEncoding",
        "unevaluatedProperties",
    ];
    let odd = [
        json!("#"),
        json!("#/$defs/a"),
        json!(":::"),
        json!("http://[::1"),
        json!("%zz"),
        json!("urn:x"),
        json!("http://json-schema.org/draft-07/schema#"),
        json!("https://example.com/schema"),
        json!("(?<a>\\k<a>)"),
        json!("["),
        json!("a{9999999}"),
        json!("date-time"),
        json!("base64"),
        json!({}),
        json!([]),
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(1e308),
        json!(["a"]),
        json!({ "a": { "$ref": "#/$defs/a" } }),
        json!([{ "$ref": "#" }]),
        json!("string"),
    ];
    let values = [json!(null), json!("a"), json!({ "a": [1, "x"] }), json!([[], 1.5e308])];
    let mut seed: u64 = 11;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let mut accepted = 0;
    for _ in 0..2_000 {
        let members = (0..=next(3))
            .map(|_| (KEYWORDS[next(KEYWORDS.len())].to_owned(), odd[next(odd.len())].clone()));
        let schema = Value::Object(members.collect());
        match JsonSchemas.compile(&schema) {
            Ok(judge) => {
                accepted += 1;
                let faults: usize = values.iter().map(|value| judge.faults(value).len()).sum();
                assert!(faults <= 44);
            }
            Err(refusal) => assert!(!refusal.is_empty() && refusal.len() < 5_000),
        }
    }
    assert!(accepted > 0);
}
