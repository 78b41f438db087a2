//! A reader that does not read, without a runtime.

use protocol::{Phase, SessionId};

use super::*;

/// Publishes as a run or a session does.
struct Publisher {
    scope: EventScope,
    seq: u64,
}

impl Publisher {
    fn new(run: &str) -> Self {
        Self { scope: EventScope::Run(run.parse().unwrap()), seq: 0 }
    }

    fn session() -> Self {
        Self { scope: EventScope::Session(SessionId::generate()), seq: 0 }
    }

    fn publish(&mut self, backlog: &mut Backlog, kind: EventKind) {
        self.seq += 1;
        let at = Timestamp::from_millisecond(i64::try_from(self.seq).unwrap());
        backlog.push(Arc::new(Event { seq: self.seq, at, scope: Some(self.scope.clone()), kind }));
    }
}

fn task(number: usize) -> TaskName {
    format!("t{number}").parse().unwrap()
}

fn progress(number: usize, line: usize) -> EventKind {
    EventKind::TaskProgress {
        task: task(number),
        phase: Phase::Working,
        line: Some(line.to_string()),
        tool: None,
        tokens: None,
        waits_for: None,
    }
}

fn fact(number: usize) -> EventKind {
    EventKind::TaskYielded { task: task(number) }
}

fn turn(turn: u32) -> EventKind {
    let error_message = "x".repeat(1000);
    let event = SessionEvent::AutoRetryStart {
        attempt: turn,
        max_attempts: 4,
        delay_ms: 1,
        error_message,
        waits_for: None,
    };
    EventKind::SessionEvent { task: Some(task(1)), event }
}

fn read_all(backlog: &mut Backlog) -> Vec<Arc<Event>> {
    std::iter::from_fn(|| backlog.take()).collect()
}

/// Checks that the events of each run are numbered from 1, without gaps and in order of time.
fn expect_numbered(events: &[Arc<Event>]) {
    let mut last: BTreeMap<&ScopeKey, (u64, Timestamp)> = BTreeMap::new();
    for event in events {
        let before = last.insert(&event.scope, (event.seq, event.at));
        let (seq, at) = before.unwrap_or((0, event.at));
        assert_eq!(event.seq, seq + 1, "{event:?}");
        assert!(event.at >= at, "{event:?}");
    }
}

#[test]
fn a_reader_that_keeps_up_gets_every_event() {
    let (mut backlog, mut run) = (Backlog::default(), Publisher::new("r0000"));
    for line in 0..10 * UNREAD_PROGRESS_LIMIT {
        run.publish(&mut backlog, progress(line % 3, line));
        let event = backlog.take().unwrap();
        assert_eq!((&event.kind, event.seq), (&progress(line % 3, line), run.seq));
    }
    assert!(backlog.is_empty());
}

#[test]
fn a_reader_that_stands_still_keeps_every_fact_and_the_latest_progress_of_each_task() {
    let mut backlog = Backlog::default();
    let mut runs = [Publisher::new("r0000"), Publisher::new("r0001")];
    let tasks = 10;
    for line in 0..200_000 {
        let run = &mut runs[line % 2];
        run.publish(&mut backlog, progress(line % tasks, line));
        if line % 1000 == 0 {
            run.publish(&mut backlog, fact(line / 1000));
        }
        assert!(
            backlog.unread.len() <= UNREAD_PROGRESS_LIMIT + tasks + 200,
            "{}",
            backlog.unread.len()
        );
    }
    let events = read_all(&mut backlog);
    expect_numbered(&events);
    let facts = events.iter().filter(|event| matches!(event.kind, EventKind::TaskYielded { .. }));
    assert_eq!(facts.count(), 200);
    for (number, event) in events[events.len() - tasks..].iter().enumerate() {
        assert_eq!(event.kind, progress(number, 200_000 - tasks + number));
    }
    assert!(backlog.progress.is_empty());
    // Who has caught up is as good as any other.
    for line in 0..3 {
        runs[0].publish(&mut backlog, progress(1, line));
    }
    assert_eq!(read_all(&mut backlog).len(), 3);
}

#[test]
fn session_events_beyond_some_megabytes_are_left_out_and_counted() {
    let (mut backlog, mut run) = (Backlog::default(), Publisher::new("r0000"));
    run.publish(&mut backlog, fact(1));
    for number in 0..20_000 {
        run.publish(&mut backlog, turn(number));
    }
    run.publish(&mut backlog, fact(2));
    assert!(backlog.session_bytes <= SESSION_BYTES);
    let mut events = read_all(&mut backlog);
    expect_numbered(&events);
    assert_eq!(events.pop().map(|event| event.kind.clone()), Some(fact(2)));
    let note = events.pop().unwrap();
    let EventKind::Degraded { to, .. } = &note.kind else { panic!("{note:?}") };
    let kept = events.len() - 1;
    assert!(to.starts_with(&format!("{} of them are left out", 20_000 - kept)), "{to} of {kept}");
    assert!(kept > 4000, "{kept}");
    assert_eq!(backlog.session_bytes, 0);
    run.publish(&mut backlog, turn(1));
    assert_eq!(backlog.take().unwrap().kind, turn(1), "there is room again");
}

fn said(event: SessionEvent) -> EventKind {
    EventKind::SessionEvent { task: None, event }
}

fn text(text: &str) -> EventKind {
    said(SessionEvent::TextDelta { content_index: 0, delta: text.to_owned() })
}

#[test]
fn a_reader_of_a_session_that_stands_still_costs_no_more_than_the_facts() {
    let (mut backlog, mut session) = (Backlog::default(), Publisher::session());
    for turn in 1..=1_000 {
        session.publish(&mut backlog, text(&"x".repeat(10_000)));
        session.publish(&mut backlog, text(&"y".repeat(10_000)));
        session.publish(&mut backlog, said(SessionEvent::TurnEnd { turn }));
    }
    let events = read_all(&mut backlog);
    expect_numbered(&events);
    let (mut bytes, mut turns) = (0, 0);
    for event in events {
        match &event.kind {
            EventKind::SessionEvent { event: SessionEvent::TextDelta { delta, .. }, .. } => {
                bytes += delta.len();
            }
            kind => {
                turns += 1;
                assert_eq!(*kind, said(SessionEvent::TurnEnd { turn: turns }), "none is left out");
            }
        }
    }
    assert_eq!(turns, 1_000);
    assert!((200_000..=DELTA_BYTES + 20_000).contains(&bytes), "{bytes}");
    assert_eq!(backlog.delta_bytes, 0);
}

#[test]
fn deltas_of_one_session_that_are_not_read_yet_are_merged() {
    let mut backlog = Backlog::default();
    let (mut one, mut other) = (Publisher::session(), Publisher::session());
    for words in ["a", "b", "c"] {
        one.publish(&mut backlog, text(words));
    }
    other.publish(&mut backlog, text("d"));
    one.publish(&mut backlog, text("e"));
    let kinds: Vec<_> = read_all(&mut backlog).iter().map(|event| event.kind.clone()).collect();
    assert_eq!(kinds, [text("abc"), text("d"), text("e")]);
}
