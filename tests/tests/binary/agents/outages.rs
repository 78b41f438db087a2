//! Accounts that do not answer for a while: an outage, and a quota that is used up.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use test_limit::{Depth, by_depth, depth, slowdown};
use tests::model::{Answer, Asked, LoopbackModel, Pace, Script as _};

use super::gates::{agents, begin, turns};
use super::work::run_with;
use crate::binary::sandbox;

/// Has all requests fail, and returns when each came.
fn fail_all(model: &LoopbackModel) -> Arc<Mutex<Vec<Instant>>> {
    let came: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let log = Arc::clone(&came);
    model.pace(Pace::Events);
    model.otherwise(move |_| {
        let log = Arc::clone(&log);
        Box::new(move |_: &Asked| {
            log.lock().expect("nobody panics").push(Instant::now());
            Answer::error(503, "server_error", "down")
        })
    });
    came
}

/// Returns how long an outage lasts until everything that waits fails: longer than the pause before the
/// first probe, and than a busy machine needs until all have asked.
fn outage() -> Duration {
    Duration::from_secs(by_depth(0, 3)) + Duration::from_millis(100) + whole_seconds(slowdown())
}

fn whole_seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.round().max(1.0))
}

#[test]
fn in_an_outage_one_request_at_a_time_asks_and_all_end_soon() {
    test_limit::waits("an outage lasts a while");
    let place = sandbox();
    let repository = place.repository();
    let (agents, outage) = (by_depth(6, 32), outage().as_millis());
    place.home().configure(&format!("retry:\n  outage: {outage}ms\n  baseDelayMs: 10\n"));
    let model = LoopbackModel::start();
    let _came = fail_all(&model);
    let began = Instant::now();
    let finished = begin(&place, &repository, &model, ("t", agents)).run().expect_code(5);
    test_limit::took_at_most(began.elapsed(), Duration::from_secs(60), &finished);
    let failures = finished.events_of("task_finished");
    assert_eq!(failures.len(), agents);
    assert!(failures.iter().all(|end| end["failure"]["class"] == "transient"), "{finished}");
    // Each asks once until three have failed, or twice; then there is a probe after a second, and
    // after three.
    assert!(model.requests() <= agents + 8, "{}", model.requests());
    let says = |value: &Value, words: &str| value.as_str().is_some_and(|it| it.contains(words));
    let told = |event: &Value| says(&event["line"], "waits until loopback at");
    assert!(finished.events().iter().any(told), "{finished}");
    let given_up = |end: &Value| says(&end["failure"]["message"], "nothing was answered for");
    assert!(failures.iter().any(given_up), "{finished}");
}

#[test]
fn after_an_outage_all_that_wait_end_and_nothing_more_is_started() {
    test_limit::waits("an outage lasts a while");
    let place = sandbox();
    let repository = place.repository();
    // Without a setting it is one after 45 seconds.
    let (tasks, jobs) = by_depth((6, 4), (40, 32));
    let outage = by_depth(outage(), Duration::from_secs(45));
    if depth() != Depth::Full {
        place.home().configure(&format!("retry:\n  outage: {}ms\n", outage.as_millis()));
    }
    let model = LoopbackModel::start();
    let came = fail_all(&model);
    let plan = agents("t", tasks);
    let run = run_with(&place, &repository, &plan, &model).arg("--jobs").arg(jobs.to_string());
    let began = Instant::now();
    let finished = run.run().expect_code(5);
    let came = came.lock().expect("nobody panics");
    let (took, lasted) = (began.elapsed(), came[0].elapsed());
    assert!(took > outage, "{took:?}");
    test_limit::took_at_most(lasted, outage + Duration::from_secs(15), "the outage");
    // Three failures are an outage. What each job has asked for by then still comes, at most once a job. After
    // that, each request comes after the one before has failed and a pause that grows from one second to
    // eight: there is one at a time.
    let gaps: Vec<_> = came.windows(2).map(|two| two[1] - two[0]).collect();
    let pause = Duration::from_millis(900);
    let at_once = gaps.iter().rposition(|gap| *gap <= pause).map_or(1, |last| last + 2);
    assert!(at_once <= jobs, "{gaps:?}");
    assert!(came.len() - at_once <= 8, "{gaps:?}");
    let ended = finished.events_of("task_finished");
    assert_eq!(ended.len(), tasks);
    assert!(ended.iter().all(|end| end["failure"]["class"] == "transient"), "{finished}");
    let events = finished.events();
    let over = |event: &Value| event["failure"]["detail"]["type"] == "outage";
    let first = events.iter().position(over).expect("the outage ends tasks");
    let starts = |event: &&Value| event["type"] == "workspace_ready";
    assert_eq!(events[first..].iter().filter(starts).count(), 0, "{finished}");
    // What is told is how long it was at that moment.
    let told = |end: &&Value| {
        let message = end["failure"]["message"].as_str().unwrap_or_default();
        let told = message.strip_prefix("it was not started: nothing was answered for ");
        let seconds = told.and_then(|told| told.split(" s: ").next()?.parse::<u64>().ok());
        seconds.is_some_and(|seconds| seconds >= outage.as_secs())
    };
    let begun = events.iter().filter(starts).count();
    assert!((jobs..jobs + 4).contains(&begun), "one that has asked five times makes room: {begun}");
    assert_eq!(ended.iter().filter(told).count(), tasks - begun, "{finished}");
    // Who asks again finds out at once whether it is over.
    model.otherwise(|_| Box::new(turns(1)));
    let agents = by_depth(2, 8);
    let again = begin(&place, &repository, &model, ("again", agents)).run().expect_code(0);
    assert_eq!(again.events_of("run_finished")[0]["done"], agents);
}

