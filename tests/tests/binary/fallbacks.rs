//! What answers where a model cannot be had: the next key of its provider, then the fallbacks that a
//! plan or the settings name.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use tests::model::{Answer, Asked, Call, LoopbackModel, Said, Wire, marker};
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use super::models::write_models;
use super::sandbox;

/// Returns one provider of the file of models.
fn provider(name: &str, server: &LoopbackModel, wire: Wire) -> String {
    let (api, url, id) = (wire.name(), server.url_of(wire), id_of(wire));
    format!(
        "  {name}:\n    baseUrl: {url}\n    api: {api}\n    apiKey: key-of-{name}-123\n    models:\n      \
         - {{ id: {id}, reasoning: true, thinking: {{ minLevel: low, maxLevel: medium }}, \
         cost: {{ input: 1000, output: 1000 }} }}\n"
    )
}

/// Returns the id of a model that thinks, by which some of its API's rules are told.
pub(super) fn id_of(wire: Wire) -> &'static str {
    wire.route().split_once('/').expect("a route has a provider").1
}

/// Writes a file of models with the providers `first` and `second`.
fn write_two(place: &Sandbox, first: (&LoopbackModel, Wire), second: (&LoopbackModel, Wire)) {
    let (first, second) =
        (provider("first", first.0, first.1), provider("second", second.0, second.1));
    write_models(place, &format!("providers:\n{first}{second}"));
    place.home().configure("retry:\n  maxRetries: 1\n  baseDelayMs: 10\n");
}

fn plan(tasks: &[&str]) -> Plan {
    let top = Plan::default().top(&format!("model = 'first/{}:high'", id_of(Wire::Completions)));
    let top = top.top(&format!("fallback = ['second/{}']", id_of(Wire::Messages)));
    tasks.iter().fold(top, |plan, task| plan.agent(task, &format!("Do it. {}", marker(task))))
}

fn read(path: &str) -> Call {
    Call::new("read", &json!({ "path": path }))
}

fn thinks(text: &str, calls: Vec<Call>) -> Answer {
    // No two providers give the same id.
    let named = |(at, call): (usize, Call)| call.with_id(&format!("call_{text}_{at}"));
    Answer::Says(Said {
        thinking: format!("About {text}: überlegt"),
        text: format!("I do {text}."),
        calls: calls.into_iter().enumerate().map(named).collect(),
        ..Said::default()
    })
}

fn write(path: &str) -> Call {
    Call::new("write", &json!({ "path": path, "content": "größe\n" }))
}

fn gone() -> Answer {
    Answer::error(401, "invalid_api_key", "Incorrect API key provided")
}

/// Does a task that begins with one API and ends with another. Returns the bytes of each request,
/// without the id of the session.
fn change(from: Wire, to: Wire) -> Vec<String> {
    let place = sandbox();
    let repository = place.repository();
    let (first, second) = (LoopbackModel::start(), LoopbackModel::start());
    write_two(&place, (&first, from), (&second, to));
    first.talk("t1", |asked: &Asked| match asked.answers() {
        0 => thinks("one", vec![write("new.txt"), read("README.md")]),
        _ => gone(),
    });
    second.talk("t1", |asked: &Asked| match asked.answers() {
        1 => thinks("two", vec![read("new.txt")]),
        _ => Answer::yields(&json!("done")),
    });
    let plan = Plan::default()
        .top(&format!("model = 'first/{}:high'", id_of(from)))
        .top(&format!("fallback = ['second/{}']", id_of(to)))
        .agent("t1", &format!("Do it. {}", marker("t1")));
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    for server in [&first, &second] {
        assert_eq!(
            server.take_violations(),
            Vec::<String>::new(),
            "{from:?} to {to:?}: {finished}"
        );
    }
    assert_eq!(repository.text("new.txt"), "größe\n", "{from:?} to {to:?}");
    let asked = first.asked("t1").into_iter().chain(second.asked("t1"));
    let session = finished_session(&place, &finished);
    let text = |asked: Asked| String::from_utf8_lossy(&asked.bytes).replace(&session, "SESSION");
    asked.map(text).collect()
}

fn finished_session(place: &Sandbox, finished: &Finished) -> String {
    let head = &place.home().session(&finished.run_name(), "t1")[0];
    let id = head["id"].as_str().expect("a session has an id");
    format!("session_{}", id.replace('-', ""))
}

