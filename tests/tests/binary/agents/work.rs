//! Agents against a model on the loopback: eight at once, each of which goes on only when its tools
//! have really done what the model asked for.

use serde_json::{Value, json};
use tests::model::{Answer, Asked, Call, LoopbackModel, Said, Script, marker};
use tests::sandbox::{Finished, Invocation, Plan, Repository, Sandbox};

use crate::binary::sandbox;

/// How many agents run at once.
const TASKS: usize = 8;

/// Returns the words that only task number `task` of this test can know.
pub(crate) fn nonce(task: usize) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("nonce-{task}-{:x}", now.expect("the epoch is over").as_nanos())
}

/// Begins `regatta run --json` of a plan with the loopback model.
pub(crate) fn run_with(
    place: &Sandbox,
    repository: &Repository,
    plan: &Plan,
    model: &LoopbackModel,
) -> Invocation {
    let run = place.run_plan(repository, plan).arg("--model").arg(model.route());
    run.arg("--base-url").arg(model.base_url())
}

/// Runs one task `t1` whose model says what `script` says.
pub(crate) fn run_one(
    place: &Sandbox,
    repository: &Repository,
    model: &LoopbackModel,
    script: impl Script + 'static,
) -> Invocation {
    model.talk("t1", script);
    let plan = Plan::default().agent("t1", &format!("Do it. {}", marker("t1")));
    run_with(place, repository, &plan, model)
}

fn name(task: usize) -> String {
    format!("task-{task}")
}

fn file(task: usize) -> String {
    format!("work/{task}.txt")
}

fn repository(place: &Sandbox) -> Repository {
    let repository = place.repository();
    repository.write(".gitignore", "scratch.txt\n");
    for task in 0..TASKS {
        repository.write(file(task), format!("first\nsecond of {task}\nthird\n"));
    }
    repository.commit("something to work on");
    repository
}

fn plan() -> Plan {
    (0..TASKS).fold(Plan::default(), |plan, task| {
        let prompt = format!("Replace the second line of {}. {}", file(task), marker(&name(task)));
        plan.agent(&name(task), &prompt)
    })
}

/// Writes the nonce with one tool, reads it with another, puts it into the task's own file, and
/// looks again with two calls at once.
fn carries(task: usize, nonce: String) -> impl Script {
    let path = file(task);
    let odd = task % 2 == 1;
    move |asked: &Asked| {
        let result = asked.result();
        match asked.answers() {
            0 => {
                let mut tools = asked.tools();
                tools.sort_unstable();
                let expected = [
                    "bash", "edit", "find", "grep", "job", "ls", "notebook", "read", "task",
                    "write", "yield",
                ];
                assert_eq!(tools, expected);
                let plant = if odd {
                    let script = format!("printf '%s\\n' {nonce} > scratch.txt");
                    Call::new("bash", &json!({ "command": script }))
                } else {
                    let content = format!("{nonce}\n");
                    Call::new("write", &json!({ "path": "scratch.txt", "content": content }))
                };
                let text = "Zuerst die Größe prüfen … ✓ 大きさ".to_owned();
                let thinking = "Was könnte schiefgehen?".to_owned();
                Answer::Says(Said { text, thinking, calls: vec![plant], ..Said::default() })
            }
            1 => {
                assert!(!result.contains(&nonce), "nobody has read it yet: {result}");
                if odd {
                    Answer::call("read", &json!({ "path": "scratch.txt" }))
                } else {
                    Answer::call("bash", &json!({ "command": "cat scratch.txt" }))
                }
            }
            2 => {
                assert!(result.contains(&nonce), "its own nonce, not {result}");
                let edit = json!({ "oldText": format!("second of {task}"), "newText": nonce });
                Answer::call("edit", &json!({ "path": path, "edits": [edit] }))
            }
            3 => {
                let late = format!("until rm third; do sleep 0.02; done 2>/dev/null; cat {path}");
                Answer::calls(vec![
                    Call::new("bash", &json!({ "command": late })),
                    Call::new("read", &json!({ "path": path })),
                    Call::new("bash", &json!({ "command": "echo the third; : > third" })),
                ])
            }
            4 => {
                let results = asked.results();
                assert_eq!(results.len(), 3, "{results:?}");
                for result in &results[..2] {
                    assert!(result.contains(&format!("{nonce}\n")), "{result}");
                }
                assert_eq!(results[0], format!("first\n{nonce}\nthird"), "the slow one is first");
                assert_eq!(results[2], "the third");
                Answer::yields(&json!({ "nonce": nonce }))
            }
            more => panic!("nothing is asked after the yield, but {more} answers are there"),
        }
    }
}

