//! What answers where a model cannot be had: the next key of its provider, then the fallbacks that a
//! plan or the settings name.

use std::time::Duration;

use serde_json::json;
use test_limit::{Depth, by_depth, depth, seed, slowdown};
use tests::model::{Answer, Asked, Call, LoopbackModel, Said, Wire, marker};
use tests::sandbox::{Finished, Plan, Repository, Sandbox};

use crate::binary::models::directory::write_models;
use crate::binary::sandbox;

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
pub(crate) fn id_of(wire: Wire) -> &'static str {
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

pub(crate) fn write(path: &str) -> Call {
    Call::new("write", &json!({ "path": path, "content": "größe\n" }))
}

pub(crate) fn gone() -> Answer {
    Answer::error(401, "invalid_api_key", "Incorrect API key provided")
}

/// Two servers, and the APIs over which a task begins and ends.
struct Change {
    name: String,
    from: (Wire, LoopbackModel),
    to: (Wire, LoopbackModel),
}

impl Change {
    fn new((from, to): (Wire, Wire)) -> Self {
        let name = format!("{from:?}-{to:?}").to_lowercase();
        let (first, second) = (LoopbackModel::start(), LoopbackModel::start());
        let file = format!("{name}.txt");
        let again = file.clone();
        first.talk(&name, move |asked: &Asked| match asked.answers() {
            0 => thinks("one", vec![write(&file), read("README.md")]),
            _ => gone(),
        });
        second.talk(&name, move |asked: &Asked| match asked.answers() {
            1 => thinks("two", vec![read(&again)]),
            _ => Answer::yields(&json!("done")),
        });
        Self { name, from: (from, first), to: (to, second) }
    }

    /// Returns the bytes of each request, without the id of the session.
    fn requests(&self, place: &Sandbox, finished: &Finished) -> Vec<String> {
        let asked = [&self.from, &self.to].into_iter();
        let asked = asked.flat_map(|(_, server)| server.asked(&self.name));
        let session = finished_session(place, finished, &self.name);
        let text =
            |asked: Asked| String::from_utf8_lossy(&asked.bytes).replace(&session, "SESSION");
        asked.map(text).collect()
    }
}

/// Does a task for each pair of APIs, which begins with one and ends with the other. Returns the bytes of
/// their requests, without the ids of the sessions.
fn change(pairs: &[(Wire, Wire)]) -> Vec<Vec<String>> {
    let place = sandbox();
    let repository = place.repository();
    let changes: Vec<_> = pairs.iter().copied().map(Change::new).collect();
    let (mut yaml, mut chains) = ("providers:\n".to_owned(), String::new());
    let mut plan = Plan::default();
    for Change { name, from, to } in &changes {
        yaml += &provider(&format!("{name}-1"), &from.1, from.0);
        yaml += &provider(&format!("{name}-2"), &to.1, to.0);
        let (first, second) = (id_of(from.0), id_of(to.0));
        chains += &format!("    {name}-1/{first}: [{name}-2/{second}]\n");
        plan = plan.agent(name, &format!("Do it. {}", marker(name)));
        plan = plan.with(&format!("model = '{name}-1/{first}:high'"));
    }
    write_models(&place, &yaml);
    place.home().configure(&format!(
        "retry:\n  maxRetries: 1\n  baseDelayMs: 10\n  fallbackChains:\n{chains}"
    ));
    let finished = place.run_plan(&repository, &plan).run().expect_code(0);
    for Change { name, from, to } in &changes {
        for (_, server) in [from, to] {
            assert_eq!(server.take_violations(), Vec::<String>::new(), "{name}: {finished}");
        }
        assert_eq!(repository.text(format!("{name}.txt")), "größe\n", "{name}");
    }
    changes.iter().map(|change| change.requests(&place, &finished)).collect()
}

fn finished_session(place: &Sandbox, finished: &Finished, task: &str) -> String {
    let head = &place.home().session(&finished.run_name(), task)[0];
    let id = head["id"].as_str().expect("a session has an id");
    format!("session_{}", id.replace('-', ""))
}

/// Returns pairs of different APIs: all in full depth, and else one from each and one to each.
pub(crate) fn pairs() -> Vec<(Wire, Wire)> {
    let all = (1..4).flat_map(|step| (0..4).map(move |at| (at, (at + step) % 4)));
    let all = all.map(|(from, to)| (Wire::ALL[from], Wire::ALL[to]));
    let step = usize::try_from(seed() % 3).unwrap_or(0);
    let some: Vec<_> = all.clone().skip(4 * step).take(4).collect();
    by_depth(some, all.collect())
}

#[test]
fn a_task_goes_on_with_its_fallback_over_any_other_api_and_its_requests_are_always_the_same() {
    let pairs = pairs();
    assert_eq!(pairs.len(), by_depth(4, 12));
    let (once, again) = (change(&pairs), change(&pairs));
    for ((pair, requests), again) in pairs.iter().zip(&once).zip(&again) {
        assert_eq!(requests.len(), 4, "{pair:?}");
        assert_eq!(requests, again, "{pair:?}");
    }
}

