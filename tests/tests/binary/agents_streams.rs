//! Streams that no sound provider sends: each has a defined end within the time and the memory
//! that an engine may take, and nothing of them is lost or comes to the terminal as it is.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::Plan;

use super::agents::{run_one, run_with};
use super::sandbox;

/// How a task ends whose model says something odd once.
#[derive(Clone, Copy, Debug)]
enum Ends {
    /// It lands after so many requests.
    Lands(usize),
    /// It fails with this class after so many requests.
    Fails(&'static str, usize),
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

/// Runs an agent whose model says `odd` once, and checks how it ends.
fn ends(what: &str, odd: Answer, expected: Ends) {
    let place = sandbox();
    let repository = place.repository();
    place.home().configure("retry:\n  maxRetries: 1\n  baseDelayMs: 10\n");
    let model = LoopbackModel::start();
    let silent = matches!(&odd, Answer::Again(_, every) if !every.is_zero());
    let mut once = Some(odd);
    let run = run_one(&place, &repository, &model, move |asked: &Asked| match asked.answers() {
        0 => Answer::call("write", &json!({ "path": "new.txt", "content": "new\n" })),
        _ => once.take().unwrap_or_else(|| Answer::yields(&json!("done"))),
    });
    // Only a model that really is silent is to be taken for one, however busy the machine is.
    let patience = if silent { "3000" } else { "25000" };
    let began = Instant::now();
    let finished = run
        .env("REGATTA_STREAM_FIRST_EVENT_TIMEOUT_MS", patience)
        .env("REGATTA_STREAM_IDLE_TIMEOUT_MS", patience)
        .run();
    test_limit::took_at_most(began.elapsed(), Duration::from_secs(30), what);
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{what}: {finished}");
    let end = finished.task("t1");
    let requests = model.requests() - 1;
    match expected {
        Ends::Lands(wanted) => {
            assert_eq!(end["outcome"], "done", "{what}: {finished}");
            assert_eq!(repository.text("new.txt"), "new\n", "{what}: {finished}");
            assert_eq!(requests, wanted, "{what}: requests: {finished}");
        }
        Ends::Fails(class, wanted) => {
            assert_eq!(end["failure"]["class"], class, "{what}: {finished}");
            let capture = format!("{}/t1/1", finished.run_name());
            assert_eq!(place.home().captured(&capture, "new.txt"), "new\n", "{what}: {finished}");
            assert_eq!(requests, wanted, "{what}: requests: {finished}");
        }
    }
    place.expect_nothing_left(&repository);
}

#[test]
fn streams_that_only_keep_the_connection_alive_are_silent() {
    let alive = Answer::Again(b": still here\n\n".to_vec(), Duration::from_millis(50));
    ends("comments", alive, Ends::Lands(2));
}

#[test]
fn a_line_without_end_is_not_kept_in_memory() {
    let again = Answer::Again(vec![b'a'; 100_000], Duration::ZERO);
    ends("a line", again, Ends::Fails("invalid", 1));
}

#[test]
fn pieces_that_are_none_are_an_odd_answer() {
    for (what, body) in [
        ("a number", "data: 5\n\n"),
        ("nothing", "data: null\n\n"),
        ("no list", "data: {\"choices\":null}\n\n"),
        ("no JSON", "data: {\"choices\":[\n\n"),
    ] {
        let body = [body, &finish("stop")].concat();
        let place = sandbox();
        let repository = place.repository();
        place.home().configure("retry:\n  maxRetries: 1\n  baseDelayMs: 10\n");
        let model = LoopbackModel::start();
        let mut once = Some(Answer::stream(body));
        let run = run_one(&place, &repository, &model, move |_: &Asked| {
            once.take().unwrap_or_else(|| Answer::yields(&json!("done")))
        });
        let finished = run.run();
        let end = finished.task("t1");
        let class = end["failure"]["class"].as_str().unwrap_or("done");
        assert!(["done", "invalid", "transient"].contains(&class), "{what}: {finished}");
        assert!(model.requests() <= 5, "{what}: {finished}");
    }
}

#[test]
fn json_of_a_hundred_thousand_levels_is_no_json() {
    let deep = "[".repeat(100_000);
    let arguments = format!("{{\"path\":{deep}");
    let body = [call(&arguments), finish("tool_calls")].concat();
    ends("deep arguments", Answer::stream(body), Ends::Lands(2));
    let whole = format!("{{\"path\":{deep}{}}}", "]".repeat(100_000));
    let body = [call(&whole), finish("tool_calls")].concat();
    ends("deep and whole arguments", Answer::stream(body), Ends::Lands(2));
}

#[test]
fn more_calls_than_anyone_needs_are_cut_off() {
    let calls = (0..2000).map(|index| {
        let function = json!({ "name": "read", "arguments": "{\"path\":\"README.md\"}" });
        let id = format!("c{index}");
        let call = json!({ "index": index, "id": id, "type": "function", "function": function });
        chunk(&json!({ "tool_calls": [call] }), &Value::Null)
    });
    let body = calls.chain([finish("tool_calls")]).collect::<String>();
    ends("2,000 calls", Answer::stream(body), Ends::Lands(2));
}

#[test]
fn a_call_with_an_index_beyond_reason_is_one_call() {
    let function = json!({ "name": "read", "arguments": "{\"path\":\"README.md\"}" });
    for index in [json!(4_000_000_000_u64), json!(-1), json!("0"), json!(null)] {
        let call = json!({ "index": index, "id": "c", "type": "function", "function": function });
        let body = [chunk(&json!({ "tool_calls": [call] }), &Value::Null), finish("tool_calls")];
        ends("an odd index", Answer::stream(body.concat()), Ends::Lands(2));
    }
}

#[test]
fn an_overload_told_in_the_stream_is_tried_again() {
    let error = json!({ "error": { "message": "Overloaded", "type": "overloaded_error" } });
    let body = format!("{}data: {error}\n\n", chunk(&json!({ "content": "I" }), &Value::Null));
    ends("an error event", Answer::stream(body), Ends::Lands(2));
}

#[test]
fn a_filtered_answer_is_refused() {
    let body = [chunk(&json!({ "content": "I" }), &Value::Null), finish("content_filter")];
    ends("a filter", Answer::stream(body.concat()), Ends::Fails("refused", 1));
}

#[test]
fn an_answer_that_is_no_stream_but_whole_is_an_answer() {
    let function = json!({ "name": "read", "arguments": "{\"path\":\"README.md\"}" });
    let call = json!({ "id": "c", "type": "function", "function": function });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "tool_calls" });
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    let body = json!({ "id": "x", "choices": [choice], "usage": usage }).to_string();
    let odd = Answer::Bytes { content_type: "application/json", body: body.into_bytes() };
    ends("a plain completion", odd, Ends::Lands(2));
}

#[test]
fn arguments_of_64_megabytes_are_cut_off() {
    let begin = call("{\"path\":\"");
    let function = json!({ "arguments": "x".repeat(1 << 20) });
    let more =
        chunk(&json!({ "tool_calls": [{ "index": 0, "function": function }] }), &Value::Null);
    let body = [begin, more.repeat(64), finish("tool_calls")].concat();
    ends("64 MB", Answer::stream(body), Ends::Lands(2));
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
