//! The limits of provider accounts, which the sessions of an engine share. The clock is paused.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use engine::exit_code::Interruption;
use engine::ports::{AttemptFailure, CancelLevel, FailureCause, ModelEvent};
use engine::request::RequestPolicy;
use protocol::{EventKind, FailureClass, Outcome, SessionEvent, TaskName, TaskSpec, Work};
use tests::fakes::{FakeAccounts, TestEngine, agent, yields};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

/// Returns a task that asks a model of this account once.
fn asks(account: &str, name: &str) -> TaskSpec {
    let mut task = agent(name, "");
    if let Work::Agent(agent) = &mut task.work {
        account.clone_into(&mut agent.model.provider);
    }
    task
}

fn at_a_time(concurrency: usize) -> RequestPolicy {
    RequestPolicy { concurrency: NonZeroUsize::new(concurrency), ..RequestPolicy::default() }
}

/// Too many requests; the account is to be left alone for 20 seconds.
fn limited() -> ModelEvent {
    let failed = AttemptFailure::new(FailureClass::Transient, "slow down");
    let wait = Some(SECOND * 20);
    ModelEvent::Failed(AttemptFailure { wait, cause: FailureCause::RateLimit, ..failed })
}

/// What was told of waits: the task, the attempt, the seconds.
type Waits = Vec<(TaskName, u32, u64)>;

/// Waits until the run has ended; returns how many tasks are done, and what was told of waits.
async fn end(engine: &mut TestEngine) -> (usize, Waits) {
    let mut waits = Vec::new();
    loop {
        match &engine.next().await.kind {
            EventKind::SessionEvent {
                task: Some(task),
                event: SessionEvent::AutoRetryStart { attempt, delay_ms, error_message, .. },
            } => {
                assert_eq!(error_message, "slow down");
                waits.push((task.clone(), *attempt, delay_ms / 1000));
            }
            EventKind::RunFinished { totals, .. } => return (totals.done, waits),
            _ => {}
        }
    }
}

#[test(start_paused = true)]
async fn a_wait_that_one_session_is_told_holds_for_its_account_and_for_no_other() {
    let began = Instant::now();
    let models = FakeAccounts::new(SECOND, |account, before| match (account, before) {
        ("slow", 0) => limited(),
        _ => yields(),
    });
    let mut engine = TestEngine::with_models(8, Arc::new(models.clone()), at_a_time(2), "").await;
    let slow = ["a", "b", "c", "d", "e"].map(|name| asks("slow", name));
    let free = ["x", "y", "z"].map(|name| asks("free", name));
    engine.submit(engine.spec(slow.into_iter().chain(free).collect())).await;
    let (done, waits) = end(&mut engine).await;
    assert_eq!(done, 8);
    let (slow, free) = (models.asked("slow"), models.asked("free"));
    // Two were under way when the first of them was turned away; no session asks before its time.
    let after = |at: &Instant| at.duration_since(began);
    let asked: Vec<_> = slow.at.iter().map(after).collect();
    assert_eq!((asked.len(), slow.peak), (6, 2));
    assert!(asked[1] < SECOND && asked[2] >= SECOND * 21, "{asked:?}");
    assert!(asked.iter().all(|at| *at < SECOND * 30), "{asked:?}");
    // All who wait know it: the one that was turned away, and three that had not asked yet.
    let again: Vec<_> = waits.iter().filter(|(_, attempt, _)| *attempt == 1).collect();
    let first: Vec<_> = waits.iter().filter(|(_, attempt, _)| *attempt == 0).collect();
    assert_eq!((again.len(), first.len()), (1, 3), "{waits:?}");
    assert!(waits.iter().all(|(_, _, seconds)| (19..=20).contains(seconds)), "{waits:?}");
    // The other account has other limits.
    assert_eq!((free.at.len(), free.peak), (3, 2));
    assert!(free.at.iter().map(after).all(|at| at < SECOND * 3), "{free:?}");
}

#[test(start_paused = true)]
async fn no_more_requests_of_an_account_are_under_way_than_may_be() {
    let models = FakeAccounts::new(SECOND, |_, _| yields());
    let mut engine = TestEngine::with_models(64, Arc::new(models.clone()), at_a_time(3), "").await;
    let tasks = (0..40).map(|number| asks("acme", &format!("t{number}"))).collect();
    engine.submit(engine.spec(tasks)).await;
    let busy = "waits for acme: 3 requests at a time are under way";
    let told = engine.find(|event| match event {
        EventKind::TaskProgress { line, .. } => {
            line.as_deref().filter(|line| *line == busy).map(drop)
        }
        _ => None,
    });
    told.await;
    let (done, waits) = end(&mut engine).await;
    assert_eq!((done, waits), (40, Vec::new()));
    let asked = models.asked("acme");
    assert_eq!((asked.at.len(), asked.peak, asked.under_way), (40, 3, 0));
}