/// Starts two servers and a task whose first model fails with `odd` after it has written a file.
fn fails_with(odd: Answer) -> (Finished, LoopbackModel, Sandbox, Repository) {
    let place = sandbox();
    let repository = place.repository();
    let (first, second) = (LoopbackModel::start(), LoopbackModel::start());
    write_two(&place, (&first, Wire::Completions), (&second, Wire::Messages));
    first.talk("t1", move |asked: &Asked| match asked.answers() {
        0 => thinks("one", vec![write("new.txt")]),
        _ => odd.clone(),
    });
    second.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let finished = place.run_plan(&repository, &plan(&["t1"])).run();
    assert_eq!(second.take_violations(), Vec::<String>::new(), "{finished}");
    (finished, second, place, repository)
}

#[test]
fn what_cannot_be_had_is_answered_by_the_fallback_and_what_is_wrong_or_refused_is_not() {
    let status = |code, kind: &str, message: &str| Answer::error(code, kind, message);
    let far = status(429, "rate_limit_error", "slow down").with_header("retry-after", "86400");
    let cases = [
        ("key", gone(), true),
        ("quota", status(429, "insufficient_quota", "You exceeded your current quota"), true),
        ("far-reset", far, true),
        ("outage", status(503, "server_error", "busy"), true),
        ("no-such-model", status(404, "model_not_found", "no such model"), true),
        ("wrong", status(400, "invalid_request_error", "what?"), false),
        ("filter", status(400, "content_filter", "content_filter"), false),
    ];
    let place = sandbox();
    let repository = place.repository();
    let second = LoopbackModel::start();
    second.otherwise(|_| Box::new(|_: &Asked| Answer::yields(&json!("done"))));
    let mut yaml = format!("providers:\n{}", provider("second", &second, Wire::Messages));
    let mut plan = Plan::default().top(&format!("fallback = ['second/{}']", id_of(Wire::Messages)));
    let mut firsts = Vec::new();
    for (name, odd, _) in cases.clone() {
        let (first, file) = (LoopbackModel::start(), format!("{name}.txt"));
        first.talk(name, move |asked: &Asked| match asked.answers() {
            0 => thinks("one", vec![write(&file)]),
            _ => odd.clone(),
        });
        yaml += &provider(name, &first, Wire::Completions);
        plan = plan.agent(name, &format!("Do it. {}", marker(name)));
        plan = plan.with(&format!("model = '{name}/{}:high'", id_of(Wire::Completions)));
        firsts.push(first);
    }
    write_models(&place, &yaml);
    place.home().configure("retry:\n  maxRetries: 1\n  baseDelayMs: 10\n");
    let finished = place.run_plan(&repository, &plan).run().expect_code(3);
    assert_eq!(second.take_violations(), Vec::<String>::new(), "{finished}");
    let told = finished.events_of("degraded");
    for (name, _, falls_back) in cases {
        let end = &finished.task(name)["outcome"];
        assert_eq!(end == "done", falls_back, "{name}: {finished}");
        let times = usize::from(falls_back);
        assert_eq!(second.asked(name).len(), times, "{name}: {finished}");
        let from = format!("{name}/{}", id_of(Wire::Completions));
        let told = told.iter().filter(|event| event["from"] == *from).count();
        assert_eq!(told, times, "{name}: {finished}");
    }
}

#[test]
fn a_fallback_is_told_in_events_table_runs_and_log_and_costs_what_it_costs() {
    let (finished, second, place, repository) = fails_with(gone());
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
    let run = place.run_in(&repository).arg(format!("t1=Do it. {}", marker("t1"))).run();
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
    test_limit::waits("a server does not answer");
    let place = sandbox();
    let repository = place.repository();
    let (first, second) = (LoopbackModel::start(), LoopbackModel::start());
    write_two(&place, (&first, Wire::Completions), (&second, Wire::Messages));
    if depth() != Depth::Full {
        let outage = Duration::from_millis(500).mul_f64(slowdown()).as_millis();
        let retry = format!("retry:\n  maxRetries: 1\n  baseDelayMs: 10\n  outage: {outage}ms\n");
        place.home().configure(&retry);
    }
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
    // A model at an address of the plan is looked for; one that the file defines is not.
    let there = format!("base_url = '{}'", first.base_url());
    drop(first);
    second.talk("t1", |_: &Asked| Answer::yields(&json!("done")));
    let run = |plan: &Plan| place.run_plan(&repository, plan).run();
    let top = Plan::default().top("model = 'first/loop:high'").top(&there);
    let top = top.top(&format!("fallback = ['second/{}']", id_of(Wire::Messages)));
    let finished = run(&top.agent("t1", &format!("Do it. {}", marker("t1")))).expect_code(0);
    assert!(
        finished.stderr.contains("the model first/loop:high is not available now: "),
        "{finished}"
    );
    assert_eq!(finished.task("t1")["fallbacks"][0]["model"], "second/claude-sonnet-4-5");
    // Without a fallback it is an error before the run.
    let alone = Plan::default().top("model = 'first/loop'").top(&there).agent("t1", "Do it.");
    run(&alone).expect_refusal(&["cannot use the model first/loop"]);
}