#[test]
fn a_task_goes_on_with_its_fallback_over_any_other_api_and_its_requests_are_always_the_same() {
    let mut pairs = 0;
    for from in Wire::ALL {
        for to in Wire::ALL.into_iter().filter(|to| *to != from) {
            let requests = change(from, to);
            assert_eq!(requests.len(), 4, "{from:?} to {to:?}");
            assert_eq!(requests, change(from, to), "{from:?} to {to:?}");
            pairs += 1;
        }
    }
    assert_eq!(pairs, 12);
}

/// Starts two servers and a task whose first model fails with `odd` after it has written a file.
fn fails_with(odd: Answer, config: &str) -> (Finished, Arc<LoopbackModel>, Sandbox, Repository) {
    let place = sandbox();
    let repository = place.repository();
    let (first, second) = (LoopbackModel::start(), LoopbackModel::start());
    write_two(&place, (&first, Wire::Completions), (&second, Wire::Messages));
    if !config.is_empty() {
        place.home().configure(config);
    }
    first.talk("t1", move |asked: &Asked| match asked.answers() {
        0 => thinks("one", vec![write("new.txt")]),
        _ => odd.clone(),
    });
    second.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let finished = place.run_plan(&repository, &plan(&["t1"])).run();
    assert_eq!(second.take_violations(), Vec::<String>::new(), "{finished}");
    (finished, Arc::new(second), place, repository)
}

#[test]
fn what_cannot_be_had_is_answered_by_the_fallback_and_what_is_wrong_or_refused_is_not() {
    let status = |code, kind: &str, message: &str| Answer::error(code, kind, message);
    let far = status(429, "rate_limit_error", "slow down").with_header("retry-after", "86400");
    let cases = [
        ("a key", gone(), true),
        ("a quota", status(429, "insufficient_quota", "You exceeded your current quota"), true),
        ("a far reset", far, true),
        ("an outage", status(503, "server_error", "busy"), true),
        ("no such model", status(404, "model_not_found", "no such model"), true),
        ("what is wrong", status(400, "invalid_request_error", "what?"), false),
        ("a filter", status(400, "content_filter", "content_filter"), false),
    ];
    for (what, odd, falls_back) in cases {
        let (finished, second, ..) = fails_with(odd, "");
        let code = if falls_back { 0 } else { 5 };
        let finished = finished.expect_code(code);
        assert_eq!(second.requests(), usize::from(falls_back), "{what}: {finished}");
        assert_eq!(finished.events_of("degraded").len(), usize::from(falls_back), "{what}");
    }
}

#[test]
fn a_fallback_is_told_in_events_table_runs_and_log_and_costs_what_it_costs() {
    let (finished, second, place, repository) = fails_with(gone(), "");
    let finished = finished.expect_code(0);
    let told = finished.events_of("degraded");
    let to = "second/claude-sonnet-4-5 is asked in its place";
    assert_eq!((&told[0]["from"], &told[0]["to"]), (&json!("first/loop"), &json!(to)), "{told:?}");
    assert!(told[0]["why"].as_str().is_some_and(|why| why.contains("401")), "{told:?}");
    let end = finished.task("t1");
    let answered = &end["fallbacks"][0];
    assert_eq!(answered["model"], "second/claude-sonnet-4-5", "{end}");
    assert_eq!(end["turns"], 2, "{end}");
    let used = second.used("t1");
    let tokens = (used.prompt + used.completion) as f64;
    assert_eq!(answered["usage"]["cost"].as_f64().map(|cost| (cost * 1e3).round()), Some(tokens));
    let shown = |words: &str| place.regatta(repository.root()).words(words).run().expect_code(0);
    let runs = shown("runs show");
    assert!(runs.stdout.contains("answered by second/claude-sonnet-4-5"), "{runs}");
    let runs = shown("runs show --json");
    assert!(runs.stdout.contains("\"fallbacks\""), "{runs}");
    let log = shown("logs");
    assert!(log.stdout.contains("another model answers"), "{log}");
    let models = place.home().session(&finished.run_name(), "t1").into_iter();
    let models = models.filter(|entry| entry["type"] == "model_change");
    let models: Vec<_> = models.map(|entry| entry["model"].clone()).collect();
    assert_eq!(models, [json!("first/loop"), json!("second/claude-sonnet-4-5")]);
}

