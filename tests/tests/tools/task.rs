//! The tool `task` in a session: whom it is offered to, what becomes of a call, and the results of subagents by
//! their names.

use std::fs;
use std::sync::Arc;

use engine::approvals::{ApprovalPolicy, Decision};
use engine::ports::{ShellPart, ShellSyntax, SpawnOffer};
use engine::tools::CallGate;
use protocol::{ApprovalMode, Approvals};
use serde_json::{Value, json};

use super::session::{Session, Setting, ViewKind, call};

async fn offered(offer: Option<SpawnOffer>) -> Session {
    Session::with(ViewKind::Memory, Setting { offer, ..Setting::default() }).await
}

fn explorer() -> SpawnOffer {
    SpawnOffer { agents: vec![("explore".to_owned(), "Reads.".to_owned())], isolated: true }
}

#[test]
async fn only_a_session_that_can_start_subagents_has_the_tool_and_is_told_which() {
    let told = |session: &Session| {
        let declarations = session.declarations();
        declarations.iter().find(|tool| tool.name == "task").cloned()
    };
    assert_eq!(told(&offered(None).await), None);
    let declared = told(&offered(Some(explorer())).await).unwrap();
    assert!(
        declared.description.ends_with("\nAgents:\n- explore: Reads."),
        "{}",
        declared.description
    );
    assert_eq!(declared.parameters["required"], json!(["tasks"]));
}

#[test]
async fn what_is_wrong_with_a_call_is_a_normal_result_and_repairs_are_noted() {
    let session = offered(Some(explorer())).await;
    let details = |repairs: Value| match repairs {
        Value::Null => json!({ "results": [], "totalDurationMs": 0 }),
        repairs => json!({ "results": [], "totalDurationMs": 0, "repairs": repairs }),
    };
    let one = json!([{ "id": "A", "assignment": "x" }, { "id": "a", "assignment": "x" }]);
    let twice = "Invalid tasks: Duplicate task ids detected (case-insensitive): a.";
    let escaped = one.to_string().replace('"', "\\\"");
    for (arguments, expected, repairs) in [
        (json!({ "tasks": one }), twice, Value::Null),
        (
            json!({ "tasks": escaped }),
            twice,
            json!(["/: parts in another form are taken for those of the schema"]),
        ),
        (
            json!({ "description": "Look", "prompt": "x", "subagent_type": "a", "resume": "b" }),
            "Invalid tasks: `resume` is not available: start a new task, and say in its assignment what the \
             earlier one has found.",
            json!(["/: description, prompt, subagent_type is taken for agent, tasks"]),
        ),
        (
            json!({ "prompt": "Look there", "schema": "{\"type\":\"object\"}" }),
            "This session can start no subagents.",
            json!(["/: prompt is taken for tasks", "/schema: a text is taken for the JSON in it"]),
        ),
    ] {
        let answer = session.answer("task", arguments.clone()).await;
        assert_eq!(answer.text, expected, "{arguments}");
        assert_eq!(answer.details, Some(details(repairs)), "{arguments}");
    }
    let wrong = session.failed("task", json!({ "tasks": 7 })).await;
    assert!(wrong.contains("/tasks"), "{wrong}");
}

/// Finds nothing to decide in a command.
struct NoShell;

impl ShellSyntax for NoShell {
    fn parts(&self, _script: &str) -> Vec<ShellPart> {
        Vec::new()
    }
}

