//! What providers answer instead of a sound stream: each has one defined end, by class.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use test_limit::{Depth, depth};
use tests::model::{Answer, Asked, Call, Cut, LoopbackModel, Said, Script, Wire, marker};
use tests::sandbox::{ClosedPort, Finished, Invocation, Plan, Repository, Sandbox};

use super::own_servers::{Agent, PLAIN, begin_all, expect_no_violation};
use super::work::{run_one, run_with};
use crate::binary::sandbox;

/// A key that may stand nowhere.
const KEY: &str = "sk-canary-5e1f";

/// Lets a provider be asked again once and at once.
const RETRIES: &str = "retry:\n  maxRetries: 1\n  baseDelayMs: 10\n";

/// A busy machine is not to be taken for a silent model.
fn patient(run: Invocation) -> Invocation {
    run.env("REGATTA_STREAM_FIRST_EVENT_TIMEOUT_MS", "30000")
        .env("REGATTA_STREAM_IDLE_TIMEOUT_MS", "30000")
}

/// Begins a run of one task, whose provider is asked again once and at once.
fn begin(
    place: &Sandbox,
    repository: &Repository,
    model: &LoopbackModel,
    script: impl Script + 'static,
) -> Invocation {
    place.home().configure(RETRIES);
    patient(run_one(place, repository, model, script)).env("LOOPBACK_API_KEY", KEY)
}

/// Runs agents with a server and a key of their own each, which are asked again once and at once.
fn run_all(place: &Sandbox, repository: &Repository, agents: &[Agent]) -> Finished {
    place.home().configure(RETRIES);
    let run = patient(begin_all(place, repository, agents, PLAIN));
    for agent in agents {
        agent.server.demand_key(KEY);
    }
    let run = agents.iter().fold(run, |run, agent| run.env(&agent.variable(), KEY));
    let finished = run.run();
    expect_no_violation(agents, &finished);
    expect_no_key(place, &finished);
    place.expect_nothing_left(repository);
    finished
}

/// What an agent does that is not disturbed.
fn work(name: &str, turn: usize) -> Answer {
    match turn {
        0 => Answer::call("write", &json!({ "path": format!("{name}.txt"), "content": "new\n" })),
        1 => Answer::yields(&json!("done")),
        more => panic!("{more} answers"),
    }
}

/// Works, but says `odd` instead of its yield for the first `times` times that it is asked for it. It
/// may not be asked again before `wait` is over.
fn disturbed(name: &str, odd: Answer, times: usize, wait: Duration) -> Agent {
    let (file, mut left, mut told) = (name.to_owned(), times, None::<Instant>);
    let script = move |asked: &Asked| {
        if let Some(waited) = told.map(|told| told.elapsed()) {
            assert!(waited >= wait, "it is asked again after {waited:?}");
        }
        if asked.answers() > 0 && left > 0 {
            (left, told) = (left - 1, Some(Instant::now()));
            return odd.clone();
        }
        work(&file, asked.answers())
    };
    Agent::new(name, Wire::Completions, script)
}

/// Checks that the key is nowhere in the home and in nothing that was said.
fn expect_no_key(place: &Sandbox, finished: &Finished) {
    assert!(!format!("{finished}").contains(KEY), "{finished}");
    let everything = std::process::Command::new("grep")
        .args(["-rlaF", KEY])
        .arg(place.home().folder())
        .output()
        .expect("grep can be run");
    assert_eq!(String::from_utf8_lossy(&everything.stdout), "", "the key is kept in files");
}

fn says(failure: &Value, class: &str, words: &[&str]) {
    assert_eq!(failure["class"], class, "{failure}");
    let message = failure["message"].as_str().unwrap_or_default().to_lowercase();
    for word in words {
        assert!(message.contains(&word.to_lowercase()), "`{word}` in {failure}");
    }
}

fn spoken() -> Said {
    Said { text: "Die Straße ist lang.".to_owned(), ..Said::default() }
}

/// A limit of how much may be asked at a time, and a quota that is used up.
fn limited() -> Answer {
    Answer::error(429, "rate_limit_exceeded", "Too many requests")
}

fn spent() -> Answer {
    Answer::error(429, "insufficient_quota", "You exceeded your current quota")
}

/// What a provider always says, by the name of its task, the class with which that fails, the words of
/// the failure, and how often it is asked.
type Failing = (&'static str, Answer, &'static str, &'static [&'static str], usize);

