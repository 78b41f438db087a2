//! What all built-in tools have in common.

use engine::ports::{Access, AccessClass, Concurrency, SessionPurpose, SpawnOffer, ToolOutcome};
use protocol::ToolCall;
use serde_json::{Value, json};
use tools::{Builtins, ShownPart};

use super::session::{Session, Setting, ViewKind, call, read};

over_both_views! {
    the_examples_are_right_arguments,
    no_arguments_whatever_make_a_tool_panic,
}

#[test]
async fn each_tool_has_a_schema_that_servers_take() {
    let kind = ViewKind::Memory;
    let session = Session::new(kind).await;
    let all = session.declarations();
    let names: Vec<_> = all.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "read",
            "write",
            "edit",
            "apply_patch",
            "notebook",
            "bash",
            "job",
            "grep",
            "find",
            "ls",
            "report_finding",
            "yield"
        ]
    );
    for tool in all.iter() {
        let schema = &tool.parameters;
        assert_eq!(schema["type"], "object", "{}", tool.name);
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
        assert!(schema["properties"].is_object(), "{}", tool.name);
        for noise in ["$schema", "\"title\":\"", "$defs", "$ref", "\"format\"", "null"] {
            assert!(!schema.to_string().contains(noise), "{}: {schema}", tool.name);
        }
    }
}

#[test]
async fn each_call_says_what_it_is_about_and_only_yield_runs_alone() {
    let session = Session::new(ViewKind::Memory).await;
    let path = || vec!["src/a".to_owned()];
    let file = json!({ "file_path": "src/a", "path": "src/a", "content": "x", "command": "make" });
    let expected = [
        ("read", AccessClass::Read(path()), Concurrency::Shared),
        ("write", AccessClass::Write(path()), Concurrency::Shared),
        ("edit", AccessClass::Write(path()), Concurrency::Shared),
        ("apply_patch", AccessClass::Write(Vec::new()), Concurrency::Exclusive),
        ("notebook", AccessClass::Write(path()), Concurrency::Shared),
        (
            "bash",
            AccessClass::Exec { command: "make".to_owned(), folder: String::new() },
            Concurrency::Shared,
        ),
        ("grep", AccessClass::Read(path()), Concurrency::Shared),
        ("find", AccessClass::Read(path()), Concurrency::Shared),
        ("ls", AccessClass::Read(path()), Concurrency::Shared),
        ("yield", AccessClass::Read(Vec::new()), Concurrency::Exclusive),
        ("panic", AccessClass::Read(Vec::new()), Concurrency::Shared),
        ("none", AccessClass::Read(Vec::new()), Concurrency::Shared),
    ];
    for (name, class, concurrency) in expected {
        assert_eq!(session.access(name, file.clone()), Access { class, concurrency }, "{name}");
    }
}

