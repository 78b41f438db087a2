//! The limits of a provider account, which all agents of a run share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use test_limit::{by_depth, eventually};
use tests::model::{Answer, Asked, LoopbackModel, Wire, marker};
use tests::sandbox::Plan;

use super::work::run_with;
use crate::binary::models::directory::write_models;
use crate::binary::sandbox;

#[test]
fn a_retry_after_that_one_agent_gets_holds_for_all_of_its_account() {
    test_limit::waits("a provider says when to come again");
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let turned_away: Arc<Mutex<Option<Instant>>> = Arc::default();
    let others_wait = Arc::new(AtomicBool::new(false));
    let mut plan = Plan::default();
    // What is said, and how long that is.
    let (header, said) = by_depth(("retry-after-ms", 600), ("retry-after", 5));
    let after = by_depth(Duration::from_millis(said), Duration::from_secs(said));
    for talk in ["t1", "t2", "t3", "t4"] {
        plan = plan.agent(talk, &marker(talk));
        let (turned_away, others_wait) = (Arc::clone(&turned_away), Arc::clone(&others_wait));
        model.talk(talk, move |_: &Asked| {
            let mut turned_away = turned_away.lock().expect("nobody panics with it");
            let Some(since) = *turned_away else {
                let wait = || others_wait.load(Ordering::SeqCst);
                eventually(Duration::from_secs(60), "the others wait for the only place", wait);
                *turned_away = Some(Instant::now());
                let limited = Answer::error(429, "rate_limit_exceeded", "Too many requests");
                return limited.with_header(header, said.to_string());
            };
            let waited = since.elapsed();
            drop(turned_away);
            assert!(waited >= after, "{talk} asked after {waited:?}");
            Answer::yields(&json!("done"))
        });
    }
    let run = run_with(&place, &repository, &plan, &model);
    let running = run.env("REGATTA_PROVIDER_MAX_CONCURRENCY", "1").start();
    eventually(Duration::from_secs(60), "three wait for the only place", || {
        let shown = place.regatta(repository.root()).words("gates --json").run().expect_code(0);
        shown.json()["accounts"][0]["waiting"] == 3
    });
    others_wait.store(true, Ordering::SeqCst);
    let finished = running.wait().expect_code(0);
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{finished}");
    assert_eq!(model.requests(), 5);
    let told = finished.events_of("session_event").into_iter().map(|event| event["event"].clone());
    let told: Vec<_> = told.filter(|event| event["type"] == "auto_retry_start").collect();
    let attempts = |attempt: u32| told.iter().filter(|it| it["attempt"] == attempt).count();
    assert_eq!((attempts(0), attempts(1)), (3, 1), "{told:?}");
    for event in &told {
        let message = event["errorMessage"].as_str().unwrap_or_default();
        assert!(message.contains("429 Too Many Requests"), "{event}");
    }
}

#[test]
fn a_run_honours_the_limits_that_a_provider_states_in_its_answers() {
    test_limit::waits("requests wait for the limits of their providers");
    // Anthropic tells times by its own clock, and says what that shows.
    let hour = Duration::from_secs(3600);
    std::thread::scope(|scope| {
        for (wire, behind) in [
            (Wire::Completions, Duration::ZERO),
            (Wire::Responses, Duration::ZERO),
            (Wire::Messages, hour),
        ] {
            // On a busy machine the requests may come so late that none of them has to wait.
            let what = "a request waits for a limit";
            let is_waited_for = move || honours_stated_limits(wire, behind);
            scope.spawn(move || eventually(Duration::from_secs(60), what, is_waited_for));
        }
    });
}

/// Runs tasks that share a stated limit. Returns whether one had to wait for it.
fn honours_stated_limits(wire: Wire, behind: Duration) -> bool {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.otherwise(|_| Box::new(|_: &Asked| Answer::yields(&json!("done"))));
    // One more in each second, after two. In quick depth, in each half of one.
    let each = Duration::from_millis(by_depth(500, 1_000));
    model.state_limits(2, 2 * each, behind);
    write_models(
        &place,
        &format!(
            "providers:\n  gate: {{ baseUrl: '{}', auth: none, api: {}, \
             limits: {{ concurrency: 1 }}, models: [{{ id: m }}] }}\n",
            model.url_of(wire),
            wire.name()
        ),
    );
    let tasks = by_depth(3, 5);
    let plan = (1..=tasks).fold(Plan::default(), |plan, at| {
        let name = format!("t{at}");
        plan.agent(&name, &marker(&name))
    });
    let began = Instant::now();
    let run = place.run_plan(&repository, &plan).words("--model gate/m").run();
    let took = began.elapsed();
    assert_eq!(model.take_violations(), Vec::<String>::new(), "{wire:?}: {run}");
    let finished = run.expect_code(0);
    assert_eq!(model.requests(), tasks, "{wire:?}: {finished}");
    assert_eq!(finished.events_of("run_finished")[0]["done"], tasks, "{wire:?}");
    // Times in whole seconds make each wait, of which there is one after two requests, up to a second
    // longer.
    let least = each * by_depth(1, 3) - Duration::from_millis(100);
    assert!(took >= least, "{wire:?}: {took:?}");
    let says = |event: &serde_json::Value| {
        event["event"]["errorMessage"].as_str() == Some("its limit is used up")
    };
    test_limit::took_at_most(took, Duration::from_secs(30), format!("{wire:?}"));
    finished.events().iter().any(says)
}
