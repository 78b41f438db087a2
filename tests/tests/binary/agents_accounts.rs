//! The limits of a provider account, which all agents of a run share.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::sandbox::Plan;

use super::agents::run_with;
use super::sandbox;

#[test]
fn a_retry_after_that_one_agent_gets_holds_for_all_of_its_account() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let turned_away: Arc<Mutex<Option<Instant>>> = Arc::default();
    let mut plan = Plan::default();
    for talk in ["t1", "t2", "t3", "t4"] {
        plan = plan.agent(talk, &marker(talk));
        let turned_away = Arc::clone(&turned_away);
        model.talk(talk, move |_: &Asked| {
            let mut turned_away = turned_away.lock().expect("nobody panics with it");
            let Some(since) = *turned_away else {
                *turned_away = Some(Instant::now());
                let limited = Answer::error(429, "rate_limit_exceeded", "Too many requests");
                return limited.with_header("retry-after", "5");
            };
            let waited = since.elapsed();
            drop(turned_away);
            assert!(waited >= Duration::from_secs(5), "{talk} asked after {waited:?}");
            Answer::yields(&json!("done"))
        });
    }
    let run = run_with(&place, &repository, &plan, &model);
    let finished = run.env("REGATTA_PROVIDER_MAX_CONCURRENCY", "1").run().expect_code(0);
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