#[test]
fn a_session_that_a_fallback_has_answered_goes_on_with_its_own_model() {
    let place = sandbox();
    let (first, second) = (LoopbackModel::start(), LoopbackModel::start());
    write_two(&place, (&first, Wire::Completions), (&second, Wire::Messages));
    place.home().configure(
        "modelRoles:\n  default: first/loop\nretry:\n  fallbackChains:\n    default: \
         [second/claude-sonnet-4-5]\n",
    );
    first.talk("s", |asked: &Asked| match asked.answers() {
        0 => gone(),
        _ => Answer::text("It is back."),
    });
    second.talk("s", |_: &Asked| Answer::text("In its place."));
    let session = |words: &str| place.regatta(place.folder()).arg("-p").words(words);
    let answered = session("").arg(marker("s")).run().expect_code(0);
    assert_eq!(answered.stdout, "In its place.\n", "{answered}");
    let told = "second/claude-sonnet-4-5 is asked in place of first/loop";
    assert!(answered.stderr.contains(told), "{answered}");
    let again = session("-c").arg("And now?").run().expect_code(0);
    assert_eq!((again.stdout.as_str(), second.requests()), ("It is back.\n", 1), "{again}");
}

#[test]
fn the_settings_name_fallbacks_too_and_one_without_a_key_is_told_before_the_run() {
    let place = sandbox();
    let repository = place.repository();
    let (first, second) = (LoopbackModel::start(), LoopbackModel::start());
    write_two(&place, (&first, Wire::Completions), (&second, Wire::Messages));
    place.home().configure(
        "modelRoles:\n  default: first/loop:high\nretry:\n  fallbackChains:\n    default: \
         [groq/x, second/claude-sonnet-4-5]\n",
    );
    first.talk("t1", |_: &Asked| gone());
    second.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let run = place.run_in(&repository).arg(format!("Do it. {}", marker("t1"))).run();
    let finished = run.expect_code(0);
    assert_eq!(finished.task("t1")["fallbacks"][0]["model"], "second/claude-sonnet-4-5");
    // It thinks as much as the model that it replaces, as far as it can.
    assert_eq!(second.asked("t1")[0].native["thinking"]["budget_tokens"], 8_192);
    let note = "note: the fallback groq/x of first/loop is not used: no key";
    assert!(finished.stderr.contains(note), "{finished}");
}

#[test]
fn a_plan_whose_fallback_is_not_there_or_has_no_key_is_refused() {
    let place = sandbox();
    let repository = place.repository();
    let (first, second) = (LoopbackModel::start(), LoopbackModel::start());
    write_two(&place, (&first, Wire::Completions), (&second, Wire::Messages));
    for (fallback, words) in [
        ("groq/x", ["cannot use the model groq/x", "GROQ_API_KEY"]),
        ("nobody/x", ["cannot use the model nobody/x", "no provider is called `nobody`"]),
    ] {
        let plan = Plan::default().top("model = 'first/loop'");
        let plan = plan.top(&format!("fallback = ['{fallback}']")).agent("t1", "Do it.");
        place.run_plan(&repository, &plan).run().expect_refusal(&words);
    }
    let plan = Plan::default().top("fallback = 'a/b'").agent("t1", "Do it.");
    place.run_plan(&repository, &plan).run().expect_refusal(&["2:12", "expected a list"]);
    assert_eq!((first.requests(), second.requests()), (0, 0));
}

#[test]
fn a_server_that_ends_in_mid_run_is_followed_by_the_fallback_and_every_task_is_done() {
    let place = sandbox();
    let repository = place.repository();
    let (first, second) = (LoopbackModel::start(), LoopbackModel::start());
    write_two(&place, (&first, Wire::Completions), (&second, Wire::Messages));
    let names: Vec<String> = (1..=6).map(|at| format!("t{at}")).collect();
    for name in &names {
        let file = format!("{name}.txt");
        first.talk(name, move |asked: &Asked| match asked.answers() {
            0 => thinks("one", vec![write(&file)]),
            _ => Answer::Silence,
        });
        second.talk(name, |_: &Asked| Answer::yields(&json!("done")));
    }
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut run = place.run_plan(&repository, &plan(&all)).start();
    for _ in &all {
        run.until_event("a file is written", |event| event["event"]["type"] == "turn_end");
    }
    drop(first);
    let finished = run.wait().expect_code(0);
    assert_eq!(finished.events_of("degraded").len(), 1, "{finished}");
    assert_eq!(finished.landed().len(), 6, "{finished}");
    assert_eq!(second.take_violations(), Vec::<String>::new(), "{finished}");
    place.expect_nothing_left(&repository);
}

