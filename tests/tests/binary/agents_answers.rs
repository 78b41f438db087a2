//! What providers answer instead of a sound stream: each has one defined end, by class.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use tests::model::{Answer, Asked, Call, Cut, LoopbackModel, Said, Script};
use tests::sandbox::{ClosedPort, Finished, Invocation, Repository, Sandbox};

use super::agents::run_one;
use super::sandbox;

/// A key that may stand nowhere.
const KEY: &str = "sk-canary-5e1f";

/// Begins a run of one task, whose provider is asked again once and at once.
fn begin(
    place: &Sandbox,
    repository: &Repository,
    model: &LoopbackModel,
    script: impl Script + 'static,
) -> Invocation {
    place.home().configure("retry:\n  maxRetries: 1\n  baseDelayMs: 10\n");
    // A busy machine is not to be taken for a silent model.
    run_one(place, repository, model, script)
        .env("LOOPBACK_API_KEY", KEY)
        .env("REGATTA_STREAM_FIRST_EVENT_TIMEOUT_MS", "30000")
        .env("REGATTA_STREAM_IDLE_TIMEOUT_MS", "30000")
}

/// What an agent does that is not disturbed.
fn work(turn: usize) -> Answer {
    match turn {
        0 => Answer::call("write", &json!({ "path": "new.txt", "content": "new\n" })),
        1 => Answer::yields(&json!("done")),
        more => panic!("{more} answers"),
    }
}

/// Works, but says `odd` instead of its yield for the first `times` times that it is asked for it.
fn disturbed(odd: Answer, times: usize) -> impl Script {
    let mut left = times;
    move |asked: &Asked| {
        if asked.answers() > 0 && left > 0 {
            left -= 1;
            return odd.clone();
        }
        work(asked.answers())
    }
}

/// Runs an agent whose second turn is always `odd`; its work must be kept. Returns its failure and
/// how often it was asked.
fn fails(odd: Answer, code: i32) -> (Value, usize, Finished) {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let run = begin(&place, &repository, &model, disturbed(odd, usize::MAX));
    let finished = run.run().expect_code(code);
    let capture = format!("{}/t1/1", finished.run_name());
    assert_eq!(place.home().captured(&capture, "new.txt"), "new\n", "{finished}");
    assert!(!repository.has("new.txt"), "failed work does not land: {finished}");
    place.expect_nothing_left(&repository);
    expect_no_key(&place, &finished);
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{finished}");
    let failure = finished.task("t1")["failure"].clone();
    (failure, model.asked("t1").len() - 1, finished)
}

/// Runs an agent whose second turn is `odd` once; it must land. Returns how often it was asked.
fn recovers(odd: Answer) -> usize {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let run = begin(&place, &repository, &model, disturbed(odd, 1));
    let finished = run.run().expect_code(0);
    assert_eq!(repository.text("new.txt"), "new\n", "{finished}");
    place.expect_nothing_left(&repository);
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{finished}");
    model.asked("t1").len() - 1
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

#[test]
fn a_refused_key_is_auth_names_its_variable_and_is_not_tried_again() {
    let refusal = Answer::error(401, "invalid_api_key", "Incorrect API key provided");
    let (failure, asked, _) = fails(refusal, 5);
    says(&failure, "auth", &["LOOPBACK_API_KEY", "Incorrect API key"]);
    assert_eq!(asked, 1);
}

#[test]
fn the_key_of_the_environment_is_sent_and_stands_nowhere() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.demand_key(KEY);
    let run = begin(&place, &repository, &model, |asked: &Asked| work(asked.answers()));
    let finished = run.run().expect_code(0);
    assert_eq!(model.asked("t1")[0].key.as_deref(), Some(KEY));
    expect_no_key(&place, &finished);
}