#[test(start_paused = true)]
async fn a_task_says_for_which_reason_it_waits_now() {
    let models = FakeAccounts::new(SECOND, |_, before| match before {
        0 => limited(),
        _ => yields(),
    });
    let mut engine = TestEngine::with_models(8, Arc::new(models.clone()), at_a_time(1), "").await;
    engine.submit(engine.spec(vec![asks("acme", "a"), asks("acme", "b")])).await;
    let mut lines = Vec::new();
    loop {
        match &engine.next().await.kind {
            EventKind::TaskProgress { line, waits_for: Some(wait), .. } if wait.until.is_some() => {
                lines.push(line.clone().unwrap_or_default());
            }
            EventKind::RunFinished { totals, .. } if totals.done == 2 => break,
            _ => {}
        }
    }
    // One of them has waited until the other was answered before.
    assert!(lines.len() >= 2, "{lines:?}");
    assert!(lines.iter().all(|line| line == "waits for acme: slow down"), "{lines:?}");
}

#[test(start_paused = true)]
async fn without_a_limit_all_ask_at_once() {
    let models = FakeAccounts::new(SECOND, |_, _| yields());
    let requests = RequestPolicy::default();
    let mut engine = TestEngine::with_models(64, Arc::new(models.clone()), requests, "").await;
    let tasks = (0..40).map(|number| asks("acme", &format!("t{number}"))).collect();
    engine.run(tasks).await;
    assert_eq!(models.asked("acme").peak, 40);
}

#[test(start_paused = true)]
async fn who_gives_up_leaves_the_queue_and_gives_its_permit_back() {
    let models = FakeAccounts::new(SECOND * 50, |_, _| yields());
    let mut engine = TestEngine::with_models(8, Arc::new(models.clone()), at_a_time(1), "").await;
    let first = engine.submit(engine.spec(vec![asks("acme", "first")])).await;
    // Waiting for an event would let the paused clock go on, and with it the first answer.
    while models.asked("acme").at.is_empty() {
        tokio::task::yield_now().await;
    }
    let queued = engine.submit(engine.spec(vec![asks("acme", "queued")])).await;
    let last = engine.submit(engine.spec(vec![asks("acme", "last")])).await;
    for run in [queued, first] {
        engine.engine.controls(run.id).cancel(CancelLevel::Gently, Interruption::Interrupt);
    }
    loop {
        let event = engine.next().await;
        let EventKind::RunFinished { totals, .. } = &event.kind else { continue };
        assert_eq!(totals.done, usize::from(event.run() == Some(&last.name)), "{event:?}");
        if event.run() == Some(&last.name) {
            break;
        }
    }
    let asked = models.asked("acme");
    assert_eq!((asked.at.len(), asked.peak, asked.under_way), (2, 1, 0));
}

#[test(start_paused = true)]
async fn a_gate_that_crashes_holds_nobody_up() {
    let models = FakeAccounts::new(SECOND, |_, _| yields());
    let models = || Arc::new(models.clone());
    let tasks = || (0..10).map(|number| asks("acme", &format!("t{number}"))).collect();
    let mut engine = TestEngine::with_models(8, models(), at_a_time(2), "crash@gate:5").await;
    let (_, totals) = engine.run(tasks()).await;
    assert_eq!(totals.done, 10);
    assert_eq!(engine.engine.close().await, None, "the engine stands without it");
    let mut engine = TestEngine::with_models(8, models(), at_a_time(2), "crash@gate:*").await;
    let (reports, totals) = engine.run(tasks()).await;
    assert_eq!(totals.failed, 10);
    for (task, report) in reports {
        let Outcome::Failed { failure } = report.outcome else { panic!("{task}") };
        let message = "the request queue of acme crashed; it was asked 5 times";
        assert_eq!((failure.class, failure.message.as_str()), (FailureClass::Transient, message));
    }
}

#[test(start_paused = true)]
async fn what_a_request_waits_for_its_account_is_no_time_of_its_task() {
    let models = FakeAccounts::new(SECOND, |_, before| match before {
        0 => limited(),
        _ => yields(),
    });
    let requests = RequestPolicy::default();
    let mut engine = TestEngine::with_models(8, Arc::new(models.clone()), requests, "").await;
    let within = |name: &str, seconds: u64| {
        let mut task = asks("acme", name);
        task.limits.wall = Duration::from_secs(seconds);
        task
    };
    engine.submit(engine.spec(vec![within("patient", 5)])).await;
    assert_eq!(end(&mut engine).await.0, 1, "it waits 20 s, works 2 s, and has 5");
    let slow = FakeAccounts::new(SECOND * 60, |_, _| yields());
    let mut engine = TestEngine::with_models(8, Arc::new(slow), requests, "").await;
    engine.submit(engine.spec(vec![within("slow", 5)])).await;
    assert_eq!(end(&mut engine).await.0, 0, "what a model takes is time of its task");
}
