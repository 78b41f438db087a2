//! Agents over each of the four APIs: the same work, and the same end of each kind of failure.

use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde_json::json;
use tests::model::{Answer, Asked, Call, Cut, LoopbackModel, Said, Script, Wire, marker};
use tests::sandbox::{Finished, Invocation, Plan, Repository, Sandbox};

use super::fallbacks::id_of;
use super::models::write_models;
use super::sandbox;

/// A key that may stand nowhere.
const KEY: &str = "sk-canary-7b20d3";

/// The variable with the key of each provider.
pub(super) fn variable(wire: Wire) -> &'static str {
    match wire {
        Wire::Completions => "LOOPBACK_API_KEY",
        Wire::Responses => "OPENAI_API_KEY",
        Wire::Messages => "ANTHROPIC_API_KEY",
        Wire::Gemini => "GOOGLE_API_KEY",
    }
}

/// The most memory in MB that a run may take, and the longest that it may take, whatever is sent.
const MOST_MEMORY: u64 = 200;
const MOST_TIME: Duration = Duration::from_secs(30);

/// Writes a file of models in which the provider `gate` speaks an API. Even endless answers fit into the
/// window of its model: nothing is to be compacted.
fn write_gate(place: &Sandbox, model: &LoopbackModel, wire: Wire) {
    let (api, url) = (wire.name(), model.url_of(wire));
    write_models(
        place,
        &format!(
            "providers:\n  gate:\n    baseUrl: {url}\n    api: {api}\n    apiKey: GATE_KEY\n    models:\n      \
             - {{ id: {}, reasoning: true, contextWindow: 4000000, maxTokens: 64000, cost: {{ input: 1000, output: 1000 }} }}\n",
            id_of(wire)
        ),
    );
}

/// Begins a plan over an API of a file of models, whose requests are sent again twice and at once.
pub(super) fn begin(
    place: &Sandbox,
    repository: &Repository,
    (model, wire): (&LoopbackModel, Wire),
    plan: &Plan,
    patience: &str,
) -> Invocation {
    place.home().configure("retry:\n  maxRetries: 2\n  baseDelayMs: 10\n");
    write_gate(place, model, wire);
    let run = place.run_plan(repository, plan).arg("--model");
    run.arg(format!("gate/{}:high", id_of(wire)))
        .env("GATE_KEY", KEY)
        .env("REGATTA_STREAM_FIRST_EVENT_TIMEOUT_MS", patience)
        .env("REGATTA_STREAM_IDLE_TIMEOUT_MS", patience)
}

/// Runs it, and checks how much memory it takes.
pub(super) fn within_memory(run: Invocation, what: &str) -> Finished {
    let mut running = run.start();
    let mut peak = None;
    while let Some(_event) = running.next_event() {
        peak = peak.max(memory(running.id()));
    }
    let peak = peak.expect("it lives while it tells something");
    assert!(peak <= MOST_MEMORY, "{what}: {peak} MB");
    running.wait()
}

/// Returns the most memory that a process has held, in MB. Nothing if it has ended.
fn memory(process: Pid) -> Option<u64> {
    let id = process.as_raw_nonzero();
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? / 1024)
}

/// Runs one task over an API.
fn run(
    place: &Sandbox,
    repository: &Repository,
    of: (&LoopbackModel, Wire),
    patience: &str,
    script: impl Script + 'static,
) -> Finished {
    of.0.talk("t1", script);
    let plan = Plan::default().agent("t1", &format!("Do it. {}", marker("t1")));
    within_memory(begin(place, repository, of, &plan, patience), of.1.name())
}

/// What an agent does that is not disturbed: it thinks, writes and reads, and yields.
fn work(turn: usize) -> Answer {
    let write = Call::new("write", &json!({ "path": "new.txt", "content": "größe\n" }));
    let read = Call::new("read", &json!({ "path": "README.md" }));
    match turn {
        0 => Answer::Says(Said {
            thinking: "Erst überlegen.".to_owned(),
            text: "I write.".to_owned(),
            calls: vec![write, read],
            ..Said::default()
        }),
        1 => Answer::Says(Said {
            thinking: "Dann fertig.".to_owned(),
            calls: vec![Call::new("yield", &json!({ "result": { "data": "done" } }))],
            ..Said::default()
        }),
        more => panic!("{more} answers"),
    }
}

