use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::stream;
use protocol::{Failure, StopReason};
use tokio::time::Instant;

use super::*;
use crate::piece::Whole;
use crate::terms::{RetryPolicy, Watchdog};
use crate::trial::{all, clock, end, retries};

fn voice() -> Voice {
    Voice { api: "test", route: "x/y".parse().unwrap(), clock: clock() }
}

fn asked() -> Asked {
    let session = "session_0190a7c0de7b7c10a51f2b3c4d5e6f70".parse().unwrap();
    Asked { session, size: 400 }
}

/// How long this session waits before its first, second and third retry, in milliseconds.
const WAITS: [u64; 3] = [2294, 4800, 9667];

fn waits(events: &[ModelEvent]) -> Vec<(u32, u64)> {
    let waits = events.iter().filter_map(|event| match event {
        ModelEvent::Retrying { attempt, after, .. } => {
            Some((*attempt, u64::try_from(after.as_millis()).unwrap()))
        }
        _ => None,
    });
    waits.collect()
}

fn trouble(class: FailureClass) -> Piece {
    Piece::Broken(Trouble::new(class, "because"))
}

fn used(input: u64) -> Piece {
    Piece::Used(Usage { input, ..Usage::ZERO })
}

fn whole(text: &str) -> Piece {
    let content = vec![Part::Text { text: text.to_owned() }];
    Piece::Whole(Whole { content, stop_reason: StopReason::Stop })
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
        vec![Piece::Alive, used(3), whole("hello")],
    ];
    let events = all(persist(voice(), Terms::default(), asked(), attempts(answers))).await;
    assert_eq!(events.len(), 5, "{events:?}");
    assert_eq!(waits(&events), [(1, WAITS[0]), (2, WAITS[1]), (3, WAITS[2])]);
    assert_eq!(began.elapsed(), Duration::from_millis(WAITS.iter().sum()));
    let message = end(&events).unwrap();
    assert_eq!(message.text(), "hello");
    // The first attempt had begun: it had read 400 bytes, and nobody knows what that cost.
    let usage = Usage { input: 100 + 3, output: 1, cost: None, ..Usage::ZERO };
    assert_eq!(message.usage, usage);
}

#[tokio::test(start_paused = true)]
async fn the_fourth_failure_is_the_last_and_what_came_is_kept() {
    let said = [Piece::Thinking("h".to_owned()), Piece::Thinking("m".to_owned())];
    let last: Vec<_> = said.into_iter().chain([trouble(FailureClass::Transient)]).collect();
    let events = all(persist(voice(), Terms::default(), asked(), attempts(vec![last]))).await;
    assert_eq!(retries(&events).len(), 3);
    let Some(ModelEvent::Failed { failure, partial }) = events.last() else { panic!() };
    let told = "because; it was asked 4 times";
    assert_eq!(*failure, Failure::new(FailureClass::Transient, told));
    assert_eq!(partial.content, [Part::Thinking { thinking: "hm".to_owned() }]);
    assert_eq!(partial.stop_reason, StopReason::Error);
    assert_eq!(partial.error_message.as_deref(), Some(told));
}

