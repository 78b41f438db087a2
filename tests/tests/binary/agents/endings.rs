//! How an agent can end: each way fails only its own task, with its own class, and its work is
//! kept. The models are rehearsed: what they do stands in a scenario file.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use test_limit::by_depth;
use tests::sandbox::{Finished, Invocation, Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// Every kind of agent: what it does after it has written its file, and the class that it fails
/// with, if it does.
const KINDS: &[(&str, Option<&str>)] = &[
    ("works", None),
    ("panicking-tool", None),
    ("crashes-once", None),
    ("keeps-crashing", Some("crashed")),
    ("silent", Some("transient")),
    ("never-yields", Some("contract")),
    ("loops", Some("budget")),
    ("against-the-schema", Some("contract")),
    ("poison", Some("poison")),
];

/// What each kind does. The first turn learns the task's name from the prompt and writes its file.
const SCENARIOS: &str = r#"
version = 1

[[scenario]]
when = 'kind: works'
[[scenario.turn]]
remember = { id = 'task: (\S+)' }
calls = [{ tool = "write", arguments = { path = "{{id}}.txt", content = "kept\n" } }]
[[scenario.turn]]
calls = [{ tool = "yield", arguments = { result = { data = { done = "{{id}}" } } } }]

[[scenario]]
when = 'kind: panicking-tool'
[[scenario.turn]]
remember = { id = 'task: (\S+)' }
calls = [{ tool = "write", arguments = { path = "{{id}}.txt", content = "kept\n" } }]
[[scenario.turn]]
fault = "panic"
[[scenario.turn]]
remember = { words = '(crashed)' }
calls = [{ tool = "yield", arguments = { result = { data = { done = "{{id}} {{words}}" } } } }]

[[scenario]]
when = 'kind: crashes-once'
[[scenario.turn]]
remember = { id = 'task: (\S+)' }
calls = [{ tool = "bash", arguments = { command = "echo kept >> {{id}}.txt" } }]
[[scenario.turn]]
fault = "crash"
times = 1
calls = [{ tool = "yield", arguments = { result = { data = { done = "{{id}}" } } } }]

[[scenario]]
when = 'kind: keeps-crashing'
[[scenario.turn]]
remember = { id = 'task: (\S+)' }
calls = [{ tool = "bash", arguments = { command = "echo kept >> {{id}}.txt" } }]
[[scenario.turn]]
text = "Now it will happen."
fault = "crash"

[[scenario]]
when = 'kind: silent'
[[scenario.turn]]
remember = { id = 'task: (\S+)' }
calls = [{ tool = "write", arguments = { path = "{{id}}.txt", content = "kept\n" } }]
[[scenario.turn]]
fault = "silence"

[[scenario]]
when = 'kind: never-yields'
[[scenario.turn]]
remember = { id = 'task: (\S+)' }
calls = [{ tool = "write", arguments = { path = "{{id}}.txt", content = "kept\n" } }]
[[scenario.turn]]
text = "I am done, I think."
repeat = true

[[scenario]]
when = 'kind: loops'
[[scenario.turn]]
remember = { id = 'task: (\S+)' }
calls = [{ tool = "write", arguments = { path = "{{id}}.txt", content = "kept\n" } }]
[[scenario.turn]]
calls = [{ tool = "read", arguments = { path = "{{id}}.txt" } }]
repeat = true

[[scenario]]
when = 'kind: against-the-schema'
[[scenario.turn]]
remember = { id = 'task: (\S+)' }
calls = [{ tool = "write", arguments = { path = "{{id}}.txt", content = "kept\n" } }]
[[scenario.turn]]
calls = [{ tool = "yield", arguments = { result = { data = { undone = 1 } } } }]
repeat = true

[[scenario]]
when = 'kind: poison'
[[scenario.turn]]
remember = { id = 'task: (\S+)' }
calls = [{ tool = "write", arguments = { path = "{{id}}.txt", content = "kept\n" } }]
[[scenario.turn]]
calls = [{ tool = "read", arguments = { path = "not-there.txt" } }]
repeat = true

[[scenario]]
when = 'kind: reminded'
[[scenario.turn]]
text = "That is done."
[[scenario.turn]]
remember = { told = '(Reminder \d of \d)' }
calls = [{ tool = "yield", arguments = { result = { data = { done = "{{told}}" } } } }]
"#;

const SCHEMA: &str = r#"schema = { type = "object", required = ["done"] }"#;

/// Begins a run of `plan` with the rehearsed models, none of which is waited for long.
fn rehearsal(place: &Sandbox, repository: &Repository, plan: &Plan) -> Invocation {
    let file = place.folder().join("scenarios.toml");
    std::fs::write(&file, SCENARIOS).expect("a file can be written");
    // Those that are silent at the same time are an outage, which the others end: it must last until they can.
    place.home().configure("retry:\n  maxRetries: 1\n  baseDelayMs: 10\n  outage: 10m\n");
    let patience = Duration::from_millis(400).mul_f64(test_limit::slowdown());
    let patience = patience.as_millis().to_string();
    let run = place.run_plan(repository, plan);
    run.arg("--model")
        .arg(format!("offline/{}", file.display()))
        .words("--limit turns=6")
        .env("REGATTA_STREAM_FIRST_EVENT_TIMEOUT_MS", &patience)
        .env("REGATTA_STREAM_IDLE_TIMEOUT_MS", &patience)
}

fn with(plan: Plan, id: &str, kind: &str) -> Plan {
    plan.agent(id, &format!("A rehearsal.\ntask: {id}\nkind: {kind}\n")).with(SCHEMA)
}

/// Checks that a task ended as its kind does, and that what it wrote is where it belongs.
fn expect_end(place: &Sandbox, repository: &Repository, finished: &Finished, id: &str) {
    let kind = id.rsplit_once("-x").map_or(id, |(kind, _number)| kind);
    let (_, class) = KINDS.iter().find(|(known, _)| *known == kind).expect("a known kind");
    let end = finished.task(id);
    let own = format!("{id}.txt");
    match class {
        None => {
            assert_eq!(end["outcome"], "done", "{id} in {finished}");
            assert_eq!(repository.text(&own), "kept\n", "{id}: written once");
        }
        Some(class) => {
            assert_eq!(end["failure"]["class"], *class, "{id} in {finished}");
            let capture = format!("{}/{id}/1", finished.run_name());
            assert_eq!(place.home().captured(&capture, &own), "kept\n", "{id}: its work is kept");
            assert!(!repository.has(&own), "{id}: failed work does not land");
        }
    }
}

/// Runs so many agents of each kind, and checks that there is one end of each.
fn batch(kinds: &[&str], count: usize) -> (Vec<String>, Finished) {
    let place = sandbox();
    let repository = place.repository();
    let mut ids: Vec<String> = Vec::new();
    for number in 0..count {
        ids.extend(kinds.iter().map(|kind| format!("{kind}-x{number}")));
    }
    let plan = ids.iter().fold(Plan::default(), |plan, id| {
        let (kind, _number) = id.rsplit_once("-x").expect("each id ends so");
        with(plan, id, kind)
    });
    let finished = rehearsal(&place, &repository, &plan).run().expect_code(3);
    assert_eq!(finished.names_in("task_finished").len(), ids.len(), "{finished}");
    for id in &ids {
        expect_end(&place, &repository, &finished, id);
    }
    place.expect_nothing_left(&repository);
    (ids, finished)
}

#[test]
fn each_way_in_which_an_agent_ends_fails_only_its_own_task() {
    let kinds: Vec<_> = KINDS.iter().map(|(kind, _)| *kind).collect();
    let (_ids, finished) = batch(&kinds, 1);
    let done = finished.task("panicking-tool-x0")["yield"]["done"].clone();
    assert_eq!(done, "panicking-tool-x0 crashed", "the model read it: {finished}");
    // A session that crashes is restarted from its log.
    let of = |id: &str, kind: &str| {
        let events = finished.events_of("session_event").into_iter();
        let (id, kind) = (id.to_owned(), kind.to_owned());
        events.filter(move |event| event["task"] == *id && event["event"]["type"] == *kind)
    };
    let calls = of("crashes-once-x0", "tool_execution_start");
    let tools: Vec<_> = calls.map(|event| event["event"]["toolName"].clone()).collect();
    assert_eq!(tools, ["bash", "yield"], "nothing is run twice: {finished}");
    let retries = of("silent-x0", "auto_retry_start").count();
    assert_eq!(retries, 1, "it is asked again once: {finished}");
    let reminded = finished.names_in("contract_reminded");
    let reminded = reminded.iter().filter(|name| *name == "never-yields-x0");
    assert_eq!(reminded.count(), 3, "{finished}");
    let message = finished.task("against-the-schema-x0")["failure"]["message"].to_string();
    assert!(message.contains("done"), "{message}");
}

#[test]
fn a_batch_of_many_agents_ends_with_exactly_its_classes() {
    let each = by_depth(1, 8);
    let kinds: Vec<_> = KINDS.iter().map(|(kind, _)| *kind).filter(|it| *it != "poison").collect();
    let (ids, finished) = batch(&kinds, each);
    assert_eq!(ids.len(), 8 * each);
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for event in finished.events_of("task_finished") {
        let class = event["failure"]["class"].as_str().unwrap_or("done");
        *ends.entry(class.to_owned()).or_default() += 1;
    }
    let expected = [("budget", 1), ("contract", 2), ("crashed", 1), ("done", 3), ("transient", 1)];
    let expected = BTreeMap::from(expected.map(|(class, kinds)| (class, kinds * each)));
    assert_eq!(json!(ends), json!(expected), "{finished}");
    assert_eq!(finished.landed().len(), 3 * each, "{finished}");
}

#[test]
fn a_reminder_that_a_crash_swallowed_is_said_again() {
    let place = sandbox();
    let repository = place.repository();
    let run = rehearsal(&place, &repository, &with(Plan::default(), "a", "reminded"));
    let finished = run.fault("crash@session:2").run().expect_code(0);
    assert_eq!(finished.task("a")["yield"]["done"], "Reminder 1 of 3", "{finished}");
}
