//! The tool `yield`.

use engine::ports::{Concurrency, ToolOutcome};
use serde_json::{Value, json};

use super::session::{Session, Setting, ViewKind, read};

async fn yielded(schema: Option<Value>, arguments: Value) -> ToolOutcome {
    Session::with(ViewKind::Memory, Setting { schema, ..Setting::default() })
        .await
        .call("yield", arguments)
        .await
}

async fn declared(schema: Option<Value>) -> Value {
    let session = Session::with(ViewKind::Memory, Setting { schema, ..Setting::default() }).await;
    let all = session.declarations();
    let declaration = all.iter().find(|tool| tool.name == "yield").unwrap();
    let access = session.access("yield", json!({ "data": 1 }));
    assert_eq!(access.concurrency, Concurrency::Exclusive);
    Value::clone(&declaration.parameters)
}

async fn declared_data(schema: Value) -> Value {
    declared(Some(schema)).await["properties"]["result"]["properties"]["data"].clone()
}

#[test]
async fn data_and_errors_end_the_session() {
    let data = json!({ "count": 3 });
    let cases = [
        (json!({ "result": { "data": data } }), ToolOutcome::Yielded(data.clone())),
        (json!({ "data": data }), ToolOutcome::Yielded(data.clone())),
        (json!({ "result": "{\"data\": {\"count\": 3}}" }), ToolOutcome::Yielded(data.clone())),
        (json!({ "result": { "data": data, "error": null } }), ToolOutcome::Yielded(data.clone())),
        (json!({ "result": { "data": data, "error": "" } }), ToolOutcome::Yielded(data)),
        (json!({ "data": "text" }), ToolOutcome::Yielded(json!("text"))),
        (json!({ "data": null }), ToolOutcome::Yielded(Value::Null)),
        (json!({ "result": { "error": "no way" } }), ToolOutcome::GaveUp("no way".to_owned())),
        (json!({ "error": "no way" }), ToolOutcome::GaveUp("no way".to_owned())),
        (json!({ "data": null, "error": "no" }), ToolOutcome::GaveUp("no".to_owned())),
    ];
    for (arguments, expected) in cases {
        assert_eq!(yielded(None, arguments.clone()).await, expected, "{arguments}");
    }
}

#[test]
async fn a_reason_without_an_end_is_cut() {
    let answer = yielded(None, json!({ "error": "é".repeat(1 << 20) })).await;
    assert_eq!(answer, ToolOutcome::GaveUp("é".repeat(4 << 10)));
}

#[test]
async fn neither_both_and_anything_else_are_told() {
    for (arguments, why) in [
        (json!({ "result": {} }), "neither data nor error"),
        (json!({ "result": { "error": " " } }), "neither data nor error"),
        (json!({ "data": 1, "error": "x" }), "both data and error"),
        (json!({}), "/result: is missing"),
        (json!({ "result": { "summary": "x" } }), "/result/summary: is not one of the properties"),
        (json!({ "result": { "error": { "why": "x" } } }), "/result/error: must be a string"),
    ] {
        let ToolOutcome::Failed(text) = yielded(None, arguments.clone()).await else {
            panic!("{arguments}");
        };
        let text = read(text).text;
        assert!(text.contains(why), "{text}");
        assert!(text.contains("{\"result\":{\"data\":"), "{text}");
    }
}

#[test]
async fn what_does_not_match_the_tasks_schema_is_the_contracts_to_judge() {
    let schema = json!({ "type": "object", "required": ["n"] });
    let wrong = json!({ "m": true });
    assert_eq!(yielded(Some(schema), json!({ "data": wrong })).await, ToolOutcome::Yielded(wrong));
}

#[test]
async fn json_in_a_string_is_taken_out_where_no_string_is_wanted() {
    let object = json!({ "type": "object" });
    let named = json!({ "properties": { "a": {} } });
    let referred = json!({ "$ref": "#/$defs/x", "$defs": { "x": { "type": ["object", "null"] } } });
    for schema in [object.clone(), named, referred] {
        let answer = yielded(Some(schema), json!({ "data": " {\"a\": 1}" })).await;
        assert_eq!(answer, ToolOutcome::Yielded(json!({ "a": 1 })));
    }
    let cases = [
        (json!({ "type": "string" }), "{}", json!("{}")),
        (json!({ "type": ["string", "object"] }), "{}", json!("{}")),
        (json!({}), "{}", json!("{}")),
        (object, "[1]", json!("[1]")),
        (json!({ "type": "array" }), "[1]", json!([1])),
        (json!({ "type": "integer" }), "7", json!(7)),
        (json!({ "type": "integer" }), "7.5", json!("7.5")),
        (json!({ "$ref": "#" }), "{}", json!("{}")),
    ];
    for (schema, text, expected) in cases {
        let answer = yielded(Some(schema.clone()), json!({ "data": text })).await;
        assert_eq!(answer, ToolOutcome::Yielded(expected), "{schema}");
    }
}

#[test]
async fn without_a_schema_any_data_will_do() {
    assert_eq!(
        declared(None).await,
        json!({
            "type": "object",
            "properties": { "result": {
                "type": "object",
                "description": "Either data or error, not both.",
                "properties": {
                    "data": { "description": "The result of the task." },
                    "error": {
                        "type": "string",
                        "description": "Why the task cannot be done, if it cannot.",
                    },
                },
                "additionalProperties": false,
            } },
            "required": ["result"],
            "additionalProperties": false,
        })
    );
}

#[test]
async fn the_tasks_schema_stands_for_data_and_its_references_go_on_working() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "A tree.",
        "properties": {
            "$ref": { "$ref": "#/$defs/leaf" },
            "id": { "enum": [{ "$ref": "kept" }] },
            "child": { "anyOf": [{ "$ref": "#" }, { "type": "null" }] },
        },
        "$defs": { "leaf": { "type": "string" } },
    });
    let place = "#/properties/result/properties/data";
    assert_eq!(
        declared_data(schema).await,
        json!({
            "description": "A tree.",
            "properties": {
                "$ref": { "$ref": format!("{place}/$defs/leaf") },
                "id": { "enum": [{ "$ref": "kept" }] },
                "child": { "anyOf": [{ "$ref": place }, { "type": "null" }] },
            },
            "$defs": { "leaf": { "type": "string" } },
        })
    );
}

#[test]
async fn a_schema_that_cannot_be_moved_is_told_in_words() {
    for schema in [
        json!({ "$id": "https://x/y", "$ref": "#/$defs/a", "$defs": { "a": {} } }),
        json!({ "$ref": "#name", "$defs": { "a": { "$anchor": "name" } } }),
        json!({ "$dynamicRef": "#node" }),
    ] {
        let data = declared_data(schema.clone()).await;
        let words = format!("The result of the task. It must match this JSON Schema: {schema}");
        assert_eq!(data, json!({ "description": words }));
    }
    assert_eq!(
        declared_data(json!(true)).await,
        json!({ "description": "The result of the task." })
    );
}
