//! How fast a session answers an abort, with real requests, files and processes: from a stalled answer,
//! a command, a compaction, the delay of a retry, and while it waits for other requests.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use engine::compaction::{CompactionPolicy, Threshold};
use engine::ports::CancelLevel;
use engine::request::{RequestPolicy, RetryPolicy};
use protocol::{AgentEnd, SessionEvent};
use serde_json::json;
use test_limit::{by_depth, took_at_most};
use tests::fakes::{TestSession, input};
use tests::model::{Answer, Asked, LoopbackModel, Said, Tokens, Wire, marker};

use super::engine::{SessionEngine, SessionPolicies};

/// How often each abort is measured, and how many of the tries may be late, because the machine or its
/// disk is busy at that moment.
fn tries() -> (usize, usize) {
    by_depth((5, 2), (10, 4))
}

/// How long an abort may take: one that is not late, and every one.
const MOST: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(10));

/// The times that aborts took.
#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    /// Aborts the work of a session, and waits until that has ended.
    async fn abort(&mut self, it: &mut TestSession) {
        let began = Instant::now();
        it.session.abort(CancelLevel::Gently);
        assert_eq!(it.end().await, AgentEnd::Aborted);
        self.0.push(began.elapsed());
    }

    fn check(mut self, what: &str) {
        let (tries, late) = tries();
        assert_eq!(self.0.len(), tries);
        self.0.sort();
        let (usual, worst) = (self.0[tries - 1 - late], self.0[tries - 1]);
        took_at_most(usual, MOST.0, format!("{what}: {:?}", self.0));
        took_at_most(worst, MOST.1, format!("{what}: {:?}", self.0));
    }
}

fn prompt() -> protocol::UserInput {
    input(&format!("Do it. {}", marker("s")))
}

#[test(flavor = "multi_thread")]
async fn an_abort_of_a_stalled_answer_is_answered_at_once_and_keeps_what_has_come() {
    let model = LoopbackModel::start();
    model.talk("s", |_: &Asked| Answer::begun("half a "));
    let engine = SessionEngine::open(SessionPolicies::default()).await;
    let mut it = engine.session("one", &model, Wire::Completions).await;
    let mut times = Times::default();
    for _ in 0..tries().0 {
        it.session.prompt(prompt());
        it.until_said("half a").await;
        times.abort(&mut it).await;
    }
    it.session.close().await;
    times.check("a stalled answer");
    let log = fs::read_to_string(engine.log("one")).expect("there is a file");
    let kept = log.lines().filter(|line| line.contains("\"aborted\"") && line.contains("half a"));
    assert_eq!(kept.count(), tries().0);
}

#[test(flavor = "multi_thread")]
async fn an_abort_of_a_command_is_answered_at_once_and_the_next_command_starts_when_it_is_gone() {
    let model = LoopbackModel::start();
    let pid_file: Arc<Mutex<PathBuf>> = Arc::default();
    let file = Arc::clone(&pid_file);
    let mut number = 0;
    model.talk("s", move |_: &Asked| {
        // What an earlier call has started is gone when the model is asked again.
        if let Ok(pid) = fs::read_to_string(&*file.lock().expect("nobody panics")) {
            let alive = PathBuf::from(format!("/proc/{}", pid.trim())).exists();
            assert!(!alive, "process {} of try {number}", pid.trim());
        }
        number += 1;
        // Every fourth has to be killed, which takes as long as a command may take to end.
        let trap = if number % 4 == 0 { "trap '' TERM; " } else { "" };
        let wait = "while :; do sleep 0.05; done";
        let script = format!("{trap}echo $$ > pid.new; mv pid.new pid; {wait}");
        Answer::call("bash", &json!({ "command": script }))
    });
    let engine = SessionEngine::open(SessionPolicies::default()).await;
    *pid_file.lock().expect("nobody panics") = engine.folder().join("pid");
    let mut it = engine.session("one", &model, Wire::Completions).await;
    let (mut times, mut before) = (Times::default(), String::new());
    for _ in 0..tries().0 {
        it.session.prompt(prompt());
        it.find(|event| matches!(event, SessionEvent::ToolExecutionStart { .. }).then_some(()))
            .await;
        test_limit::eventually(Duration::from_secs(60), "a process", || {
            let pid = fs::read_to_string(engine.folder().join("pid")).unwrap_or_default();
            let is_new = pid != before;
            before = pid;
            is_new
        });
        times.abort(&mut it).await;
    }
    it.session.close().await;
    assert!(!PathBuf::from(format!("/proc/{}", before.trim())).exists());
    times.check("a command");
    assert_eq!(model.take_violations(), [""; 0]);
}