#[test]
fn an_agent_works_over_every_api_with_its_key_its_level_and_what_it_thought() {
    for wire in Wire::ALL {
        let place = sandbox();
        let repository = place.repository();
        let model = LoopbackModel::start();
        model.demand_key(KEY);
        let script = |asked: &Asked| work(asked.answers());
        let finished = run(&place, &repository, (&model, wire), "60000", script);
        assert_eq!(model.take_violations(), Vec::<String>::new(), "{wire:?}: {finished}");
        let finished = finished.expect_code(0);
        assert_eq!(repository.text("new.txt"), "größe\n", "{wire:?}");
        assert!(!format!("{finished}").contains(KEY), "{finished}");
        let messages = place.home().messages(&finished.run_name(), "t1");
        let answer = messages.iter().find(|message| message["role"] == "assistant").unwrap();
        assert_eq!(answer["api"], wire.name());
        let thought = &answer["content"][0];
        assert_eq!(
            (&thought["type"], &thought["thinking"]),
            (&json!("thinking"), &json!("Erst überlegen."))
        );
        let signed = match wire {
            Wire::Responses | Wire::Messages => thought["thinkingSignature"].is_string(),
            Wire::Gemini => answer["content"][2]["thoughtSignature"].is_string(),
            Wire::Completions => true,
        };
        assert!(signed, "{answer}");
        assert_eq!(answer["usage"]["cacheRead"], 200, "{answer}");
        assert_eq!(answer["usage"]["totalTokens"], 1030, "{answer}");
        assert_eq!(finished.task("t1")["usage"]["cost"], 2.06, "two answers at the user's price");
        let asked = model.asked("t1");
        let level = match wire {
            Wire::Completions => asked[0].native["reasoning_effort"] == "high",
            Wire::Responses => asked[0].native["reasoning"]["effort"] == "high",
            Wire::Messages => asked[0].native["thinking"]["budget_tokens"] == 16_384,
            Wire::Gemini => {
                asked[0].native["generationConfig"]["thinkingConfig"]["thinkingLevel"] == "HIGH"
            }
        };
        assert!(level, "{}", asked[0].native);
        place.expect_nothing_left(&repository);
    }
}

/// What becomes of a task whose model says something else than its yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// It lands after so many requests.
    Lands(usize),
    /// It fails with this class after so many requests.
    Fails(&'static str, usize),
}

/// Has a model say `odd` instead of its yield, so many times, and checks how its task ends.
pub(super) fn ends(wire: Wire, what: &str, odd: &Answer, times: usize, expected: Ends) {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let (odd, mut left) = (odd.clone(), times);
    // Only a model that really is silent is to be taken for one, however busy the machine is.
    let patience = match &odd {
        Answer::Silence | Answer::Held => "10000",
        Answer::Again(_, every) if !every.is_zero() => "3000",
        _ => "60000",
    };
    let began = Instant::now();
    let finished = run(&place, &repository, (&model, wire), patience, move |asked: &Asked| {
        if asked.answers() == 1 && left > 0 {
            left -= 1;
            return odd.clone();
        }
        match asked.answers() {
            0 => work(0),
            _ => Answer::yields(&json!("done")),
        }
    });
    test_limit::took_at_most(began.elapsed(), MOST_TIME, format!("{wire:?}, {what}"));
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{wire:?}, {what}: {finished}");
    let end = finished.task("t1");
    let requests = model.asked("t1").len() - 1;
    let (ended, capture) = match end["failure"]["class"].as_str() {
        Some(class) => (format!("{class} {requests}"), true),
        None => (format!("lands {requests}"), false),
    };
    let wanted = match expected {
        Ends::Lands(requests) => format!("lands {requests}"),
        Ends::Fails(class, requests) => format!("{class} {requests}"),
    };
    assert_eq!(ended, wanted, "{wire:?}, {what}: {finished}");
    assert_eq!(finished.code == 0, !capture, "{wire:?}, {what}: {finished}");
    assert!(requests <= 5, "{wire:?}, {what}: {finished}");
    if capture {
        let capture = format!("{}/t1/1", finished.run_name());
        assert_eq!(place.home().captured(&capture, "new.txt"), "größe\n", "{wire:?}, {what}");
    }
    assert!(!format!("{finished}").contains(KEY), "{finished}");
}

fn status(code: u16, kind: &str, message: &str) -> Answer {
    Answer::error(code, kind, message)
}