#[test]
fn a_404_says_that_the_model_or_the_base_url_may_be_wrong() {
    let (failure, asked, _) = fails(Answer::error(404, "not_found", "no such model"), 5);
    says(&failure, "invalid", &["model", "base URL"]);
    assert_eq!(asked, 1);
}

#[test]
fn a_far_reset_is_quota_with_its_time_and_is_not_waited_for() {
    let limit = Answer::error(429, "rate_limit_exceeded", "Too many requests");
    let began = Instant::now();
    let (failure, asked, finished) = fails(limit.with_header("retry-after", "25200"), 6);
    says(&failure, "quota", &[]);
    assert_eq!(failure["detail"]["type"], "until", "{failure}");
    assert_eq!(asked, 1);
    test_limit::took_at_most(began.elapsed(), Duration::from_secs(300), &finished);
}

#[test]
fn a_retry_after_that_is_no_time_says_nothing_and_one_of_a_year_is_quota() {
    let limit = Answer::error(429, "rate_limit_exceeded", "Too many requests");
    let spent = Answer::error(429, "insufficient_quota", "You exceeded your current quota");
    for (odd, after, class, code, requests) in [
        (&limit, "-1", "transient", 5, 5),
        (&limit, "soon", "transient", 5, 5),
        (&limit, "31536000", "quota", 6, 1),
        (&spent, "-1", "quota", 6, 1),
        (&spent, "soon", "quota", 6, 1),
    ] {
        let place = sandbox();
        let repository = place.repository();
        let model = LoopbackModel::start();
        place.home().configure("retry:\n  baseDelayMs: 10\n");
        let odd = odd.clone().with_header("retry-after", after);
        let began = Instant::now();
        let finished = run_one(&place, &repository, &model, move |_: &Asked| odd.clone()).run();
        test_limit::took_at_most(
            began.elapsed(),
            Duration::from_secs(60),
            format!("{after}: {finished}"),
        );
        let finished = finished.expect_code(code);
        let failure = finished.task("t1")["failure"].clone();
        says(&failure, class, &["429 Too Many Requests"]);
        assert_eq!(failure["detail"]["type"] == "until", after == "31536000", "{failure}");
        assert_eq!(model.asked("t1").len(), requests, "{after}: {finished}");
        assert!(finished.stderr.matches("error:").count() <= 1, "{finished}");
        place.expect_nothing_left(&repository);
    }
}

