//! The events of what sessions rarely do: crash, be compacted, go on from an earlier entry, and get
//! entries of programs. Each stream is within the grammar, and without one of its events it is not.

use actors::Events;
use engine::agent::{Navigation, SummaryOfLeft};
use engine::ports::CancelLevel;
use protocol::{EventKind, SessionEntry, SessionEvent};
use tests::event_grammar;
use tests::fakes::{HANGING_SUMMARY, TestEngine, TestSession, input, silent};

const LOG: &str = "/sessions/one.jsonl";

/// Opens a session, and a second reader of its events.
async fn open(engine: &TestEngine) -> (TestSession, Events) {
    let it = TestSession::open(engine, LOG.as_ref()).await;
    let all = it.events.another();
    (it, all)
}

/// Closes a session and returns all of its events.
async fn close(it: TestSession, mut all: Events) -> Vec<SessionEvent> {
    it.session.close().await;
    let mut events = Vec::new();
    while let Some(event) = all.recv().await {
        match &event.kind {
            EventKind::SessionEvent { task: None, event } => events.push(event.clone()),
            other => panic!("{other:?}"),
        }
    }
    events
}

/// Picks events.
type Wanted = fn(&SessionEvent) -> bool;

/// Checks that the events are within the grammar, and that they are not without, or with twice, the
/// first of those that are `wanted`.
fn expect_grammar(events: &[SessionEvent], wanted: &[Wanted]) {
    assert_eq!(event_grammar::check(events), Ok(()));
    for wanted in wanted {
        let at = events.iter().position(wanted).expect("it happened");
        let mut without = events.to_vec();
        let event = without.remove(at);
        assert!(event_grammar::check(&without).is_err(), "without {event:?}");
        let mut twice = events.to_vec();
        twice.insert(at, event.clone());
        assert!(event_grammar::check(&twice).is_err(), "twice {event:?}");
    }
}

#[test(flavor = "multi_thread")]
async fn a_crash_and_what_follows_it_are_within_the_grammar() {
    let engine = TestEngine::with_concurrency(1).await;
    let (mut it, all) = open(&engine).await;
    it.session.prompt(input("call fatal cling; call read; say done; say later"));
    it.session.follow_up(input("more"));
    assert_eq!(it.end().await, silent());
    it.session.wait_for_idle().await;
    let events = close(it, all).await;
    let restart = events.iter().position(|it| matches!(it, SessionEvent::SessionRestart { .. }));
    let mut without = events.clone();
    without.remove(restart.expect("it crashed"));
    expect_grammar(&events, &[]);
    assert!(event_grammar::check(&without).is_err(), "work begins twice without a crash");
}

#[test(flavor = "multi_thread")]
async fn compactions_that_end_and_that_are_aborted_are_within_the_grammar() {
    let engine = TestEngine::with_concurrency(1).await;
    let (mut it, all) = open(&engine).await;
    let long = "word ".repeat(24_000);
    for text in [format!("say one; say two; say three; {long}"), format!("more {long}")] {
        it.session.prompt(input(&text));
        assert_eq!(it.end().await, silent());
    }
    let compacting = it.session.compact(Some(HANGING_SUMMARY.to_owned()));
    let aborting = async {
        engine.models.until_asked(3).await;
        it.session.abort(CancelLevel::Gently);
    };
    let (aborted, ()) = tokio::join!(compacting, aborting);
    aborted.expect_err("it was aborted");
    it.session.compact(None).await.expect("there is something to sum up");
    it.session.prompt(input("and now?"));
    assert_eq!(it.end().await, silent());
    let events = close(it, all).await;
    let starts = events.iter().filter(|it| matches!(it, SessionEvent::CompactionStart { .. }));
    assert_eq!(starts.count(), 2);
    expect_grammar(
        &events,
        &[
            |it| matches!(it, SessionEvent::CompactionStart { .. }),
            |it| matches!(it, SessionEvent::CompactionEnd { .. }),
        ],
    );
}

#[test(flavor = "multi_thread")]
async fn moves_and_entries_of_programs_are_within_the_grammar_only_while_nothing_works() {
    let engine = TestEngine::with_concurrency(1).await;
    let (mut it, all) = open(&engine).await;
    for text in ["say one; say two; say three", "a second"] {
        it.session.prompt(input(text));
        assert_eq!(it.end().await, silent());
    }
    let target = engine.logs.ids_at(LOG.as_ref())[3].clone();
    let label = SessionEntry::Label { target_id: target.clone(), label: Some("here".to_owned()) };
    it.session.append(label).await.expect("it is appended");
    let to = Navigation { target: Some(target), summary: SummaryOfLeft::AsSet, label: None };
    it.session.navigate(to).await.expect("it moves");
    it.session.prompt(input("a third"));
    assert_eq!(it.end().await, silent());
    let events = close(it, all).await;
    expect_grammar(&events, &[]);
    let changes: [Wanted; 2] = [
        |it| matches!(it, SessionEvent::SessionTree { .. }),
        |it| matches!(it, SessionEvent::EntryAppended { .. }),
    ];
    for wanted in changes {
        let at = events.iter().position(wanted).expect("it happened");
        let mut moved = events.clone();
        let change = moved.remove(at);
        let work = moved.iter().position(|it| matches!(it, SessionEvent::AgentStart)).unwrap_or(0);
        moved.insert(work + 1, change);
        assert!(event_grammar::check(&moved).is_err(), "the log changes while the model works");
    }
}