#[test]
fn eight_agents_see_what_their_tools_did_and_land() {
    let place = sandbox();
    let repository = repository(&place);
    let model = LoopbackModel::start();
    let nonces: Vec<String> = (0..TASKS).map(nonce).collect();
    for (task, nonce) in nonces.iter().enumerate() {
        model.talk(&name(task), carries(task, nonce.clone()));
    }
    let run = run_with(&place, &repository, &plan(), &model).words("--jobs 8").run();
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{run}");
    let finished = run.expect_code(0);
    let mut all: Vec<_> = (0..TASKS).map(name).collect();
    all.sort_unstable();
    assert_eq!(finished.landed(), all, "{finished}");
    for (task, nonce) in nonces.iter().enumerate() {
        let end = finished.task(&name(task));
        assert_eq!(end["yield"], json!({ "nonce": nonce }), "{finished}");
        assert_eq!(repository.text(file(task)), format!("first\n{nonce}\nthird\n"));
        expect_usage(&model, &name(task), &end["usage"], &finished);
        expect_log_of(&model, &place, &name(task), &finished);
    }
    assert!(!repository.has("scratch.txt"), "what git ignores does not land");
    let totals = finished.events_of("run_finished")[0]["usage"].clone();
    assert_eq!(totals["output"], 8 * 5 * 30, "{finished}");
    assert_eq!(totals["cost"], Value::Null, "the price is not known: {finished}");
    place.expect_nothing_left(&repository);
}

/// Checks that what is told about tokens is what the model had told.
fn expect_usage(model: &LoopbackModel, talk: &str, told: &Value, finished: &Finished) {
    let used = model.used(talk);
    assert_eq!(told["input"], used.prompt - used.cached, "{talk} in {finished}");
    assert_eq!(told["cache_read"], used.cached, "{talk} in {finished}");
    assert_eq!(told["output"], used.completion, "{talk} in {finished}");
    assert_eq!(told["cost"], Value::Null, "{talk} in {finished}");
}

/// Checks that the session log of a task holds what the model was asked and what it said.
fn expect_log_of(model: &LoopbackModel, place: &Sandbox, talk: &str, finished: &Finished) {
    let logged = place.home().messages(&finished.run_name(), talk);
    let mut heard: Vec<Value> = logged.iter().map(as_sent).collect();
    let (asked, answer) = model.said(talk).pop().expect("it was asked");
    let sent = &asked.messages()[1..];
    assert!(heard.len() > sent.len(), "{talk}: the last answer is in the log: {logged:?}");
    let rest = heard.split_off(sent.len());
    let mut sent = sent.to_vec();
    sent.iter_mut().for_each(plain);
    assert_eq!(heard, sent, "{talk}");
    let said = answer.said().expect("the last answer was whole");
    assert_eq!(rest[0]["tool_calls"][0]["id"], json!(said.calls[0].id), "{talk}: {rest:?}");
}

