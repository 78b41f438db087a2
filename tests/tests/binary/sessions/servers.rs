//! A program that is an MCP server, in sessions and in isolated tasks of the built binary.

use std::fs;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use tests::model::{Answer, Asked, LoopbackModel, marker, steps};
use tests::sandbox::{Repository, Sandbox};

use crate::binary::sandbox;

/// A server with the tool `note`, which writes its arguments into a file of the folder in which the server works,
/// and returns that folder.
const SERVER: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"method":"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1"},"instructions":"Note what matters."}' ;;
    *'"method":"tools/list"'*) answer '{"tools":[{"name":"note","description":"Keeps a note.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}}]}' ;;
    *'"method":"tools/call"'*)
      echo noted > noted.txt
      answer "{\"content\":[{\"type\":\"text\",\"text\":\"noted in $PWD by $0\"}]}" ;;
  esac
done
"#;

/// Writes the user's `mcp.json` with the server `notes`.
fn define(place: &Sandbox, more: Value) {
    let folder = place.home().folder().join("config");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let script = place.folder().join("notes.sh");
    fs::write(&script, SERVER).expect("a file can be written");
    let mut server = json!({
        "command": "/bin/sh",
        "args": [script],
        // It is found by the mark.
        "env": { "REGATTA_TEST_MARK": "REGATTA_TEST_MARK" },
    });
    let fields = server.as_object_mut().expect("it is an object");
    fields.extend(more.as_object().cloned().unwrap_or_default());
    let file = json!({ "mcpServers": { "notes": server } });
    fs::write(folder.join("mcp.json"), file.to_string()).expect("a file can be written");
}

fn note() -> Answer {
    Answer::call("mcp__notes_note", &json!({ "text": "it works" }))
}

#[test]
fn a_model_calls_the_tool_of_a_program_that_the_user_defines_and_the_program_ends_with_the_session()
{
    let place = sandbox();
    define(&place, json!({}));
    let model = LoopbackModel::start();
    model.talk("s", steps(vec![note(), Answer::text("done")]));
    let folder = place.folder().join("work");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let session =
        place.regatta(&folder).words("-p --approval-mode yolo --model").arg(model.route());
    let session = session.arg("--base-url").arg(model.base_url()).arg(marker("s"));
    let done = session.run().expect_code(0);
    assert_eq!(done.stdout, "done\n", "{done}");
    let asked = model.asked("s");
    assert_eq!(asked[0].tools().last(), Some(&"mcp__notes_note"), "{done}");
    let result = asked[1].result();
    assert!(result.starts_with("noted in /"), "{result}");
    assert!(!folder.join("noted.txt").exists(), "it works in an empty folder");
    place.expect_no_process(Duration::from_secs(2));
}

#[test]
fn a_killed_session_leaves_no_process_of_a_server() {
    let place = sandbox();
    define(&place, json!({}));
    let model = LoopbackModel::start();
    let (sender, arrived) = std::sync::mpsc::channel();
    model.talk("s", move |asked: &Asked| match asked.answers() {
        0 => note(),
        _ => {
            sender.send(()).expect("the test waits");
            Answer::Silence
        }
    });
    let folder = place.folder().join("work");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let session =
        place.regatta(&folder).words("-p --approval-mode yolo --model").arg(model.route());
    let running = session.arg("--base-url").arg(model.base_url()).arg(marker("s")).start();
    arrived.recv().expect("the second request arrives");
    let is_server = |(_, what): &(_, String)| what.contains("notes.sh");
    assert!(place.processes().alive().iter().any(is_server), "the server runs");
    kill_process(running.id(), Signal::KILL).expect("it waits for an answer");
    let _killed = running.wait().expect_code(137);
    place.expect_no_process(Duration::from_secs(1));
}

/// Runs a task whose model notes something, with the option `--mcp notes`.
fn run(place: &Sandbox, repository: &Repository, model: &LoopbackModel) -> String {
    let yielded = Answer::call("yield", &json!({ "data": 1 }));
    model.talk("s", steps(vec![note(), yielded]));
    let run = place.run_in(repository).words("--mcp notes --model").arg(model.route());
    let run = run.arg("--base-url").arg(model.base_url()).arg(format!("note it {}", marker("s")));
    let done = run.run().expect_code(0);
    let asked = model.asked("s");
    assert!(asked[0].tools().contains(&"mcp__notes_note"), "{done}");
    place.expect_no_process(Duration::from_secs(2));
    asked[1].result()
}

#[test]
fn a_server_of_an_isolated_task_works_in_its_copy_or_in_an_empty_folder_and_never_in_the_users_tree()
 {
    for (more, is_of_task) in [(json!({}), false), (json!({ "cwd": "." }), true)] {
        let place = sandbox();
        define(&place, more.clone());
        let (repository, model) = (place.repository(), LoopbackModel::start());
        let result = run(&place, &repository, &model);
        let root = repository.root().to_string_lossy().into_owned();
        assert!(result.starts_with("noted in /"), "{more}: {result}");
        assert!(!result.contains(&format!("noted in {root} ")), "{more}: {result}");
        // What it has written into the copy has landed with the work of the task.
        assert_eq!(repository.has("noted.txt"), is_of_task, "{more}: {result}");
    }
}

#[test]
fn a_task_of_a_run_has_no_server_that_it_does_not_name() {
    let place = sandbox();
    define(&place, json!({}));
    let (repository, model) = (place.repository(), LoopbackModel::start());
    model.talk("s", steps(vec![Answer::call("yield", &json!({ "data": 1 }))]));
    let run = place.run_in(&repository).words("--model").arg(model.route());
    let _done = run
        .arg("--base-url")
        .arg(model.base_url())
        .arg(format!("do it {}", marker("s")))
        .run()
        .expect_code(0);
    let asked = model.asked("s");
    assert!(!asked[0].tools().iter().any(|name| name.starts_with("mcp__")));
}