#[test]
async fn a_rule_refuses_a_call_that_starts_subagents_and_hides_nothing() {
    let session = offered(Some(explorer())).await;
    assert!(session.declarations().iter().any(|tool| tool.name == "task"));
    let rules = |rules: &[&str]| rules.iter().map(|rule| rule.parse().unwrap()).collect::<Vec<_>>();
    let call = call("task", json!({ "tasks": [{ "id": "A", "assignment": "x" }] }));
    for (deny, ask, expected) in [
        (&[][..], &[][..], "allowed"),
        (&["task"], &[], "refused"),
        (&["Task"], &[], "refused"),
        (&[], &["task"], "asked"),
        (&["read"], &["bash"], "allowed"),
    ] {
        let approvals = Approvals {
            mode: Some(ApprovalMode::Ask),
            deny: rules(deny),
            ask: rules(ask),
            allow: Vec::new(),
        };
        let gate = CallGate::new(ApprovalPolicy::from(approvals), Arc::new(NoShell));
        let decided = gate.decide(session.tools(), &call, session.view().as_ref()).await;
        let decision = match decided.decision {
            Decision::Allow => "allowed",
            Decision::Ask(_) => "asked",
            Decision::Deny(_) => "refused",
        };
        assert_eq!(decision, expected, "{deny:?} {ask:?}");
    }
}

#[test]
async fn the_result_of_a_subagent_is_read_and_searched_by_its_name_or_a_part_of_it() {
    let session = Session::new(ViewKind::Memory).await;
    let artifacts = session.beside("artifacts");
    fs::create_dir_all(&artifacts).unwrap();
    fs::write(artifacts.join("1-Text.md"), "one\ntwo\u{1b}[1m!\u{1b}[0m\nthree\n").unwrap();
    let json = json!({ "findings": [{ "title": "A\nB", "line": 3 }], "ok": true });
    fs::write(artifacts.join("2-Json.1-B.md"), json.to_string()).unwrap();
    fs::write(session.beside("3-Out.md"), "secret").unwrap();
    let read = |path: &str| json!({ "path": path });
    for (arguments, expected) in [
        (
            json!({ "path": "agent://1-Text", "offset": 2, "limit": 1 }),
            "2  two!\n\n[Showing lines 2-2 of 3.",
        ),
        (read("agent://2-Json.1-B"), "1  {\"findings\":"),
        (read("agent://2-Json.1-B?q=/findings/0/title"), "1  A\n2  B"),
        (read("agent://2-Json.1-B?q=/findings"), "1  [\n2    {\n"),
        (read("agent://2-Json.1-B/ok"), "1  true"),
        (read("agent://2-Json.1-B?q=.findings[0].line"), "1  3"),
    ] {
        let said = session.said("read", arguments.clone()).await;
        let lines: Vec<_> = said.lines().map(str::trim_start).collect();
        assert!(lines.join("\n").starts_with(expected), "{arguments}: {said}");
    }
    let details = session.answer("read", read("agent://1-Text")).await.details.unwrap();
    assert_eq!(details["path"], "agent://1-Text");
    let search = |path: &str| json!({ "path": path, "pattern": "two|title" });
    let said = session.said("grep", search("agent://1-Text")).await;
    assert_eq!(said, "agent://1-Text\n2:two!");
    let said = session.said("grep", search("agent://2-Json.1-B?q=/findings/0")).await;
    assert!(said.contains("2:  \"title\": \"A\\nB\""), "{said}");
    for (path, why) in [
        ("agent://1-text", "there is no result agent://1-text; like it: agent://1-Text"),
        ("agent://7", "; there are agent://1-Text, agent://2-Json.1-B"),
        ("agent://", "there is no result agent://;"),
        ("agent://../3-Out", "there is no result agent://..;"),
        ("agent://..%2f3-Out", "there is no result agent://..%2f3-Out;"),
        ("agent:///etc/passwd", "there is no result agent://;"),
        ("agent://1-Text?q=/a", "the result agent://1-Text is not JSON"),
        ("agent://2-Json.1-B?q=/x", "has nothing at `/x`; it has the members findings, ok"),
    ] {
        for (tool, arguments) in [("read", read(path)), ("grep", search(path))] {
            let refused = session.failed(tool, arguments).await;
            assert!(refused.contains(why), "{tool} {path}: {refused}");
        }
    }
}