/// Returns a message of a session log as a request has it.
pub(crate) fn as_sent(message: &Value) -> Value {
    let parts = message["content"].as_array().cloned().unwrap_or_default();
    let texts = parts.iter().filter_map(|part| part["text"].as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    match message["role"].as_str() {
        Some("assistant") => {
            let calls = parts.iter().filter(|part| part["type"] == "toolCall");
            let call = |part: &Value| {
                let (name, arguments) = (&part["name"], &part["arguments"]);
                let function = json!({ "name": name, "arguments": arguments });
                json!({ "id": part["id"], "type": "function", "function": function })
            };
            let calls: Vec<_> = calls.map(call).collect();
            json!({ "role": "assistant", "content": text, "tool_calls": calls })
        }
        Some("toolResult") => {
            json!({ "role": "tool", "tool_call_id": message["toolCallId"], "content": text })
        }
        _ => json!({ "role": message["role"], "content": text }),
    }
}

/// Brings a message of a request into the form of [`as_sent`].
pub(crate) fn plain(message: &mut Value) {
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    let role = message["role"].clone();
    if role == "assistant" {
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        let call = |mut call: Value| {
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            call["function"]["arguments"] = serde_json::from_str(arguments).unwrap_or_default();
            call
        };
        let calls: Vec<_> = calls.into_iter().map(call).collect();
        *message = json!({ "role": role, "content": text, "tool_calls": calls });
    } else if role == "tool" {
        *message =
            json!({ "role": role, "tool_call_id": message["tool_call_id"], "content": text });
    } else {
        *message = json!({ "role": role, "content": text });
    }
}

/// Yields against its schema, not at all, and at last as it must.
fn needs_reminders(asked: &Asked) -> Answer {
    match asked.answers() {
        0 => Answer::call("write", &json!({ "path": "new.txt", "content": "new\n" })),
        1 => Answer::yields(&json!({ "files": "one" })),
        2 => {
            let reminder = asked.reminder().expect("it is reminded");
            assert!(reminder.contains("files"), "{reminder}");
            assert_eq!(asked.forced(), None);
            Answer::text("I am done.")
        }
        3 => {
            assert!(asked.reminder().is_some_and(|words| words.contains("2 of 3")), "the second");
            Answer::yields(&Value::Null)
        }
        4 => {
            assert_eq!(asked.forced(), Some("yield"), "the last one leaves no choice");
            Answer::yields(&json!({ "files": 1 }))
        }
        more => panic!("{more} answers"),
    }
}

#[test]
fn a_yield_is_repaired_after_reminders_one_that_cannot_is_kept_and_none_may_lack_its_change() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.talk("repairs", needs_reminders);
    model.talk("cannot", |asked: &Asked| match asked.answers() {
        0 => Answer::call("write", &json!({ "path": "kept.txt", "content": "kept\n" })),
        _ => Answer::call("yield", &json!({ "result": { "error": "there is no such thing" } })),
    });
    model.talk("idle", |_: &Asked| Answer::yields(&json!("all done")));
    let files = r#"schema = { type = "object", required = ["files"], properties = { files = { type = "integer" } } }"#;
    let plan = Plan::default()
        .agent("repairs", &marker("repairs"))
        .with(files)
        .agent("cannot", &marker("cannot"))
        .agent("idle", &marker("idle"))
        .with("must_change = true");
    let finished = run_with(&place, &repository, &plan, &model).run().expect_code(3);
    assert_eq!(finished.task("repairs")["yield"], json!({ "files": 1 }), "{finished}");
    assert_eq!(repository.text("new.txt"), "new\n");
    assert_eq!(model.asked("repairs").len(), 5);
    // Its work is kept.
    let failure = finished.task("cannot")["failure"].clone();
    assert_eq!(failure["class"], "gave_up", "{finished}");
    assert!(failure["message"].as_str().unwrap().contains("no such thing"), "{finished}");
    let capture = format!("{}/cannot/1", finished.run_name());
    assert_eq!(place.home().captured(&capture, "kept.txt"), "kept\n");
    assert!(!repository.has("kept.txt"));
    assert_eq!(model.asked("cannot").len(), 2);
    // An empty success is none where a change is asked for.
    assert_eq!(finished.task("idle")["failure"]["class"], "contract", "{finished}");
    let reminded = finished.names_in("contract_reminded");
    assert_eq!(reminded.iter().filter(|name| *name == "repairs").count(), 3, "{finished}");
    assert!(!reminded.iter().any(|name| name == "cannot"), "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn at_its_turn_limit_a_model_is_asked_to_yield_and_lands_what_it_has() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let run = run_one(&place, &repository, &model, |asked: &Asked| match asked.answers() {
        turn @ 0..4 => {
            let content = format!("{turn}\n");
            Answer::call("write", &json!({ "path": "count.txt", "content": content }))
        }
        4 => {
            assert_eq!(asked.forced(), Some("yield"));
            Answer::yields(&json!("as far as it went"))
        }
        more => panic!("{more} answers"),
    });
    let finished = run.words("--limit turns=4").run().expect_code(0);
    assert_eq!(finished.task("t1")["yield"], "as far as it went", "{finished}");
    assert_eq!(repository.text("count.txt"), "3\n");
}