#[test]
fn how_long_a_quota_is_waited_for_is_a_setting() {
    let limit = Answer::error(429, "rate_limit_exceeded", "Too many requests");
    let begin = |after: &str, setting: &str| {
        let place = sandbox();
        place.home().configure(setting);
        let (repository, model) = (place.repository(), LoopbackModel::start());
        let odd = limit.clone().with_header("retry-after", after);
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

#[test]
fn a_quota_that_begins_again_is_waited_for_and_each_turn_is_answered_once() {
    let spent = Answer::error(429, "insufficient_quota", "You exceeded your current quota");
    let began = Instant::now();
    assert_eq!(recovers(spent.with_header("retry-after", "2")), 2);
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn credit_that_is_gone_is_quota() {
    let (failure, asked, _) = fails(Answer::error(429, "insufficient_quota", "You exceeded"), 6);
    says(&failure, "quota", &[]);
    assert_eq!(asked, 1);
}

#[test]
fn a_near_reset_is_waited_for_and_the_task_lands() {
    let limit = Answer::error(429, "rate_limit_exceeded", "Too many requests");
    let began = Instant::now();
    assert_eq!(recovers(limit.with_header("retry-after", "1")), 2);
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
}

#[test]
fn a_limit_of_how_much_at_a_time_is_tried_as_often_as_other_troubles() {
    let limit = Answer::error(429, "rate_limit_exceeded", "Too many requests");
    let (failure, asked, _) = fails(limit, 5);
    says(&failure, "transient", &["429", "it was asked 2 times"]);
    assert_eq!(asked, 2);
}

#[test]
fn a_server_error_and_an_overload_are_tried_again() {
    for odd in [
        Answer::error(500, "server_error", "oops"),
        Answer::error(503, "server_error", "overloaded"),
        Answer::Bytes { content_type: "text/event-stream", body: Vec::new() },
    ] {
        assert_eq!(recovers(odd), 2);
    }
    let (failure, asked, _) = fails(Answer::error(500, "server_error", "oops"), 5);
    says(&failure, "transient", &["500", "it was asked 2 times"]);
    assert_eq!(asked, 2);
}

#[test]
fn a_page_for_people_is_invalid_and_asks_about_the_base_url() {
    let page = b"<!doctype html><html><body>\x1b[31mWelcome to nginx</body></html>".to_vec();
    let odd = Answer::Bytes { content_type: "text/html; charset=utf-8", body: page };
    let (failure, asked, _) = fails(odd, 5);
    says(&failure, "invalid", &["base URL", "Welcome to nginx"]);
    assert!(!failure["message"].as_str().unwrap().contains('\x1b'), "{failure}");
    assert_eq!(asked, 1);
}

#[test]
fn a_model_without_tools_is_invalid_and_says_so() {
    let message = "registry.ollama.ai/library/gemma:2b does not support tools";
    let (failure, asked, _) = fails(Answer::error(400, "invalid_request_error", message), 5);
    says(&failure, "invalid", &["does not support tools"]);
    assert_eq!(asked, 1);
}

#[test]
fn a_context_that_is_too_long_is_overflow() {
    let message = "This model's maximum context length is 8192 tokens. However, your messages \
                   resulted in 9000 tokens.";
    let (failure, asked, _) = fails(Answer::error(400, "context_length_exceeded", message), 5);
    says(&failure, "overflow", &[]);
    assert_eq!(asked, 1);
}

#[test]
fn a_redirect_is_not_followed() {
    let odd = Answer::Status {
        code: 307,
        headers: vec![("location", "http://127.0.0.1:9/elsewhere".to_owned())],
        body: String::new(),
    };
    let (failure, asked, _) = fails(odd, 5);
    assert_ne!(failure["class"], "crashed", "{failure}");
    assert_eq!(asked, 1, "{failure}");
}

#[test]
fn a_stream_cut_in_a_character_or_before_its_end_is_had_again() {
    let said = || Said { text: "Die Straße ist lang.".to_owned(), ..Said::default() };
    for place in [Cut::InCharacter, Cut::BeforeFinish] {
        assert_eq!(recovers(Answer::Cut(said(), place)), 2, "{place:?}");
        let (failure, asked, _) = fails(Answer::Cut(said(), place), 5);
        says(&failure, "transient", &[]);
        assert_eq!(asked, 2, "{place:?}");
    }
}

#[test]
fn a_call_that_is_cut_is_never_carried_out() {
    let call = Call::new("write", &json!({ "path": "half.txt", "content": "Straße" }));
    let said = Said { calls: vec![call], ..Said::default() };
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let script = disturbed(Answer::Cut(said, Cut::BeforeFinish), 1);
    let _finished = begin(&place, &repository, &model, script).run().expect_code(0);
    assert!(!repository.has("half.txt"));
}

#[test]
fn an_answer_without_end_is_cut_off_and_the_model_reminded() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let run = begin(&place, &repository, &model, |asked: &Asked| match asked.answers() {
        0 => work(0),
        1 if asked.reminder().is_none() => Answer::Endless,
        _ => {
            let reminder = asked.reminder().expect("it is told");
            assert!(reminder.contains("too long"), "{reminder}");
            Answer::yields(&json!("done"))
        }
    });
    let finished = run.run().expect_code(0);
    let size = std::fs::metadata(log(&place, &finished)).expect("there is a log").len();
    assert!(size < 8_000_000, "{size}");
    place.expect_nothing_left(&repository);
}

fn log(place: &Sandbox, finished: &Finished) -> std::path::PathBuf {
    let artifacts = place.home().data().join("artifacts").join(finished.run_name());
    artifacts.join("t1").join("session.jsonl")
}

#[test]
fn a_model_that_goes_on_for_ever_in_every_answer_breaks_its_contract() {
    let (failure, asked, _) = fails(Answer::Endless, 5);
    says(&failure, "contract", &["too long"]);
    assert_eq!(asked, 4);
}

/// Runs an agent that makes `calls` in its second turn and checks with `look` what it reads then.
/// Returns the files that it wrote: their names and what is in them.
fn reads(calls: Vec<Call>, look: impl Fn(&[String]) + Send + 'static) -> Vec<(String, String)> {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let run = begin(&place, &repository, &model, move |asked: &Asked| match asked.answers() {
        0 => work(0),
        1 => Answer::calls(calls.clone()),
        2 => {
            look(&asked.results());
            Answer::yields(&json!("done"))
        }
        more => panic!("{more} answers"),
    });
    let finished = run.run();
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{finished}");
    let _finished = finished.expect_code(0);
    place.expect_nothing_left(&repository);
    let changed = repository.git(&["status", "--porcelain", "--untracked-files=all"]);
    let paths = changed.lines().map(|line| line[3..].to_owned());
    paths.map(|path| (path.clone(), repository.text(&path))).collect()
}