#[test(flavor = "multi_thread")]
async fn an_abort_of_a_compaction_is_answered_at_once_and_leaves_the_conversation() {
    let model = LoopbackModel::start();
    let used = Tokens { prompt: 5_000, completion: 10, ..Tokens::default() };
    model.talk("s", move |asked: &Asked| match asked.is_summary() {
        true => Answer::Silence,
        false => {
            Answer::Says(Said { text: "long ".repeat(4_000), tokens: used, ..Said::default() })
        }
    });
    let threshold = Threshold::Tokens(4_000);
    let compaction =
        CompactionPolicy { threshold, keep_recent: 1_000, ..CompactionPolicy::default() };
    let policies = SessionPolicies { compaction, ..SessionPolicies::default() };
    let engine = SessionEngine::open(policies).await;
    let mut it = engine.session("one", &model, Wire::Completions).await;
    it.session.prompt(prompt());
    assert_eq!(it.end().await, tests::fakes::silent());
    let (mut times, mut by_hand) = (Times::default(), Times::default());
    for round in 0..tries().0 {
        let summaries = |asked: usize| {
            let asked_for = || model.asked("s").iter().filter(|it| it.is_summary()).count();
            test_limit::eventually(Duration::from_secs(60), "a summary", || asked_for() == asked);
        };
        it.session.prompt(prompt());
        summaries(2 * round + 1);
        times.abort(&mut it).await;
        let compacting = it.session.compact(None);
        let aborting = async {
            tokio::task::block_in_place(|| summaries(2 * round + 2));
            let began = Instant::now();
            it.session.abort(CancelLevel::Gently);
            began
        };
        let (compacted, began) = tokio::join!(compacting, aborting);
        by_hand.0.push(began.elapsed());
        let refused = compacted.expect_err("it was aborted").message;
        assert_eq!(refused, "the compaction was aborted");
    }
    it.session.close().await;
    times.check("a compaction");
    by_hand.check("a compaction that was asked for");
    let log = fs::read_to_string(engine.log("one")).expect("there is a file");
    assert!(!log.contains("\"type\":\"compaction\""));
}

#[test(flavor = "multi_thread")]
async fn an_abort_of_the_delay_of_a_retry_is_answered_at_once() {
    let model = LoopbackModel::start();
    model.talk("s", |_: &Asked| Answer::error(500, "server_error", "not now"));
    let base_delay = Duration::from_secs(60);
    let retry = RetryPolicy { base_delay, ..RetryPolicy::default() };
    let requests = RequestPolicy { retry, outage: None, ..RequestPolicy::default() };
    let policies = SessionPolicies { requests, ..SessionPolicies::default() };
    let engine = SessionEngine::open(policies).await;
    let mut it = engine.session("one", &model, Wire::Completions).await;
    let mut times = Times::default();
    for _ in 0..tries().0 {
        it.session.prompt(prompt());
        it.find(|event| match event {
            SessionEvent::AutoRetryStart { .. } | SessionEvent::RequestWait { .. } => Some(()),
            _ => None,
        })
        .await;
        times.abort(&mut it).await;
    }
    it.session.close().await;
    times.check("the delay of a retry");
}

#[test(flavor = "multi_thread")]
async fn an_abort_of_a_request_that_waits_for_others_is_answered_at_once() {
    let model = LoopbackModel::start();
    model.talk("first", |_: &Asked| Answer::Silence);
    let requests = RequestPolicy {
        concurrency: Some(std::num::NonZeroUsize::MIN),
        ..RequestPolicy::default()
    };
    let policies = SessionPolicies { requests, ..SessionPolicies::default() };
    let engine = SessionEngine::open(policies).await;
    let mut first = engine.session("first", &model, Wire::Completions).await;
    first.session.prompt(input(&marker("first")));
    first.find(|event| matches!(event, SessionEvent::TurnStart { .. }).then_some(())).await;
    test_limit::eventually(Duration::from_secs(60), "a request", || model.requests() == 1);
    let mut it = engine.session("one", &model, Wire::Completions).await;
    let mut times = Times::default();
    for _ in 0..tries().0 {
        it.session.prompt(prompt());
        it.find(|event| matches!(event, SessionEvent::RequestWait { .. }).then_some(())).await;
        times.abort(&mut it).await;
    }
    assert_eq!(model.requests(), 1, "none of those that waited was sent");
    it.session.close().await;
    first.session.close().await;
    times.check("a request that waits");
}
