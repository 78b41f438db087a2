use engine::ports::{ToolAnswer, ToolConcurrency};
use protocol::ToolCall;
use serde_json::{Value, json};

use crate::stage::{Setting, Stage, call};

#[test]
fn there_are_five_tools_and_each_has_a_schema_that_servers_take() {
    let stage = Stage::new();
    let all = stage.tools.declarations();
    let names: Vec<_> = all.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["read", "write", "edit", "bash", "yield"]);
    for tool in all.iter() {
        let schema = &tool.parameters;
        assert_eq!(schema["type"], "object", "{}", tool.name);
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        assert!(schema["properties"].is_object(), "{}", tool.name);
        for noise in ["$schema", "\"title\"", "$defs", "$ref", "\"format\"", "null"] {
            assert!(!schema.to_string().contains(noise), "{}: {schema}", tool.name);
        }
    }
}

#[test]
fn what_is_known_to_change_something_runs_alone() {
    let stage = Stage::new();
    let all = stage.tools.declarations();
    let shared = all.iter().filter(|tool| tool.concurrency == ToolConcurrency::Shared);
    assert_eq!(shared.map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["read", "bash"]);
}

#[tokio::test]
async fn the_examples_are_right_arguments() {
    let stage = Stage::new();
    stage.put("src/main.rs", "let a = 1;\n");
    for entry in crate::table::TABLE {
        let example: Value = serde_json::from_str(entry.example).unwrap();
        let answer = stage.call(entry.name, example).await;
        assert!(!matches!(answer, ToolAnswer::Failed(_)), "{}: {answer:?}", entry.name);
    }
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_told_with_those_that_are() {
    let stage = Stage::new();
    let list = "The tools there are: read, write, edit, bash, yield";
    for (name, shown) in
        [("grep", "grep"), ("web search", "web search"), ("a\nb\u{1b}", "a\\nb\\u{1b}"), ("", "")]
    {
        let failed = stage.failed(name, json!({})).await;
        assert_eq!(failed, format!("Tool {shown} not found. {list}"));
    }
    assert!(stage.failed(&"x".repeat(9999), json!({})).await.len() < 400);
    for name in ["Read", " read", "functions.read"] {
        let failed = stage.failed(name, json!({ "path": "a" })).await;
        assert_eq!(failed, format!("Tool {name} not found. Did you mean read? {list}"));
    }
}

#[tokio::test]
async fn arguments_that_are_no_object_are_quoted() {
    let stage = Stage::new();
    let malformed =
        |text: &str| ToolCall { malformed: Some(text.to_owned()), ..call("read", json!({})) };
    let ToolAnswer::Failed(failed) = stage.send(malformed("{\"path\": \"a\nb")).await else {
        panic!();
    };
    assert!(failed.text.starts_with("The arguments of read are no JSON ("), "{}", failed.text);
    assert!(failed.text.contains("They begin with: {\"path\": \"a\\nb"), "{}", failed.text);
    assert!(failed.text.contains("Right arguments are, for instance: {\"path\":"));
    let ToolAnswer::Failed(failed) = stage.send(malformed("[1]")).await else { panic!() };
    assert!(failed.text.starts_with("The arguments of read are no JSON object."));
    let ToolAnswer::Failed(failed) = stage.send(malformed(&"x".repeat(1 << 20))).await else {
        panic!();
    };
    assert!(failed.text.len() < 1000);
}

#[tokio::test]
async fn wrong_arguments_are_told_with_their_place() {
    let stage = Stage::new();
    let failed = stage.failed("read", json!({ "limit": "many", "colour": 1 })).await;
    let expected = "The arguments of read are not right:\n- /path: is missing\n- /limit: must be \
                    integer\n- /colour: is not one of the properties there are\nRight arguments \
                    are, for instance: {\"path\":\"src/main.rs\",\"offset\":1,\"limit\":200}";
    assert_eq!(failed, expected);
}

#[tokio::test]
async fn a_planned_fault_strikes_at_the_tool_it_names() {
    let stage = Stage::with(Setting { faults: "fail@tool.read:2", ..Setting::default() });
    stage.put("a", "x");
    let read = async || stage.call("read", json!({ "path": "a" })).await;
    assert!(matches!(read().await, ToolAnswer::Said(_)));
    let ToolAnswer::Failed(failed) = read().await else { panic!() };
    assert_eq!(failed.text, "read failed: a fault was planned here");
}

#[tokio::test]
async fn a_capability_that_is_switched_off_is_not_there() {
    let stage = Stage::with(Setting { faults: "off@F103,off@F111", ..Setting::default() });
    let names: Vec<_> = stage.tools.declarations().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names, ["read", "write", "bash"]);
    assert!(stage.failed("edit", json!({})).await.starts_with("Tool edit not found."));
}

#[tokio::test]
async fn the_tool_panic_panics_and_no_model_is_told_of_it() {
    let stage = Stage::new();
    let tools = stage.tools.clone();
    let calling = tokio::spawn(async move {
        let stop = engine::ports::CancelToken::default();
        tools.call(call("panic", json!({})), crate::stage::silence(), stop).await
    });
    assert!(calling.await.unwrap_err().is_panic());
    assert!(!stage.failed("none", json!({})).await.contains("panic"));
    // What was shared goes on working.
    stage.said("write", json!({ "path": "a", "content": "" })).await;
}

#[tokio::test]
async fn no_arguments_whatever_make_a_tool_panic() {
    let stage = Stage::new();
    let odd = [json!(null), json!(1), json!("\0"), json!([]), json!({ "a": [null] }), json!("é")];
    let names = ["path", "edits", "content", "command", "result", "data", "old", "new", "timeout"];
    for tool in ["read", "write", "edit", "bash", "yield"] {
        for name in names {
            for value in &odd {
                for other in &odd {
                    let arguments = json!({ name: value, "path": other, "content": other });
                    stage.call(tool, arguments).await;
                }
            }
        }
    }
}

#[test]
fn the_page_for_people_names_each_tool_and_argument() {
    let page = include_str!("../../../../docs/tools.md");
    for tool in Stage::new().tools.declarations().iter() {
        assert!(page.contains(&format!("\n| `{}` |", tool.name)), "{}", tool.name);
        for name in tool.parameters["properties"].as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{name}`")), "{name} of {}", tool.name);
        }
    }
}