#[test]
fn a_server_that_is_not_there_at_the_start_is_told_and_the_fallback_does_the_task() {
    let place = sandbox();
    let repository = place.repository();
    let (first, second) = (LoopbackModel::start(), LoopbackModel::start());
    write_two(&place, (&first, Wire::Completions), (&second, Wire::Messages));
    drop(first);
    second.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let finished = place.run_plan(&repository, &plan(&["t1"])).run().expect_code(0);
    assert!(
        finished.stderr.contains("the model first/loop:high cannot be had now: "),
        "{finished}"
    );
    assert_eq!(finished.task("t1")["fallbacks"][0]["model"], "second/claude-sonnet-4-5");
    // Without a fallback it is an error before the run.
    let alone = Plan::default().top("model = 'first/loop'").agent("t1", "Do it.");
    place.run_plan(&repository, &alone).run().expect_refusal(&["cannot use the model first/loop"]);
}

/// What becomes of 200 tasks at 8 when a key is revoked in mid-run.
struct Revoked {
    finished: Finished,
    /// The requests with the key after that.
    further: usize,
    /// Whether the work of the last task is in the tree.
    has_last: bool,
}

fn revoke(second_key: Option<&str>) -> Revoked {
    let place = sandbox();
    let repository = place.repository();
    let server = LoopbackModel::start();
    write_models(
        &place,
        &format!(
            "providers:\n  gate: {{ baseUrl: '{}', apiKey: unused-123456, api: openai-completions, \
             models: [{{ id: m }}, {{ id: n }}] }}\n",
            server.base_url()
        ),
    );
    for (name, key) in [("one", Some("key-one-123456")), ("two", second_key)] {
        let Some(key) = key else { continue };
        let login = place.regatta(repository.root()).words("login gate --as").arg(name);
        let _done = login.stdin(key).run().expect_code(0);
    }
    let (is_revoked, further) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (revoked, count) = (Arc::clone(&is_revoked), Arc::clone(&further));
    server.otherwise(move |talk| {
        let (revoked, count, file) =
            (Arc::clone(&revoked), Arc::clone(&count), format!("{talk}.txt"));
        Box::new(move |asked: &Asked| {
            if asked.key.as_deref() == Some("key-one-123456") && revoked.load(Ordering::SeqCst) {
                count.fetch_add(1, Ordering::SeqCst);
                return gone();
            }
            match asked.answers() {
                0 => Answer::calls(vec![write(&file)]),
                _ => Answer::yields(&json!("done")),
            }
        })
    });
    // Every second task asks another model with the same key.
    let plan = (1..=200).fold(Plan::default().top("model = 'gate/m'"), |plan, at| {
        let plan = plan.agent(&format!("t{at}"), &marker(&format!("t{at}")));
        if at % 2 == 0 { plan.with("model = 'gate/n'") } else { plan }
    });
    let mut run = place.run_plan(&repository, &plan).words("--jobs 8").start();
    for _ in 0..10 {
        run.until("task_finished");
    }
    is_revoked.store(true, Ordering::SeqCst);
    let finished = run.wait();
    let further = further.load(Ordering::SeqCst);
    Revoked { finished, further, has_last: repository.has("t200.txt") }
}

#[test]
fn a_key_that_is_revoked_in_mid_run_costs_each_running_task_one_request_and_all_work_is_kept() {
    let Revoked { finished, further, .. } = revoke(None);
    let finished = finished.expect_code(3);
    assert!((1..=8).contains(&further), "{further}: {finished}");
    let made = finished.events_of("workspace_ready").len();
    let ended = finished.events_of("task_finished");
    assert_eq!(ended.len(), 200);
    let begun = ended.iter().filter(|end| end["capture"].is_string()).count();
    assert_eq!(begun, made, "all work is kept");
    let done = ended.iter().filter(|end| end["outcome"] == "done").count();
    assert!(made <= done + 8, "{made} workspaces for {done} tasks that are done and 8 that ran");
    let unbegun = |end: &&Value| {
        end["failure"]["message"].as_str().is_some_and(|it| it.starts_with("it was not started:"))
    };
    assert_eq!(ended.iter().filter(unbegun).count(), 200 - made, "{finished}");
}

#[test]
fn with_a_second_key_every_task_lands_although_the_first_is_revoked_and_that_is_told_once() {
    let Revoked { finished, further, has_last } = revoke(Some("key-two-123456"));
    let finished = finished.expect_code(0);
    assert!((1..=8).contains(&further), "{further}: {finished}");
    assert_eq!(finished.landed().len(), 200);
    assert!(has_last);
    let told = finished.events_of("degraded");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        (&told[0]["from"], &told[0]["to"]),
        (
            &json!("the stored key one of gate"),
            &json!("the stored key two of gate is asked in its place")
        )
    );
}