/// What a model with a quota remembers.
#[derive(Default)]
struct QuotaLog {
    answered: usize,
    /// When the quota was used up.
    spent: Option<Instant>,
    /// When each request was refused.
    refused: Vec<Instant>,
}

#[test]
fn a_quota_that_ends_in_the_middle_of_a_run_is_waited_for_and_each_turn_is_asked_for_once() {
    test_limit::waits("a quota begins again after a while");
    let reset = Duration::from_millis(by_depth(600, 5_000));
    // The quota is used up after so many answers.
    let (agents, each, most) = by_depth((5, 3, 7), (8, 4, 13));
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    model.pace(Pace::Events);
    let quota: Arc<Mutex<QuotaLog>> = Arc::default();
    let log = Arc::clone(&quota);
    model.otherwise(move |_| {
        let (log, mut turn) = (Arc::clone(&log), turns(each));
        Box::new(move |asked: &Asked| {
            let mut quota = log.lock().expect("nobody panics");
            let QuotaLog { answered, spent, refused } = &mut *quota;
            if *answered == most && spent.is_none_or(|spent| spent.elapsed() < reset) {
                let spent = spent.get_or_insert_with(Instant::now);
                let left = reset.saturating_sub(spent.elapsed());
                refused.push(Instant::now());
                let spent =
                    Answer::error(429, "insufficient_quota", "You exceeded your current quota");
                return spent.with_header("retry-after-ms", (left.as_millis() + 1).to_string());
            }
            *answered += 1;
            turn.next(asked)
        })
    });
    let began = Instant::now();
    let finished = begin(&place, &repository, &model, ("t", agents)).run().expect_code(0);
    assert!(began.elapsed() > reset, "{finished}");
    assert_eq!(finished.events_of("run_finished")[0]["done"], agents);
    for at in 0..agents {
        let said = model.said(&format!("t{at}"));
        let answered = said.iter().filter(|(_, answer)| answer.said().is_some());
        let turns: Vec<_> = answered.map(|(asked, _)| asked.answers()).collect();
        assert_eq!(
            turns,
            (0..each).collect::<Vec<_>>(),
            "each turn is answered once, and none is asked for again"
        );
    }
    let quota = quota.lock().expect("nobody panics");
    let QuotaLog { answered, refused, .. } = &*quota;
    let late = refused.last().expect("it was used up").duration_since(refused[0]);
    // Those that were refused had been on their way.
    assert!(*answered == agents * each && refused.len() <= agents, "{refused:?}");
    test_limit::took_at_most(late, Duration::from_secs(1), "they had been on their way");
    assert_eq!(model.requests(), answered + refused.len());
}