/// The failures of a provider, each with its end.
fn failures(wire: Wire) {
    let said = || Said { text: "Die Straße ist lang.".to_owned(), ..Said::default() };
    let limited = status(429, "rate_limit_error", "slow down").with_header("retry-after-ms", "50");
    let cases: Vec<(&str, Answer, usize, Ends)> = vec![
        ("429", limited, 1, Ends::Lands(2)),
        (
            "429 and a far date",
            status(429, "rate_limit_error", "x").with_header("retry-after", "86400"),
            9,
            Ends::Fails("quota", 1),
        ),
        (
            "429 and a time that is over",
            status(429, "rate_limit_error", "x").with_header("retry-after", "-1"),
            9,
            Ends::Fails("transient", 3),
        ),
        (
            "429 and no time",
            status(429, "rate_limit_error", "x").with_header("retry-after", "soon"),
            9,
            Ends::Fails("transient", 3),
        ),
        (
            "429 and a year",
            status(429, "rate_limit_error", "x").with_header("retry-after", "31536000"),
            9,
            Ends::Fails("quota", 1),
        ),
        ("503", status(503, "server_error", "busy"), 1, Ends::Lands(2)),
        ("529", status(529, "overloaded_error", "Overloaded"), 1, Ends::Lands(2)),
        ("400", status(400, "invalid_request_error", "what?"), 9, Ends::Fails("invalid", 1)),
        ("401", status(401, "authentication_error", "no"), 9, Ends::Fails("auth", 1)),
        (
            "too long",
            status(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
            9,
            Ends::Fails("overflow", 1),
        ),
        ("cut in a character", Answer::Cut(said(), Cut::InCharacter), 1, Ends::Lands(2)),
        ("no end", Answer::Cut(said(), Cut::BeforeFinish), 1, Ends::Lands(2)),
        ("never an end", Answer::Cut(said(), Cut::BeforeFinish), 9, Ends::Fails("transient", 3)),
        ("outage", status(500, "api_error", "oops"), 9, Ends::Fails("transient", 3)),
        ("stalled", Answer::Silence, 1, Ends::Lands(2)),
        ("nothing", Answer::stream(""), 1, Ends::Lands(2)),
        (
            "a page",
            Answer::Bytes { content_type: "text/html", body: b"<html>Hi</html>".to_vec() },
            9,
            Ends::Fails("invalid", 1),
        ),
        ("a corrupt event", Answer::stream("data: {\"type\":\"message_st\n\n"), 1, Ends::Lands(2)),
        (
            "one line without end",
            Answer::Again(vec![b'a'; 100_000], Duration::ZERO),
            9,
            Ends::Fails("invalid", 1),
        ),
    ];
    for (what, odd, times, expected) in cases {
        ends(wire, what, &odd, times, expected);
    }
}

/// Answers that are whole and odd, each with its end.
fn odd_answers(wire: Wire) {
    let calls = |calls: Vec<Call>| Said { calls, ..Said::default() };
    let read = |path: &str| Call::new("read", &json!({ "path": path }));
    let raw = |arguments: String| Call { id: None, name: "read".to_owned(), arguments };
    let deep = format!("{{\"path\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let many = wire.say(&calls(vec![read("README.md"); 2000]));
    let long = wire.say(&calls(vec![read(&"x".repeat(8 << 20))]));
    // Here a call comes whole, in one event, and an event has a maximum size.
    let whole = wire == Wire::Gemini;
    let long_end = if whole { Ends::Fails("invalid", 1) } else { Ends::Lands(2) };
    let cases = [
        ("2,000 calls", many, Ends::Lands(2)),
        ("long arguments", long, long_end),
        ("deep arguments", Answer::calls(vec![raw(deep)]), Ends::Lands(2)),
        ("no JSON", Answer::calls(vec![raw("{\"path\"".to_owned())]), Ends::Lands(2)),
        ("an unknown tool", Answer::calls(vec![Call::new("x", &json!({}))]), Ends::Lands(2)),
        ("one id twice", Answer::calls(vec![read("a").with_id("twice"); 2]), Ends::Lands(2)),
        ("ANSI", Answer::text("\u{1b}[31m\u{1b}]0;title\u{7}"), Ends::Lands(2)),
        ("endless text", Answer::Endless, Ends::Lands(2)),
    ];
    for (what, odd, expected) in cases {
        ends(wire, what, &odd, 1, expected);
    }
}

#[test]
fn failures_of_chat_completions_have_their_ends() {
    failures(Wire::Completions);
}

#[test]
fn failures_of_responses_have_their_ends() {
    failures(Wire::Responses);
}

#[test]
fn failures_of_messages_have_their_ends() {
    failures(Wire::Messages);
}

#[test]
fn failures_of_google_have_their_ends() {
    failures(Wire::Gemini);
}

#[test]
fn odd_answers_over_every_api_are_read_or_cut_off() {
    for wire in Wire::ALL {
        odd_answers(wire);
    }
}

#[test]
fn nobody_comes_again_before_a_limit_is_over() {
    for wire in Wire::ALL {
        let place = sandbox();
        let repository = place.repository();
        let model = LoopbackModel::start();
        model.limit(1, Duration::from_millis(700));
        let script = |asked: &Asked| work(asked.answers());
        let finished = run(&place, &repository, (&model, wire), "60000", script);
        assert_eq!(model.take_violations(), Vec::<String>::new(), "{wire:?}: {finished}");
        let _finished = finished.expect_code(0);
        assert_eq!(repository.text("new.txt"), "größe\n", "{wire:?}");
    }
}