fn failing() -> Vec<Failing> {
    let status = Answer::error;
    let page = b"<!doctype html><html><body>\x1b[31mWelcome to nginx</body></html>".to_vec();
    let page = Answer::Bytes { content_type: "text/html; charset=utf-8", body: page };
    let toolless = "registry.ollama.ai/library/gemma:2b does not support tools";
    let long = "This model's maximum context length is 8192 tokens. However, your messages \
                resulted in 9000 tokens.";
    let asked_twice: &[&str] = &["500", "it was asked 2 times"];
    vec![
        (
            "refused",
            status(401, "invalid_api_key", "Incorrect API key provided"),
            "auth",
            &["REFUSED_API_KEY", "Incorrect API key"],
            1,
        ),
        (
            "missing",
            status(404, "not_found", "no such model"),
            "invalid",
            &["model", "base URL"],
            1,
        ),
        ("far-reset", limited().with_header("retry-after", "25200"), "quota", &[], 1),
        ("no-credit", spent(), "quota", &[], 1),
        ("limited", limited(), "transient", &["429", "it was asked 2 times"], 2),
        ("broken", status(500, "server_error", "oops"), "transient", asked_twice, 2),
        ("page", page, "invalid", &["base URL", "Welcome to nginx"], 1),
        (
            "toolless",
            status(400, "invalid_request_error", toolless),
            "invalid",
            &["does not support tools"],
            1,
        ),
        ("too-long", status(400, "context_length_exceeded", long), "overflow", &[], 1),
        ("in-character", Answer::Cut(spoken(), Cut::InCharacter), "transient", &[], 2),
        ("no-finish", Answer::Cut(spoken(), Cut::BeforeFinish), "transient", &[], 2),
    ]
}

#[test]
fn what_a_provider_always_says_instead_of_a_stream_has_one_end_by_its_class_and_the_work_is_kept() {
    let place = sandbox();
    let repository = place.repository();
    let mut rows = failing();
    // Its requests have megabytes.
    if depth() == Depth::Full {
        rows.push(("endless", Answer::Endless, "contract", &["too long"], 4));
    }
    let disturb = |name, odd: &Answer| disturbed(name, odd.clone(), usize::MAX, Duration::ZERO);
    let mut agents: Vec<_> = rows.iter().map(|(name, odd, ..)| disturb(name, odd)).collect();
    let elsewhere = Answer::Status {
        code: 307,
        headers: vec![("location", "http://127.0.0.1:9/elsewhere".to_owned())],
        body: String::new(),
    };
    agents.push(disturb("redirected", &elsewhere));
    let began = Instant::now();
    let finished = run_all(&place, &repository, &agents).expect_code(6);
    test_limit::took_at_most(began.elapsed(), Duration::from_secs(300), &finished);
    let failure = |name: &str| finished.task(name)["failure"].clone();
    for agent in &agents {
        let name = &agent.name;
        let capture = format!("{}/{name}/1", finished.run_name());
        let file = format!("{name}.txt");
        assert_eq!(place.home().captured(&capture, &file), "new\n", "{name}: {finished}");
        assert!(!repository.has(&file), "{name}: failed work does not land: {finished}");
    }
    for ((name, _, class, words, asked), agent) in rows.iter().zip(&agents) {
        says(&failure(name), class, words);
        assert_eq!(agent.requests() - 1, *asked, "{name}: {finished}");
    }
    assert_eq!(failure("far-reset")["detail"]["type"], "until", "{finished}");
    assert!(!failure("page")["message"].as_str().unwrap().contains('\x1b'), "{finished}");
    assert_ne!(failure("redirected")["class"], "crashed", "{finished}");
    assert_eq!(agents.last().map(|agent| agent.requests() - 1), Some(1), "it is not followed");
}