fn file(path: &str, text: &str) -> (String, String) {
    (path.to_owned(), text.to_owned())
}

#[test]
fn arguments_that_are_no_json_are_an_error_that_the_model_reads() {
    for arguments in ["{\"path\": \"a", "[1]", "", "not at all"] {
        let call = Call { id: None, name: "read".to_owned(), arguments: arguments.to_owned() };
        let files = reads(vec![call], |results| {
            assert_eq!(results.len(), 1, "{results:?}");
            assert!(results[0].contains("path") || results[0].contains("JSON"), "{results:?}");
        });
        assert_eq!(files, [file("new.txt", "new\n")]);
    }
}

#[test]
fn an_unknown_tool_is_an_error_that_lists_those_there_are() {
    for name in ["search_web", "read file", "", "read\u{1b}[31m", &"x".repeat(300)] {
        let call = Call { id: None, name: name.to_owned(), arguments: "{}".to_owned() };
        let files = reads(vec![call], |results| {
            assert_eq!(results.len(), 1, "{results:?}");
            assert!(results[0].contains("edit") && results[0].contains("bash"), "{results:?}");
            assert!(!results[0].contains('\u{1b}'), "{results:?}");
        });
        assert_eq!(files, [file("new.txt", "new\n")]);
    }
}

#[test]
fn two_calls_with_one_identity_are_two_calls() {
    let write = |path: &str| {
        Call::new("write", &json!({ "path": path, "content": "x\n" })).with_id("twice")
    };
    let files = reads(vec![write("one.txt"), write("two.txt")], |results| {
        assert_eq!(results.len(), 2, "{results:?}");
        assert!(results[0].contains("one.txt") && results[1].contains("two.txt"), "{results:?}");
    });
    let new = file("new.txt", "new\n");
    assert_eq!(files, [new, file("one.txt", "x\n"), file("two.txt", "x\n")]);
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
    assert_eq!(model.requests(), 0);
    assert_eq!(place.home().workspaces(), Vec::<String>::new());
}

#[test]
fn a_server_that_lists_nothing_or_other_names_is_asked_all_the_same() {
    for listed in [None, Some(["another-name"].as_slice())] {
        let place = sandbox();
        let repository = place.repository();
        let model = LoopbackModel::start();
        model.list(listed);
        let run = begin(&place, &repository, &model, |asked: &Asked| work(asked.answers()));
        let _finished = run.run().expect_code(0);
        assert_eq!(repository.text("new.txt"), "new\n", "{listed:?}");
    }
}
