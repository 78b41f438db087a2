//! The limits of an account, shared by many agents and by several engines.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use tests::model::{Answer, Asked, Call, LoopbackModel, Pace, Said, Script, marker};
use tests::sandbox::{Invocation, Plan, Repository, Sandbox};

use super::agents::run_with;
use super::models::write_models;
use super::sandbox;

/// How long after a refusal a request may still come, on a machine that is busy: it was on its way.
const GRACE: Duration = Duration::from_millis(500);

/// Reads a file as many times as there are turns before the last, and yields.
fn turns(count: usize) -> impl Script {
    move |asked: &Asked| {
        if asked.answers() + 1 < count {
            let read = Call::new("read", &json!({ "path": "README.md" }));
            return Answer::Says(Said { calls: vec![read], ..Said::default() });
        }
        Answer::yields(&json!("done"))
    }
}

fn agents(names: &str, count: usize) -> Plan {
    (0..count).fold(Plan::default(), |plan, at| {
        let name = format!("{names}{at}");
        plan.agent(&name, &marker(&name))
    })
}

fn begin(
    place: &Sandbox,
    repository: &Repository,
    model: &LoopbackModel,
    (names, count): (&str, usize),
) -> Invocation {
    run_with(place, repository, &agents(names, count), model).words("--jobs 64")
}

/// Returns the account that `regatta gates --json` shows.
fn account(place: &Sandbox, repository: &Repository) -> Value {
    let shown = place.regatta(repository.root()).words("gates --json").run().expect_code(0);
    shown.json()["accounts"][0].clone()
}

#[test]
fn sixty_four_agents_share_a_limit_that_the_server_counts() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.pace(Pace::Events);
    model.otherwise(|_| Box::new(turns(3)));
    model.limit_many(60, Duration::from_secs(3), GRACE);
    let began = Instant::now();
    let finished = begin(&place, &repository, &model, ("t", 64)).run().expect_code(0);
    let took = began.elapsed();
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{took:?}");
    assert_eq!(finished.events_of("run_finished")[0]["done"], 64);
    assert_eq!(model.requests(), 64 * 3, "each turn was answered once");
    // 192 requests begin in four windows, the last of which need not be over.
    let needed = Duration::from_secs(9);
    assert!(took < needed.mul_f64(1.3) + Duration::from_secs(3), "{took:?}, {}", model.refused());
}

#[test]
fn two_engines_share_a_limit_also_when_one_of_them_is_killed() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.pace(Pace::Events);
    model.otherwise(|_| Box::new(turns(3)));
    model.limit_many(10, Duration::from_secs(2), GRACE);
    let mut killed = begin(&place, &repository, &model, ("a", 16)).start();
    let mut other = begin(&place, &repository, &model, ("b", 16)).start();
    for engine in [&mut killed, &mut other] {
        engine.until_event("a request waits", |event| event["event"]["type"] == "auto_retry_start");
    }
    let both = account(&place, &repository);
    assert_eq!((&both["provider"], &both["engines"]), (&json!("loopback"), &json!(2)), "{both}");
    assert!(both["waiting"].as_u64().is_some_and(|waiting| waiting > 0), "{both}");
    let _killed = killed.kill();
    let finished = other.wait().expect_code(0);
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{finished}");
    assert_eq!(finished.events_of("run_finished")[0]["done"], 16);
    let nobody = account(&place, &repository);
    assert_eq!((&nobody["engines"], &nobody["in_use"]), (&json!(0), &json!(0)), "{nobody}");
}

#[test]
fn in_an_outage_one_request_at_a_time_asks_and_all_end_soon() {
    let place = sandbox();
    let repository = place.repository();
    place.home().configure("retry:\n  outage: 4s\n  baseDelayMs: 10\n");
    let model = LoopbackModel::start();
    model.pace(Pace::Events);
    model.otherwise(|_| Box::new(|_: &Asked| Answer::error(503, "server_error", "down")));
    let began = Instant::now();
    let finished = begin(&place, &repository, &model, ("t", 32)).run().expect_code(5);
    assert!(began.elapsed() < Duration::from_secs(60), "{finished}");
    let failures = finished.events_of("task_finished");
    assert_eq!(failures.len(), 32);
    assert!(failures.iter().all(|end| end["failure"]["class"] == "transient"), "{finished}");
    // Each asks once until three have failed, or twice; then there is a probe after a second, and
    // after three.
    assert!(model.requests() <= 32 + 8, "{}", model.requests());
    let says = |value: &Value, words: &str| value.as_str().is_some_and(|it| it.contains(words));
    let told = |event: &Value| says(&event["line"], "waits until loopback at");
    assert!(finished.events().iter().any(told), "{finished}");
    let given_up = |end: &Value| says(&end["failure"]["message"], "nothing was answered for");
    assert!(failures.iter().any(given_up), "{finished}");
}

#[test]
fn the_limits_of_the_users_file_hold_and_a_cancel_ends_a_wait_at_once() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.otherwise(|_| Box::new(turns(1)));
    write_models(
        &place,
        &format!(
            "providers:\n  gate: {{ baseUrl: '{}', auth: none, api: openai-completions, \
             limits: {{ requestsPerMinute: 1 }}, models: [{{ id: m }}] }}\n",
            model.base_url()
        ),
    );
    let plan = agents("t", 2);
    let mut run = place.run_plan(&repository, &plan).words("--model gate/m").start();
    let wait = run.until_event("one waits for the other", |event| event["line"].is_string());
    let reason = wait["line"].as_str().unwrap_or_default();
    assert!(reason.contains("limit per minute of gate at http://127.0.0.1"), "{wait}");
    let shown = place.regatta(repository.root()).words("gates").run().expect_code(0);
    assert!(shown.stdout.contains("gate at http://127.0.0.1"), "{shown}");
    let cancelled = Instant::now();
    run.signal(Signal::INT);
    let finished = run.wait();
    // The minute is not over by then.
    assert!(cancelled.elapsed() < Duration::from_secs(30), "{finished}");
    assert!(model.requests() <= 1, "{finished}");
}

#[test]
fn no_task_begins_that_would_ask_with_a_key_that_is_revoked_and_all_work_is_kept() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.demand_key("canary-key");
    let revoked = |asked: &Asked| match asked.answers() {
        0 => {
            let write = json!({ "path": format!("{}.txt", asked.prompt().len()), "content": "a" });
            Answer::calls(vec![Call::new("write", &write)])
        }
        _ => Answer::error(401, "invalid_api_key", "Incorrect API key provided"),
    };
    model.otherwise(move |_| Box::new(revoked));
    let run = run_with(&place, &repository, &agents("t", 40), &model).words("--jobs 4");
    let finished = run.env("LOOPBACK_API_KEY", "canary-key").run().expect_code(5);
    let ended = finished.events_of("task_finished");
    assert_eq!(ended.len(), 40);
    assert!(ended.iter().all(|end| end["failure"]["class"] == "auth"), "{finished}");
    // While one ends, the next may begin: nobody knows how it ends.
    let made = finished.events_of("workspace_ready").len();
    assert!(made <= 8, "{made} workspaces: {finished}");
    assert!(model.requests() <= 2 * made, "{}", model.requests());
    assert_eq!(finished.events_of("task_captured").len(), made, "{finished}");
    let told = |end: &&serde_json::Value| {
        end["failure"]["message"].as_str().is_some_and(|it| it.starts_with("it was not started:"))
    };
    assert_eq!(ended.iter().filter(told).count(), 40 - made, "{finished}");
}