async fn the_examples_are_right_arguments(kind: ViewKind) {
    let session = Session::new(kind).await;
    session.put("src/main.rs", "let a = 1;\n");
    session.put("a.ipynb", r#"{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[]}"#);
    for (name, example) in &session.examples {
        let example: Value = serde_json::from_str(example).unwrap();
        let answer = session.call(name, example).await;
        assert!(!matches!(answer, ToolOutcome::Failed(_)), "{name}: {answer:?}");
    }
}

#[test]
async fn a_tool_that_is_not_there_is_told_with_those_that_are() {
    let kind = ViewKind::Memory;
    let session = Session::new(kind).await;
    let list = "The tools there are: read, write, edit, apply_patch, notebook, bash, job, grep, find, ls, report_finding, yield";
    for (name, shown) in
        [("sed", "sed"), ("web search", "web search"), ("a\nb\u{1b}", "a\\nb\\u{1b}"), ("", "")]
    {
        let failed = session.failed(name, json!({})).await;
        assert_eq!(failed, format!("Tool {shown} not found. {list}"));
    }
    assert!(session.failed(&"x".repeat(9999), json!({})).await.len() < 400);
    for name in [" read", "functions.read"] {
        let failed = session.failed(name, json!({ "path": "a" })).await;
        assert_eq!(failed, format!("Tool {name} not found. Did you mean read? {list}"));
    }
}

#[test]
async fn a_conversation_has_the_tools_of_a_task_but_its_end() {
    let purpose = SessionPurpose::Conversation;
    let offer = Some(SpawnOffer { agents: Vec::new(), isolated: false });
    let setting = Setting { purpose, offer, ..Setting::default() };
    let session = Session::with(ViewKind::Memory, setting).await;
    let names: Vec<_> = session.declarations().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(
        names,
        [
            "read",
            "write",
            "edit",
            "apply_patch",
            "notebook",
            "bash",
            "job",
            "grep",
            "find",
            "ls",
            "todo_write",
            "ask",
            "task",
            "report_finding"
        ]
    );
    assert_eq!(names, Builtins::names(purpose), "as help lists them");
    let all = Builtins::names(SessionPurpose::Task);
    let shared =
        names.iter().map(String::as_str).filter(|name| !["todo_write", "ask"].contains(name));
    let shared: Vec<_> = shared.chain(["yield"]).collect();
    assert_eq!(all, shared, "a task has no list of its own and asks no one, and ends");
}

#[test]
async fn the_model_decides_which_tool_for_edits_it_is_offered() {
    for (model, offered) in [("gpt-5.1", "apply_patch"), ("claude-opus-4-5", "edit")] {
        let session =
            Session::with(ViewKind::Memory, Setting { model, ..Setting::default() }).await;
        let names: Vec<_> = session.declarations().iter().map(|tool| tool.name.clone()).collect();
        let edits: Vec<_> =
            names.iter().filter(|name| ["edit", "apply_patch"].contains(&name.as_str())).collect();
        assert_eq!(edits, [offered], "{model}");
    }
}

#[test]
fn a_call_is_shown_as_its_tool_says() {
    let cases = [
        ("grep", json!({ "regex": "fn", "path": "src" }), Some("fn in src")),
        ("Grep", json!({ "pattern": "fn" }), Some("fn")),
        ("find", json!({ "pattern": "*.rs", "dir": "src" }), Some("*.rs in src")),
        ("ls", json!({ "path": "src" }), Some("src")),
        ("read", json!({ "path": "src" }), None),
        (
            "apply_patch",
            json!({ "patch": "*** Begin Patch\n*** Delete File: a\n*** Delete File: b\n*** End Patch" }),
            Some("a, b"),
        ),
        ("other", json!({ "pattern": "src" }), None),
    ];
    for (name, arguments, title) in cases {
        assert_eq!(Builtins::title(&call(name, arguments)).as_deref(), title, "{name}");
    }
    let ends = ["bash", "grep", "other"].map(Builtins::shown_part);
    assert_eq!(ends, [ShownPart::End, ShownPart::Beginning, ShownPart::Beginning]);
}

#[test]
async fn a_tool_is_found_by_its_name_in_another_case() {
    let session = Session::new(ViewKind::Memory).await;
    for name in ["Read", "READ"] {
        let failed = session.failed(name, json!({ "path": "not-there" })).await;
        assert!(failed.contains("not-there") && !failed.contains("not found. The"), "{failed}");
    }
}

#[test]
async fn arguments_that_are_no_object_are_quoted() {
    let kind = ViewKind::Memory;
    let session = Session::new(kind).await;
    let malformed = async |text: &str| {
        let call = ToolCall { malformed: Some(text.to_owned()), ..call("read", json!({})) };
        let outcome = session.send(call).await;
        let ToolOutcome::Failed(failed) = outcome else { panic!("{outcome:?}") };
        read(failed).text
    };
    let failed = malformed("{\"path\": \"a\nb").await;
    assert!(failed.starts_with("The arguments of read are not JSON ("), "{failed}");
    assert!(failed.contains("They begin with: {\"path\": \"a\\nb"), "{failed}");
    assert!(failed.contains("Right arguments are, for instance: {\"path\":"), "{failed}");
    let failed = malformed("[1]").await;
    assert!(failed.starts_with("The arguments of read are not a JSON object."), "{failed}");
    assert!(malformed(&"x".repeat(1 << 20)).await.len() < 1000);
}

#[test]
async fn wrong_arguments_are_told_with_their_place() {
    let kind = ViewKind::Memory;
    let session = Session::new(kind).await;
    let failed = session.failed("read", json!({ "limit": "many", "colour": 1 })).await;
    let expected = "The arguments of read are not right:\n- /limit: must be an integer, not the \
                    string \"many\"\n- /colour: is not one of the properties there are\n- /path: \
                    is missing\nRight arguments are, for instance: \
                    {\"path\":\"src/main.rs\",\"offset\":1,\"limit\":200}";
    assert_eq!(failed, expected);
}

#[test]
async fn a_planned_fault_strikes_at_the_tool_it_names() {
    let kind = ViewKind::Memory;
    let session =
        Session::with(kind, Setting { faults: "fail@tool.read:2", ..Setting::default() }).await;
    session.put("a", "x");
    let call = async || session.call("read", json!({ "path": "a" })).await;
    assert!(matches!(call().await, ToolOutcome::Output(_)));
    let ToolOutcome::Failed(failed) = call().await else { panic!() };
    assert_eq!(read(failed).text, "read failed: a fault was planned here");
}

#[test]
async fn a_tool_that_cannot_be_built_is_not_there() {
    let kind = ViewKind::Memory;
    let faults = "fail@tool.build.edit,fail@tool.build.yield";
    let left_out = &["edit", "yield"];
    let session = Session::with(kind, Setting { faults, left_out, ..Setting::default() }).await;
    let names: Vec<_> = session.declarations().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(
        names,
        [
            "read",
            "write",
            "apply_patch",
            "notebook",
            "bash",
            "job",
            "grep",
            "find",
            "ls",
            "report_finding"
        ]
    );
    assert!(session.failed("edit", json!({})).await.starts_with("Tool edit not found."));
}

#[test]
async fn the_tool_panic_panics_and_no_model_is_told_of_it() {
    let kind = ViewKind::Memory;
    let session = Session::new(kind).await;
    let (mine, panics) = (session.clone(), json!({}));
    let calling = tokio::spawn(async move { mine.call("panic", panics).await });
    assert!(calling.await.unwrap_err().is_panic());
    assert!(!session.failed("none", json!({})).await.contains("panic"));
    // What was shared goes on working.
    session.said("write", json!({ "path": "a", "content": "" })).await;
}

async fn no_arguments_whatever_make_a_tool_panic(kind: ViewKind) {
    let session = Session::new(kind).await;
    let odd = [json!(null), json!(1), json!("\0"), json!([]), json!({ "a": [null] }), json!("é")];
    let names = [
        "path", "edits", "content", "command", "result", "data", "old", "new", "timeout",
        "pattern", "glob", "type", "limit",
    ];
    let tools = session.declarations();
    for tool in tools.iter().map(|tool| tool.name.as_str()) {
        for name in names {
            for value in &odd {
                for other in &odd {
                    let arguments = json!({ name: value, "path": other, "content": other });
                    session.call(tool, arguments).await;
                }
            }
        }
    }
}

#[test]
async fn the_page_for_people_names_each_tool_and_argument() {
    let kind = ViewKind::Memory;
    let page = include_str!("../../../docs/tools.md");
    for tool in Session::new(kind).await.declarations().iter() {
        assert!(page.contains(&format!("\n| `{}` |", tool.name)), "{}", tool.name);
        for name in tool.parameters["properties"].as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{name}`")), "{name} of {}", tool.name);
        }
    }
}