#[test]
fn what_a_provider_says_once_instead_of_a_stream_is_had_again_after_the_time_it_says_and_lands() {
    let place = sandbox();
    let repository = place.repository();
    let status = Answer::error;
    let none = Answer::Bytes { content_type: "text/event-stream", body: Vec::new() };
    let call = Call::new("write", &json!({ "path": "half.txt", "content": "Straße" }));
    let half = Said { calls: vec![call], ..Said::default() };
    let rows = [
        ("broken", status(500, "server_error", "oops"), 0),
        ("busy", status(503, "server_error", "overloaded"), 0),
        ("none", none, 0),
        ("near-reset", limited().with_header("retry-after", "1"), 1),
        ("quota", spent().with_header("retry-after", "1"), 1),
        ("in-character", Answer::Cut(spoken(), Cut::InCharacter), 0),
        ("no-finish", Answer::Cut(spoken(), Cut::BeforeFinish), 0),
        ("half-a-call", Answer::Cut(half, Cut::BeforeFinish), 0),
    ];
    let mut agents: Vec<_> = rows
        .into_iter()
        .map(|(name, odd, wait)| disturbed(name, odd, 1, Duration::from_secs(wait)))
        .collect();
    agents.push(Agent::new("endless", Wire::Completions, |asked: &Asked| match asked.answers() {
        0 => work("endless", 0),
        1 if asked.reminder().is_none() => Answer::Endless,
        _ => {
            let reminder = asked.reminder().expect("it is told");
            assert!(reminder.contains("too long"), "{reminder}");
            Answer::yields(&json!("done"))
        }
    }));
    let finished = run_all(&place, &repository, &agents).expect_code(0);
    for agent in &agents {
        let name = &agent.name;
        assert_eq!(repository.text(format!("{name}.txt")), "new\n", "{name}: {finished}");
        assert_eq!(agent.requests() - 1, 2, "{name}: {finished}");
    }
    assert!(!repository.has("half.txt"), "a call that is cut is never carried out");
    let artifacts = place.home().data().join("artifacts").join(finished.run_name());
    let log = std::fs::metadata(artifacts.join("endless/session.jsonl"));
    let size = log.expect("there is a log").len();
    assert!(size < 8_000_000, "{size}");
}

