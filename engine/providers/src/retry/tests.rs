use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::stream;
use protocol::{Failure, StopReason};
use tokio::time::Instant;

use super::*;
use crate::piece::Whole;
use crate::trial::{all, clock, end, retries};

fn voice() -> Voice {
    Voice { api: "test", route: "x/y".parse().unwrap(), clock: clock() }
}

fn trouble(class: FailureClass) -> Piece {
    Piece::Broken(Trouble::new(class, "because"))
}

fn whole(text: &str) -> Piece {
    let content = vec![Part::Text { text: text.to_owned() }];
    let usage = Usage { input: 3, ..Usage::ZERO };
    Piece::Whole(Whole { content, usage, stop_reason: StopReason::Stop })
}

/// Gives the first attempt, then the second, and so on; the last again and again.
fn attempts(attempts: Vec<Vec<Piece>>) -> impl Fn() -> Attempt + Send + 'static {
    let count = AtomicU32::new(0);
    move || {
        let at = count.fetch_add(1, Ordering::Relaxed) as usize;
        Box::pin(stream::iter(attempts[at.min(attempts.len() - 1)].clone()))
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_work_a_moment_later_is_tried_again_and_waits_longer_each_time() {
    let began = Instant::now();
    let said = Piece::Text("he".to_owned());
    let answers = vec![
        vec![said, trouble(FailureClass::Transient)],
        vec![trouble(FailureClass::Transient)],
        vec![],
        vec![Piece::Alive, whole("hello")],
    ];
    let events = all(persist(voice(), Terms::default(), attempts(answers))).await;
    assert_eq!(events.len(), 5, "{events:?}");
    let waits = events.iter().filter_map(|event| match event {
        ModelEvent::Retrying { attempt, after, .. } => Some((*attempt, after.as_secs())),
        _ => None,
    });
    assert_eq!(waits.collect::<Vec<_>>(), [(1, 2), (2, 4), (3, 8)]);
    assert_eq!(began.elapsed().as_secs(), 14);
    let message = end(&events).unwrap();
    assert_eq!((message.text(), message.usage.input), ("hello".to_owned(), 3));
    // The first attempt had begun, and nobody knows what it cost.
    assert_eq!(message.usage.cost, None);
}

#[tokio::test(start_paused = true)]
async fn the_fourth_failure_is_the_last_and_what_came_is_kept() {
    let said = [Piece::Thinking("h".to_owned()), Piece::Thinking("m".to_owned())];
    let last: Vec<_> = said.into_iter().chain([trouble(FailureClass::Transient)]).collect();
    let events = all(persist(voice(), Terms::default(), attempts(vec![last]))).await;
    assert_eq!(retries(&events).len(), 3);
    let Some(ModelEvent::Failed { failure, partial }) = events.last() else { panic!() };
    assert_eq!(*failure, Failure::new(FailureClass::Transient, "because"));
    assert_eq!(partial.content, [Part::Thinking { thinking: "hm".to_owned() }]);
    assert_eq!(partial.stop_reason, StopReason::Error);
    assert_eq!(partial.error_message.as_deref(), Some("because"));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_get_better_is_not_tried_again() {
    for class in [
        FailureClass::Quota,
        FailureClass::Auth,
        FailureClass::Refused,
        FailureClass::Overflow,
        FailureClass::Invalid,
    ] {
        let events =
            all(persist(voice(), Terms::default(), attempts(vec![vec![trouble(class)]]))).await;
        assert_eq!(events.len(), 1);
        assert_eq!(end(&events).unwrap_err().class, class);
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_for_patience_gets_it_up_to_a_limit() {
    let asked = |seconds| {
        let wait = Some(Duration::from_secs(seconds));
        let trouble = Trouble::new(FailureClass::Transient, "busy");
        vec![vec![Piece::Broken(Trouble { wait, ..trouble })], vec![whole("ok")]]
    };
    for (seconds, waited) in [(1, Some(2)), (45, Some(45)), (60, Some(60)), (61, None)] {
        let began = Instant::now();
        let events = all(persist(voice(), Terms::default(), attempts(asked(seconds)))).await;
        let took = end(&events).is_ok().then(|| began.elapsed().as_secs());
        assert_eq!(took, waited, "{seconds}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_says_nothing_is_given_up() {
    let silent = || -> Attempt { Box::pin(stream::pending()) };
    let began = Instant::now();
    let events = all(persist(voice(), Terms::default(), silent)).await;
    assert_eq!(end(&events).unwrap_err().class, FailureClass::Transient);
    assert_eq!(end(&events).unwrap_err().message, "the model said nothing for 100s");
    assert_eq!(began.elapsed().as_secs(), 4 * 100 + 14);
    let begins = || -> Attempt {
        let said = stream::iter([Piece::Text("a".to_owned())]);
        Box::pin(said.chain(stream::pending()))
    };
    let watchdog = Watchdog { idle: Duration::from_millis(1500), ..Watchdog::default() };
    let terms = Terms { watchdog, ..Terms::default() };
    let events = all(persist(voice(), terms, begins)).await;
    assert_eq!(end(&events).unwrap_err().message, "the model said nothing for 1.5s");
}

#[tokio::test(start_paused = true)]
async fn without_a_watchdog_it_is_waited_for_ever() {
    let late = || -> Attempt {
        Box::pin(stream::once(async {
            tokio::time::sleep(Duration::from_secs(86_400)).await;
            whole("late")
        }))
    };
    let watchdog = Watchdog { first_event: Duration::ZERO, idle: Duration::ZERO };
    let events = all(persist(voice(), Terms { watchdog, ..Terms::default() }, late)).await;
    assert_eq!(end(&events).unwrap().text(), "late");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_stream_ends_the_attempt_at_once() {
    struct Guard(Arc<AtomicU32>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&dropped);
    let mut stream = persist(voice(), Terms::default(), move || {
        let guard = Guard(Arc::clone(&count));
        Box::pin(stream::unfold(guard, |guard| async {
            tokio::task::yield_now().await;
            Some((Piece::Text("a".to_owned()), guard))
        }))
    });
    assert_eq!(stream.next().await, Some(ModelEvent::Text("a".to_owned())));
    drop(stream);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
}
