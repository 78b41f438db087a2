//! Streams of Chat Completions that no sound provider sends: each has a defined end, and nothing of
//! them comes to the terminal as it is. What every API can send is in `wire_streams`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::model::{Answer, Asked, LoopbackModel, Wire, marker};
use tests::sandbox::Plan;

use super::own_servers::{Agent, PLAIN, begin_all, expect_no_violation};
use super::work::run_with;
use crate::binary::sandbox;

/// How a task ends whose model says something odd once.
#[derive(Clone, Copy, Debug)]
enum Ends {
    /// It lands after so many requests.
    Lands(usize),
    /// It fails with this class after so many requests.
    Fails(&'static str, usize),
    /// It lands, or takes it for an odd answer.
    Somehow,
}

fn chunk(delta: &Value, finish: &Value) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
    format!("data: {}\n\n", json!({ "id": "x", "choices": [choice] }))
}

fn call(arguments: &str) -> String {
    let function = json!({ "name": "read", "arguments": arguments });
    let call = json!({ "index": 0, "id": "c", "type": "function", "function": function });
    chunk(&json!({ "tool_calls": [call] }), &Value::Null)
}

fn finish(why: &str) -> String {
    format!("{}data: [DONE]\n\n", chunk(&json!({}), &json!(why)))
}

/// Returns the odd streams, by the name of the task that gets them.
fn odd_streams() -> Vec<(&'static str, Answer, Ends)> {
    let stream = |pieces: &[String]| Answer::stream(pieces.concat());
    let no_piece = |body: &str| stream(&[body.to_owned(), finish("stop")]);
    let deep = "[".repeat(100_000);
    let whole = format!("{{\"path\":{deep}{}}}", "]".repeat(100_000));
    let function = json!({ "name": "read", "arguments": "{\"path\":\"README.md\"}" });
    let indexed = |index: Value| {
        let call = json!({ "index": index, "id": "c", "type": "function", "function": function });
        stream(&[chunk(&json!({ "tool_calls": [call] }), &Value::Null), finish("tool_calls")])
    };
    let words = chunk(&json!({ "content": "I" }), &Value::Null);
    let error = json!({ "error": { "message": "Overloaded", "type": "overloaded_error" } });
    let call_of = json!({ "id": "c", "type": "function", "function": function });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [call_of] });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "tool_calls" });
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    let body = json!({ "id": "x", "choices": [choice], "usage": usage }).to_string();
    let plain = Answer::Bytes { content_type: "application/json", body: body.into_bytes() };
    let again = Ends::Lands(2);
    vec![
        ("a-number", no_piece("data: 5\n\n"), Ends::Somehow),
        ("nothing", no_piece("data: null\n\n"), Ends::Somehow),
        ("no-list", no_piece("data: {\"choices\":null}\n\n"), Ends::Somehow),
        ("no-json", no_piece("data: {\"choices\":[\n\n"), Ends::Somehow),
        ("deep", stream(&[call(&format!("{{\"path\":{deep}")), finish("tool_calls")]), again),
        ("deep-and-whole", stream(&[call(&whole), finish("tool_calls")]), again),
        ("large-index", indexed(json!(4_000_000_000_u64)), again),
        ("negative-index", indexed(json!(-1)), again),
        ("index-of-text", indexed(json!("0")), again),
        ("index-null", indexed(json!(null)), again),
        ("overload", stream(&[words.clone(), format!("data: {error}\n\n")]), again),
        ("filter", stream(&[words, finish("content_filter")]), Ends::Fails("refused", 1)),
        ("plain-completion", plain, again),
    ]
}

#[test]
fn odd_streams_of_chat_completions_are_read_had_again_or_one_clear_failure() {
    let place = sandbox();
    let repository = place.repository();
    place.home().configure("retry:\n  maxRetries: 1\n  baseDelayMs: 10\n");
    let agent = |(name, odd, _ends): &(&'static str, Answer, Ends)| {
        let (name, mut once) = (*name, Some(odd.clone()));
        let write = json!({ "path": format!("{name}.txt"), "content": "new\n" });
        Agent::new(name, Wire::Completions, move |asked: &Asked| match asked.answers() {
            0 => Answer::call("write", &write),
            _ => once.take().unwrap_or_else(|| Answer::yields(&json!("done"))),
        })
    };
    let rows = odd_streams();
    let agents: Vec<_> = rows.iter().map(agent).collect();
    let began = Instant::now();
    // However busy the machine is, none of these is silent.
    let finished = begin_all(&place, &repository, &agents, PLAIN)
        .env("REGATTA_STREAM_FIRST_EVENT_TIMEOUT_MS", "25000")
        .env("REGATTA_STREAM_IDLE_TIMEOUT_MS", "25000")
        .run();
    test_limit::took_at_most(began.elapsed(), Duration::from_secs(30), &finished);
    expect_no_violation(&agents, &finished);
    let finished = finished.expect_code(3);
    for ((name, _, expected), agent) in rows.iter().zip(&agents) {
        let (end, file, requests) =
            (finished.task(name), format!("{name}.txt"), agent.requests() - 1);
        let class = end["failure"]["class"].as_str().unwrap_or("done");
        match *expected {
            Ends::Lands(wanted) => {
                assert_eq!((class, requests), ("done", wanted), "{name}: {finished}");
            }
            Ends::Fails(wanted, times) => {
                assert_eq!((class, requests), (wanted, times), "{name}: {finished}");
            }
            Ends::Somehow => {
                assert!(["done", "invalid", "transient"].contains(&class), "{name}: {finished}");
                assert!(requests <= 5, "{name}: {finished}");
            }
        }
        if class == "done" {
            assert_eq!(repository.text(&file), "new\n", "{name}: {finished}");
        } else {
            let capture = format!("{}/{name}/1", finished.run_name());
            assert_eq!(place.home().captured(&capture, &file), "new\n", "{name}: {finished}");
        }
    }
    place.expect_nothing_left(&repository);
}

#[test]
fn nothing_that_a_model_or_a_tool_says_reaches_the_terminal_raw() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let odd = "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{202e}gpj\u{8}\r";
    model.talk("t1", move |asked: &Asked| match asked.answers() {
        0 => {
            let body = [
                chunk(&json!({ "content": odd }), &Value::Null),
                call(&json!({ "path": odd }).to_string()),
                finish("tool_calls"),
            ];
            Answer::stream(body.concat())
        }
        1 => Answer::call("bash", &json!({ "command": format!("printf '%s\\n' '{odd}'; exit 3") })),
        _ => Answer::call("yield", &json!({ "result": { "error": odd } })),
    });
    let plan = Plan::default().agent("t1", &format!("{odd} {}", marker("t1")));
    let run = place.regatta(repository.root()).words("run -v --plan -").stdin(plan.text());
    let run = run.arg("--model").arg(model.route()).arg("--base-url").arg(model.base_url());
    let finished = run.run().expect_code(5);
    let shown = place.regatta(repository.root()).words("logs").run().expect_code(0);
    for said in [&finished.stdout, &finished.stderr, &shown.stdout, &shown.stderr] {
        let raw = |letter: char| {
            (letter.is_control() && letter != '\n' && letter != '\t') || letter == '\u{202e}'
        };
        assert!(!said.contains(raw), "{said:?}");
    }
    // As events it is all there, and each line is one JSON document.
    model.talk("t1", |_: &Asked| Answer::yields(&json!("\u{1b}[31m")));
    let run = run_with(&place, &repository, &plan, &model).run().expect_code(0);
    assert_eq!(run.task("t1")["yield"], "\u{1b}[31m");
    assert!(!run.stdout.contains('\u{1b}'));
}