#[test]
fn a_retry_after_that_is_no_time_says_nothing_and_one_of_a_year_is_quota() {
    let limited = |after: &str| limited().with_header("retry-after", after);
    let spent = |after: &str| spent().with_header("retry-after", after);
    let no_time = vec![("negative", limited("-1")), ("a-word", limited("soon"))];
    let quota = vec![
        ("a-year", limited("31536000")),
        ("spent-negative", spent("-1")),
        ("spent-a-word", spent("soon")),
    ];
    for (rows, class, code, requests) in [(no_time, "transient", 5, 5), (quota, "quota", 6, 1)] {
        let place = sandbox();
        let repository = place.repository();
        place.home().configure("retry:\n  baseDelayMs: 10\n");
        let agent = |(name, odd): (&str, Answer)| {
            Agent::new(name, Wire::Completions, move |_: &Asked| odd.clone())
        };
        let agents: Vec<_> = rows.into_iter().map(agent).collect();
        let began = Instant::now();
        let finished = begin_all(&place, &repository, &agents, PLAIN).run();
        test_limit::took_at_most(began.elapsed(), Duration::from_secs(60), &finished);
        let finished = finished.expect_code(code);
        for agent in &agents {
            let name = agent.name.as_str();
            let failure = finished.task(name)["failure"].clone();
            says(&failure, class, &["429 Too Many Requests"]);
            assert_eq!(failure["detail"]["type"] == "until", name == "a-year", "{failure}");
            assert_eq!(agent.requests(), requests, "{name}: {finished}");
        }
        assert!(finished.stderr.matches("error:").count() <= 1, "{finished}");
        expect_no_violation(&agents, &finished);
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn how_long_a_quota_is_waited_for_is_a_setting() {
    let begin = |after: &str, setting: &str| {
        let place = sandbox();
        place.home().configure(setting);
        let (repository, model) = (place.repository(), LoopbackModel::start());
        let odd = limited().with_header("retry-after", after);
        let run = run_one(&place, &repository, &model, move |_: &Asked| odd.clone());
        (place, repository, model, run)
    };
    let (_place, _repository, model, run) = begin("120", "quota:\n  wait: 90s\n");
    let finished = run.run().expect_code(6);
    says(&finished.task("t1")["failure"], "quota", &["it asks to wait 120 s"]);
    assert_eq!(model.requests(), 1);
    // Seven hours are more than it is without a setting.
    let (_place, _repository, model, run) = begin("25200", "quota:\n  wait: 8h\n");
    let mut running = run.start();
    let wait = running.until_event("it waits", |event| event["waits_for"].is_object());
    let at = |time: &Value| serde_json::from_value::<protocol::Timestamp>(time.clone());
    let until = at(&wait["waits_for"]["until"]).expect("it is known").as_millisecond();
    let left = until - at(&wait["at"]).expect("each event has a time").as_millisecond();
    assert!((25_100_000..25_300_000).contains(&left), "{wait}");
    running.signal(Signal::INT);
    let finished = running.wait().expect_code(130);
    assert_eq!((model.requests(), &finished.task("t1")["outcome"]), (1, &json!("cancelled")));
}

/// An agent that makes calls in its second turn, by its name, and what checks what it reads then.
type Reading = (String, Vec<Call>, Look);
type Look = fn(&[String]);

fn readings() -> Vec<Reading> {
    fn tells_the_fault(results: &[String]) {
        assert_eq!(results.len(), 1, "{results:?}");
        assert!(results[0].contains("path") || results[0].contains("JSON"), "{results:?}");
    }
    fn lists_the_tools(results: &[String]) {
        assert_eq!(results.len(), 1, "{results:?}");
        assert!(results[0].contains("edit") && results[0].contains("bash"), "{results:?}");
        assert!(!results[0].contains('\u{1b}'), "{results:?}");
    }
    fn are_two(results: &[String]) {
        assert_eq!(results.len(), 2, "{results:?}");
        assert!(results[0].contains("one.txt") && results[1].contains("two.txt"), "{results:?}");
    }
    let call = |name: &str, arguments: &str| {
        vec![Call { id: None, name: name.to_owned(), arguments: arguments.to_owned() }]
    };
    let no_json = ["{\"path\": \"a", "[1]", "", "not at all"];
    let no_json =
        no_json.iter().map(|arguments| (call("read", arguments), tells_the_fault as Look));
    let long = "x".repeat(300);
    let unknown = ["search_web", "read file", "", "read\u{1b}[31m", &long];
    let unknown = unknown.iter().map(|name| (call(name, "{}"), lists_the_tools as Look));
    let rows = no_json.chain(unknown).enumerate();
    let mut readings: Vec<Reading> =
        rows.map(|(at, (calls, look))| (format!("row{at}"), calls, look)).collect();
    let write = |path: &str| {
        Call::new("write", &json!({ "path": path, "content": "x\n" })).with_id("twice")
    };
    readings.push(("twice".to_owned(), vec![write("one.txt"), write("two.txt")], are_two));
    readings
}

#[test]
fn odd_arguments_and_unknown_tools_are_errors_that_the_model_reads_and_one_id_may_be_two_calls() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let (mut plan, mut expected) = (Plan::default(), vec!["one.txt".to_owned()]);
    for (name, calls, look) in readings() {
        plan = plan.agent(&name, &format!("Do it. {}", marker(&name)));
        expected.push(format!("{name}.txt"));
        let file = name.clone();
        model.talk(&name, move |asked: &Asked| match asked.answers() {
            0 => work(&file, 0),
            1 => Answer::calls(calls.clone()),
            2 => {
                look(&asked.results());
                Answer::yields(&json!("done"))
            }
            more => panic!("{more} answers"),
        });
    }
    place.home().configure(RETRIES);
    let finished = patient(run_with(&place, &repository, &plan, &model)).run();
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{finished}");
    let finished = finished.expect_code(0);
    place.expect_nothing_left(&repository);
    let changed = repository.git(&["status", "--porcelain", "--untracked-files=all"]);
    let mut changed: Vec<_> = changed.lines().map(|line| line[3..].to_owned()).collect();
    expected.push("two.txt".to_owned());
    changed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(changed, expected, "{finished}");
    for path in &expected {
        let text = if ["one.txt", "two.txt"].contains(&path.as_str()) { "x\n" } else { "new\n" };
        assert_eq!(repository.text(path), text, "{path}");
    }
}

#[test]
fn no_path_leaves_the_workspace() {
    let place = sandbox();
    let repository = place.repository();
    let outside = place.folder().join("outside");
    std::fs::create_dir_all(&outside).expect("a folder can be made");
    std::fs::write(outside.join("secret.txt"), "a secret\n").expect("a file can be written");
    let link = |target: &std::path::Path, path: &str| {
        std::os::unix::fs::symlink(target, repository.path(path)).expect("a link can be made");
    };
    link(&outside, "away");
    link(&outside.join("secret.txt"), "secret-link");
    link(std::path::Path::new("src/run.rs"), "inside");
    repository.commit("links");
    let absolute = outside.join("secret.txt").display().to_string();
    let own = repository.path("README.md").display().to_string();
    let model = LoopbackModel::start();
    let paths = vec![
        "../outside/secret.txt".to_owned(),
        "src/../../../../../../../../etc/passwd".to_owned(),
        "/etc/passwd".to_owned(),
        absolute,
        "away/secret.txt".to_owned(),
        "secret-link".to_owned(),
        own,
        ".git/config".to_owned(),
    ];
    let refused = 3 * paths.len();
    let run = begin(&place, &repository, &model, move |asked: &Asked| match asked.answers() {
        0 => {
            let mut calls = Vec::new();
            for path in &paths {
                let edit = json!({ "oldText": "a secret", "newText": "changed" });
                calls.push(Call::new("write", &json!({ "path": path, "content": "changed\n" })));
                calls.push(Call::new("edit", &json!({ "path": path, "edits": [edit] })));
                calls.push(Call::new("read", &json!({ "path": path })));
            }
            let edit = json!({ "oldText": "pub fn run", "newText": "pub fn stay" });
            calls.push(Call::new("edit", &json!({ "path": "inside", "edits": [edit] })));
            calls.push(Call::new("bash", &json!({ "command": "pwd", "cwd": "../.." })));
            Answer::calls(calls)
        }
        1 => {
            let results = asked.results();
            assert_eq!(results.len(), refused + 2, "{results:?}");
            for result in &results[..refused] {
                assert!(!result.contains("a secret") && !result.contains("root:"), "{result}");
            }
            Answer::yields(&json!("done"))
        }
        more => panic!("{more} answers"),
    });
    let finished = run.run();
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{finished}");
    let finished = finished.expect_code(0);
    let messages = place.home().messages(&finished.run_name(), "t1");
    let results: Vec<_> = messages.iter().filter(|m| m["role"] == "toolResult").collect();
    for (at, result) in results[..refused].iter().enumerate() {
        // Git's own folder may be looked at; nothing else of these may be touched at all.
        let looks = at == refused - 1;
        assert!(looks || result["isError"] == true, "call {at} was refused: {result}");
    }
    assert_eq!(results[refused]["isError"], false, "a link that stays inside works");
    assert_eq!(results[refused + 1]["isError"], true, "no command runs outside");
    let kept = std::fs::read_to_string(outside.join("secret.txt")).expect("it is there");
    assert_eq!(kept, "a secret\n");
    assert_eq!(repository.text("src/run.rs"), "pub fn stay() {}\n", "{finished}");
    assert!(repository.text("README.md").starts_with("# App"), "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_server_that_is_not_there_or_lacks_the_model_is_told_before_anything_starts() {
    let place = sandbox();
    let repository = place.repository();
    let closed = ClosedPort::take();
    let address = closed.address();
    let run = |url: &str, model: &str| {
        let run = place.run_in(&repository).arg("Do it.").arg("--model").arg(model);
        run.arg("--base-url").arg(url).run()
    };
    let began = Instant::now();
    let nobody = run(&format!("http://{address}/v1"), "loopback/loop");
    nobody.expect_refusal(&[&address.to_string()]);
    test_limit::took_at_most(began.elapsed(), Duration::from_secs(20), "it waits for something");
    let model = LoopbackModel::start();
    run(&model.base_url(), "ollama/other").expect_refusal(&["other", "loop", "ollama pull"]);
    run(&model.base_url(), "gw/nonesuch").expect_refusal(&["gw/nonesuch", "(it has loop)"]);
    run(&model.base_url(), "gw/lop").expect_refusal(&["no model `lop`", "try: --model gw/loop"]);
    assert_eq!(model.requests(), 0);
    assert_eq!(place.home().workspaces(), Vec::<String>::new());
}

#[test]
fn the_key_of_the_environment_is_sent_whatever_a_server_lists_and_stands_nowhere() {
    for listed in [None, Some(["another-name", "loop"].as_slice())] {
        let place = sandbox();
        let repository = place.repository();
        let model = LoopbackModel::start();
        model.list(listed);
        model.demand_key(KEY);
        let run = begin(&place, &repository, &model, |asked: &Asked| work("new", asked.answers()));
        let finished = run.run().expect_code(0);
        assert_eq!(repository.text("new.txt"), "new\n", "{listed:?}");
        assert_eq!(model.asked("t1")[0].key.as_deref(), Some(KEY), "{listed:?}");
        expect_no_key(&place, &finished);
    }
}