#[tokio::test(start_paused = true)]
async fn how_often_it_was_asked_is_said_only_where_asking_again_has_not_helped() {
    let transient = || vec![trouble(FailureClass::Transient)];
    let told = |max_retries, answers| async move {
        let retry = RetryPolicy { max_retries, ..RetryPolicy::default() };
        let terms = Terms { retry, ..Terms::default() };
        let events = all(persist(voice(), terms, asked(), attempts(answers))).await;
        end(&events).unwrap_err().message.clone()
    };
    assert_eq!(told(1, vec![transient()]).await, "because; it was asked 2 times");
    assert_eq!(told(1, vec![vec![limited(None)]]).await, "too many; it was asked 31 times");
    assert_eq!(told(0, vec![transient()]).await, "because");
    let refused = vec![trouble(FailureClass::Refused)];
    assert_eq!(told(3, vec![transient(), refused]).await, "because");
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
            all(persist(voice(), Terms::default(), asked(), attempts(vec![vec![trouble(class)]])))
                .await;
        assert_eq!(events.len(), 1);
        assert_eq!(end(&events).unwrap_err().class, class);
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_for_patience_gets_it_up_to_a_limit() {
    let asks = |seconds| {
        let wait = Some(Duration::from_secs(seconds));
        let trouble = Trouble::new(FailureClass::Transient, "busy");
        vec![vec![Piece::Broken(Trouble { wait, ..trouble })], vec![whole("ok")]]
    };
    // What it asks for comes first, and what spreads the sessions after it.
    let after = WAITS[0] - 2000;
    let cases = [
        (1, Some(2000 + after)),
        (45, Some(45_000 + after)),
        (60, Some(60_000 + after)),
        (61, None),
    ];
    for (seconds, waited) in cases {
        let began = Instant::now();
        let events =
            all(persist(voice(), Terms::default(), asked(), attempts(asks(seconds)))).await;
        let took =
            end(&events).is_ok().then(|| u64::try_from(began.elapsed().as_millis()).unwrap());
        assert_eq!(took, waited, "{seconds}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_does_not_count_is_estimated() {
    let last = |events: &[ModelEvent]| match events.last() {
        Some(ModelEvent::Ended(message)) => message.usage,
        Some(ModelEvent::Failed { partial, .. }) => partial.usage,
        other => panic!("{other:?}"),
    };
    let refused = || trouble(FailureClass::Refused);
    let said = || [Piece::Text("a".repeat(10)), Piece::Thinking("b".repeat(10))];
    let about = |output| Usage { input: 100, output, cost: None, ..Usage::ZERO };
    let counted = Usage { input: 3, ..Usage::ZERO };
    let cases = [
        (vec![whole("x")], about(0)),
        (said().into_iter().chain([Piece::Wrote(80), whole("x")]).collect(), about(25)),
        (said().into_iter().chain([used(3), whole("x")]).collect(), counted),
        (vec![Piece::Calling("a".to_owned()), Piece::Wrote(8), refused()], about(2)),
        (vec![Piece::Wrote(0), refused()], about(0)),
        (vec![Piece::Wrote(8), used(3), refused()], counted),
        // Nothing of an answer came.
        (vec![Piece::Alive, refused()], Usage::ZERO),
        (vec![refused()], Usage::ZERO),
    ];
    for (pieces, expected) in cases {
        let shown = format!("{pieces:?}");
        let events = all(persist(voice(), Terms::default(), asked(), attempts(vec![pieces]))).await;
        assert_eq!(last(&events), expected, "{shown}");
    }
    // Nor is it lost of one that falls silent in the middle.
    let falls_silent = || -> Attempt {
        let said = stream::iter([Piece::Wrote(40)]);
        Box::pin(said.chain(stream::pending()))
    };
    let events = all(persist(voice(), Terms::default(), asked(), falls_silent)).await;
    assert_eq!(last(&events), Usage { input: 400, output: 40, cost: None, ..Usage::ZERO });
}

fn limited(wait: Option<Duration>) -> Piece {
    let trouble = Trouble::new(FailureClass::Transient, "too many");
    Piece::Broken(Trouble { wait, pace: Pace::TooFast, ..trouble })
}

#[tokio::test(start_paused = true)]
async fn a_provider_with_too_many_requests_is_asked_more_often() {
    let tried = |max_retries, answers| async move {
        let retry = RetryPolicy { max_retries, ..RetryPolicy::default() };
        let terms = Terms { retry, ..Terms::default() };
        let events = all(persist(voice(), terms, asked(), attempts(answers))).await;
        (retries(&events).len(), end(&events).is_ok())
    };
    let turned_away = |times: usize| vec![vec![limited(None)]; times];
    let then = |answers: Vec<_>, last| answers.into_iter().chain([vec![last]]).collect::<Vec<_>>();
    assert_eq!(tried(3, then(turned_away(30), whole("ok"))).await, (30, true));
    assert_eq!(tried(3, turned_away(1)).await, (30, false));
    assert_eq!(tried(40, turned_away(1)).await, (40, false));
    // Who does not want to ask again does not.
    assert_eq!(tried(0, turned_away(1)).await, (0, false));
    // Another trouble after it is retried as often as ever.
    let other = trouble(FailureClass::Transient);
    assert_eq!(tried(3, then(turned_away(5), other)).await, (5 + 3, false));
}

#[tokio::test(start_paused = true)]
async fn sessions_that_are_turned_away_together_share_what_a_provider_can_do() {
    use std::sync::Mutex;
    // One request a second; it does not say when to come back.
    let free = Arc::new(Mutex::new(Instant::now()));
    let began = Instant::now();
    let sessions = (0..32).map(|_| {
        let free = Arc::clone(&free);
        let other = Asked { session: SessionId::generate(), ..asked() };
        let ask = move || -> Attempt {
            let mut free = free.lock().unwrap();
            let answer = if Instant::now() < *free {
                limited(None)
            } else {
                *free = Instant::now() + Duration::from_secs(1);
                whole("ok")
            };
            Box::pin(stream::iter([answer]))
        };
        all(persist(voice(), Terms::default(), other, ask))
    });
    for events in futures_util::future::join_all(sessions).await {
        assert!(end(&events).is_ok(), "{:?}", waits(&events));
    }
    assert!(began.elapsed() < Duration::from_secs(300), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_model_that_says_nothing_is_given_up() {
    let silent = || -> Attempt { Box::pin(stream::pending()) };
    let began = Instant::now();
    let events = all(persist(voice(), Terms::default(), asked(), silent)).await;
    assert_eq!(end(&events).unwrap_err().class, FailureClass::Transient);
    assert_eq!(
        end(&events).unwrap_err().message,
        "the model said nothing for 100s; it was asked 4 times"
    );
    let waited = Duration::from_millis(WAITS.iter().sum());
    assert_eq!(began.elapsed(), Duration::from_secs(4 * 100) + waited);
    let begins = || -> Attempt {
        let said = stream::iter([Piece::Text("a".to_owned())]);
        Box::pin(said.chain(stream::pending()))
    };
    let watchdog = Watchdog { idle: Duration::from_millis(1500), ..Watchdog::default() };
    let terms = Terms { watchdog, ..Terms::default() };
    let events = all(persist(voice(), terms, asked(), begins)).await;
    assert_eq!(
        end(&events).unwrap_err().message,
        "the model said nothing for 1.5s; it was asked 4 times"
    );
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
    let terms = Terms { watchdog, ..Terms::default() };
    let events = all(persist(voice(), terms, asked(), late)).await;
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
    let mut stream = persist(voice(), Terms::default(), asked(), move || {
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
