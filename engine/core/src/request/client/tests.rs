use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{self, BoxStream};
use protocol::{ModelRoute, SessionId, Timestamp};

use super::*;
use crate::ports::{
    AccountId, AccountLimits, FailureCause, GateRequest, GateWait, ModelEvent, ModelLocation,
    ModelStream, PermitNews, RequestOptions, ToolChoice,
};
use crate::request::virtual_time::VirtualTime;
use crate::request::{RetryPolicy, Watchdog};

/// The events of one attempt.
type Attempt = BoxStream<'static, ModelEvent>;

/// Makes the attempts that a function gives.
struct Attempts<F> {
    info: ProviderInfo,
    ask: F,
}

impl<F: Fn() -> Attempt + Send + Sync> Provider for Attempts<F> {
    fn info(&self) -> &ProviderInfo {
        &self.info
    }

    fn stream(&self, _request: &ModelRequest) -> ModelStream {
        ModelStream { request_bytes: 400, events: (self.ask)() }
    }
}

/// Admits every request at once, and keeps the reports.
#[derive(Clone, Default)]
struct OpenGate(Arc<Mutex<Vec<PermitNews>>>);

impl Gate for OpenGate {
    fn acquire(&self, request: GateRequest) -> BoxStream<'static, GateEvent> {
        if request.is_paused {
            return stream::pending().boxed();
        }
        let reports = Arc::clone(&self.0);
        let permit = Permit::new(move |news| reports.lock().unwrap().push(news));
        stream::iter([GateEvent::Admitted(permit)]).boxed()
    }
}

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(1_767_323_045_000)
    }
}

fn provider(route: &str, ask: impl Fn() -> Attempt + Send + Sync + 'static) -> Arc<dyn Provider> {
    let route: ModelRoute = route.parse().unwrap();
    let account = AccountId::of_provider(&route.provider);
    let info = ProviderInfo {
        api: "test",
        route,
        account,
        limits: AccountLimits::default(),
        location: ModelLocation::Remote,
    };
    Arc::new(Attempts { info, ask })
}

/// What was notified of a request.
#[derive(Clone, Debug, PartialEq)]
enum Told {
    Text(String),
    Thinking(String),
    Calling(String),
    Arguments(String),
    Waiting(GateWait),
    Unshared(String),
    Notice(String),
    Retrying { retry: u32, delay: Duration, why: String },
    Ended(AssistantMessage),
    Failed(FailedRequest),
}

impl From<Progress<'_>> for Told {
    fn from(progress: Progress<'_>) -> Self {
        match progress {
            Progress::Text { text, .. } => Self::Text(text.to_owned()),
            Progress::Thinking { text, .. } => Self::Thinking(text.to_owned()),
            Progress::Calling { tool, .. } => Self::Calling(tool.to_owned()),
            Progress::Arguments { json, .. } => Self::Arguments(json.to_owned()),
            Progress::Waiting { wait, .. } => Self::Waiting(wait.clone()),
            Progress::Unshared { why, .. } => Self::Unshared(why.to_owned()),
            Progress::Notice(text) => Self::Notice(text.to_owned()),
            Progress::Retrying { retry, delay, failure } => {
                Self::Retrying { retry, delay, why: failure.message.clone() }
            }
        }
    }
}

/// Asks until the end and returns what was notified.
async fn notified(client: &ModelClient, session: SessionId) -> Vec<Told> {
    let request = ModelRequest {
        session,
        system: "".into(),
        messages: Vec::new(),
        tools: [].into(),
        choice: ToolChoice::Free,
        options: RequestOptions::default(),
    };
    let events = Mutex::new(Vec::new());
    let sink = |progress: Progress<'_>| events.lock().unwrap().push(progress.into());
    let end = client.ask(&request, &sink).await;
    let mut events = events.into_inner().unwrap();
    events.push(end.map_or_else(Told::Failed, Told::Ended));
    events
}

fn client(time: &VirtualTime, policy: RequestPolicy, provider: Arc<dyn Provider>) -> ModelClient {
    ModelClient {
        routes: Routes::only(provider),
        gate: Arc::new(OpenGate::default()),
        requester: Requester::Person,
        timer: Arc::new(time.clone()),
        clock: Arc::new(Noon),
        policy,
    }
}

/// Asks until the end; returns what was notified and how long it took.
fn asked(
    policy: RequestPolicy,
    ask: impl Fn() -> Attempt + Send + Sync + 'static,
) -> (Vec<Told>, Duration) {
    let time = VirtualTime::default();
    let client = client(&time, policy, provider("x/y", ask));
    let events = time.run(notified(&client, session()));
    (events, time.now())
}

fn all(policy: RequestPolicy, ask: impl Fn() -> Attempt + Send + Sync + 'static) -> Vec<Told> {
    asked(policy, ask).0
}

fn session() -> SessionId {
    "session_0190a7c0de7b7c10a51f2b3c4d5e6f70".parse().unwrap()
}

fn end(events: &[Told]) -> Result<&AssistantMessage, &Failure> {
    match events.last() {
        Some(Told::Ended(message)) => Ok(message),
        Some(Told::Failed(failed)) => Err(&failed.failure),
        other => panic!("{other:?} is no end"),
    }
}

/// How long this session waits before its first, second and third retry, in milliseconds.
const WAITS: [u64; 4] = [2294, 4800, 9667, 18_046];

fn waits(events: &[Told]) -> Vec<(u32, u64)> {
    let waits = events.iter().filter_map(|event| match event {
        Told::Retrying { retry, delay, .. } => {
            Some((*retry, u64::try_from(delay.as_millis()).unwrap()))
        }
        _ => None,
    });
    waits.collect()
}

fn failed(class: FailureClass) -> ModelEvent {
    ModelEvent::Failed(AttemptFailure::new(class, "because"))
}

fn limited(wait: Option<Duration>) -> ModelEvent {
    let failed = AttemptFailure::new(FailureClass::Transient, "too many");
    ModelEvent::Failed(AttemptFailure { wait, cause: FailureCause::RateLimit, ..failed })
}

fn calling() -> ModelEvent {
    ModelEvent::Calling { block: 0, id: String::new(), tool: String::new() }
}

fn arguments(bytes: usize) -> ModelEvent {
    ModelEvent::Arguments { block: 0, json: "x".repeat(bytes) }
}

fn used(input: u64) -> ModelEvent {
    ModelEvent::Used(Usage { input, ..Usage::ZERO })
}

fn whole(text: &str) -> ModelEvent {
    let content = vec![Part::text(text)];
    ModelEvent::Ended(ModelAnswer { content, stop_reason: StopReason::Stop })
}

/// Gives the first attempt, then the second, and so on; the last again and again.
fn attempts(attempts: Vec<Vec<ModelEvent>>) -> impl Fn() -> Attempt + Send + Sync + 'static {
    let count = AtomicU32::new(0);
    move || {
        let at = count.fetch_add(1, Ordering::Relaxed) as usize;
        stream::iter(attempts[at.min(attempts.len() - 1)].clone()).boxed()
    }
}

#[test]
fn what_may_work_a_moment_later_is_tried_again_and_waits_longer_each_time() {
    let said = ModelEvent::Text { block: 0, text: "he".to_owned() };
    let answers = vec![
        vec![said, failed(FailureClass::Transient)],
        vec![failed(FailureClass::Transient)],
        vec![],
        vec![ModelEvent::Alive, used(3), whole("hello")],
    ];
    let (events, took) = asked(RequestPolicy::default(), attempts(answers));
    assert_eq!(events.len(), 5, "{events:?}");
    assert_eq!(waits(&events), [(1, WAITS[0]), (2, WAITS[1]), (3, WAITS[2])]);
    assert_eq!(took, Duration::from_millis(WAITS[..3].iter().sum()));
    let message = end(&events).unwrap();
    assert_eq!(message.text(), "hello");
    // The first attempt had begun: it had read 400 bytes, and nobody knows what that cost.
    let usage = Usage { input: 100 + 3, output: 1, cost: None, ..Usage::ZERO };
    assert_eq!(message.usage, usage);
}

#[test]
fn the_fifth_failure_is_the_last_and_what_came_is_kept() {
    let said = [
        ModelEvent::Thinking { block: 0, text: "h".to_owned() },
        ModelEvent::Thinking { block: 0, text: "m".to_owned() },
    ];
    let last: Vec<_> = said.into_iter().chain([failed(FailureClass::Transient)]).collect();
    let events = all(RequestPolicy::default(), attempts(vec![last]));
    assert_eq!(waits(&events).len(), 4);
    let Some(Told::Failed(FailedRequest { failure, partial, .. })) = events.last() else {
        panic!()
    };
    let notified = "because; it was asked 5 times";
    assert_eq!(*failure, Failure::new(FailureClass::Transient, notified));
    assert_eq!(partial.content, [Part::thinking("hm")]);
    assert_eq!(partial.stop_reason, StopReason::Error);
    assert_eq!(partial.error_message.as_deref(), Some(notified));
}

#[test]
fn how_often_it_was_asked_is_said_only_where_asking_again_has_not_helped() {
    let transient = || vec![failed(FailureClass::Transient)];
    let notified = |max_retries, answers| {
        let retry = RetryPolicy { max_retries, ..RetryPolicy::default() };
        let policy = RequestPolicy { retry, ..RequestPolicy::default() };
        let events = all(policy, attempts(answers));
        end(&events).unwrap_err().message.clone()
    };
    assert_eq!(notified(1, vec![transient()]), "because; it was asked 2 times");
    assert_eq!(notified(1, vec![vec![limited(None)]]), "too many; it was asked 2 times");
    assert_eq!(notified(0, vec![transient()]), "because");
    let refused = vec![failed(FailureClass::Refused)];
    assert_eq!(notified(3, vec![transient(), refused]), "because");
}

#[test]
fn what_cannot_get_better_is_not_tried_again() {
    for class in [
        FailureClass::Quota,
        FailureClass::Auth,
        FailureClass::Refused,
        FailureClass::Overflow,
        FailureClass::Invalid,
    ] {
        let events = all(RequestPolicy::default(), attempts(vec![vec![failed(class)]]));
        assert_eq!(events.len(), 1);
        assert_eq!(end(&events).unwrap_err().class, class);
    }
}

#[test]
fn a_provider_that_asks_for_patience_gets_it_up_to_a_limit() {
    let asks = |seconds| {
        let wait = Some(Duration::from_secs(seconds));
        let failed = AttemptFailure::new(FailureClass::Transient, "busy");
        let failed = ModelEvent::Failed(AttemptFailure { wait, ..failed });
        vec![vec![failed], vec![whole("ok")]]
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
        let (events, took) = asked(RequestPolicy::default(), attempts(asks(seconds)));
        let took = end(&events).is_ok().then(|| u64::try_from(took.as_millis()).unwrap());
        assert_eq!(took, waited, "{seconds}");
    }
}

#[test]
fn what_a_provider_does_not_count_is_estimated() {
    let last = |events: &[Told]| match events.last() {
        Some(Told::Ended(message)) => message.usage,
        Some(Told::Failed(failed)) => failed.partial.usage,
        other => panic!("{other:?}"),
    };
    let refused = || failed(FailureClass::Refused);
    let said = || {
        [
            ModelEvent::Text { block: 0, text: "a".repeat(10) },
            ModelEvent::Thinking { block: 0, text: "b".repeat(10) },
        ]
    };
    let about = |output| Usage { input: 100, output, cost: None, ..Usage::ZERO };
    let counted = Usage { input: 3, ..Usage::ZERO };
    let cases = [
        (vec![whole("x")], about(0)),
        (said().into_iter().chain([ModelEvent::Received(80), whole("x")]).collect(), about(25)),
        (said().into_iter().chain([used(3), whole("x")]).collect(), counted),
        (vec![calling(), arguments(8), refused()], about(2)),
        (vec![ModelEvent::Received(0), refused()], about(0)),
        (vec![ModelEvent::Received(8), used(3), refused()], counted),
        // Nothing of an answer came.
        (vec![ModelEvent::Alive, refused()], Usage::ZERO),
        (vec![refused()], Usage::ZERO),
    ];
    for (pieces, expected) in cases {
        let shown = format!("{pieces:?}");
        let events = all(RequestPolicy::default(), attempts(vec![pieces]));
        assert_eq!(last(&events), expected, "{shown}");
    }
    // Nor is it lost of one that falls silent in the middle.
    let falls_silent = || -> Attempt {
        let said = stream::iter([ModelEvent::Received(40)]);
        Box::pin(said.chain(stream::pending()))
    };
    let events = all(RequestPolicy::default(), falls_silent);
    assert_eq!(last(&events), Usage { input: 500, output: 50, cost: None, ..Usage::ZERO });
}

#[test]
fn a_rate_limit_is_one_try_of_five_like_any_other_trouble() {
    let tried = |max_retries, answers| {
        let retry = RetryPolicy { max_retries, ..RetryPolicy::default() };
        let policy = RequestPolicy { retry, ..RequestPolicy::default() };
        let events = all(policy, attempts(answers));
        (waits(&events).len(), end(&events).is_ok())
    };
    let turned_away = |times: usize| vec![vec![limited(None)]; times];
    let then = |answers: Vec<_>, last| answers.into_iter().chain([vec![last]]).collect::<Vec<_>>();
    let most = RetryPolicy::default().max_retries;
    assert_eq!(most, 4);
    assert_eq!(tried(most, then(turned_away(4), whole("ok"))), (4, true));
    assert_eq!(tried(most, turned_away(1)), (4, false));
    assert_eq!(tried(0, turned_away(1)), (0, false));
    let other = failed(FailureClass::Transient);
    assert_eq!(tried(most, then(turned_away(3), other)), (4, false));
}

/// Refuses every request, because the account answers nothing.
struct RefusingGate;

impl Gate for RefusingGate {
    fn acquire(&self, _request: GateRequest) -> BoxStream<'static, GateEvent> {
        let failure = Failure::new(FailureClass::Transient, "nothing was answered");
        stream::iter([GateEvent::Refused(failure)]).boxed()
    }
}

/// Admits every request, and refuses what pauses after a second.
struct ImpatientGate(VirtualTime);

impl Gate for ImpatientGate {
    fn acquire(&self, request: GateRequest) -> BoxStream<'static, GateEvent> {
        if !request.is_paused {
            return OpenGate::default().acquire(request);
        }
        let failure = Failure::new(FailureClass::Transient, "nothing was answered");
        let refusal = self.0.sleep(Duration::from_secs(1));
        stream::once(refusal.map(|()| GateEvent::Refused(failure))).boxed()
    }
}

#[test]
fn an_outage_that_lasts_too_long_ends_the_pause_before_another_attempt() {
    let time = VirtualTime::default();
    let provider = provider("x/y", attempts(vec![vec![failed(FailureClass::Transient)]]));
    let gate = Arc::new(ImpatientGate(time.clone()));
    let client = ModelClient { gate, ..client(&time, RequestPolicy::default(), provider) };
    let events = time.run(notified(&client, session()));
    let Some(Told::Failed(failed)) = events.last() else { panic!("{events:?}") };
    assert_eq!((failed.cause, time.now()), (FailureCause::Outage, Duration::from_secs(1)));
    assert_eq!(failed.failure.message, "nothing was answered");
}

#[test]
fn what_the_gate_refuses_is_not_asked_again() {
    let time = VirtualTime::default();
    let provider = provider("x/y", || panic!("the provider is not asked"));
    let gate = Arc::new(RefusingGate);
    let client = ModelClient { gate, ..client(&time, RequestPolicy::default(), provider) };
    let events = time.run(notified(&client, session()));
    let failure = Failure::new(FailureClass::Transient, "nothing was answered");
    assert_eq!((end(&events), waits(&events).len()), (Err(&failure), 0));
}

#[test]
fn a_model_that_says_nothing_is_given_up() {
    let silent = || -> Attempt { Box::pin(stream::pending()) };
    let (events, took) = asked(RequestPolicy::default(), silent);
    assert_eq!(end(&events).unwrap_err().class, FailureClass::Transient);
    assert_eq!(
        end(&events).unwrap_err().message,
        "the model said nothing for 100s; it was asked 5 times"
    );
    let waited = Duration::from_millis(WAITS.iter().sum());
    assert_eq!(took, Duration::from_secs(5 * 100) + waited);
    let begins = || -> Attempt {
        let said = stream::iter([ModelEvent::Text { block: 0, text: "a".to_owned() }]);
        Box::pin(said.chain(stream::pending()))
    };
    let watchdog = Watchdog { idle: Duration::from_millis(1500), ..Watchdog::default() };
    let policy = RequestPolicy { watchdog, ..RequestPolicy::default() };
    let events = all(policy, begins);
    assert_eq!(
        end(&events).unwrap_err().message,
        "the model said nothing for 1.5s; it was asked 5 times"
    );
}

#[test]
fn without_a_watchdog_it_is_waited_for_ever() {
    let time = VirtualTime::default();
    let clock = time.clone();
    let late = move || -> Attempt {
        let day = clock.sleep(Duration::from_secs(86_400));
        stream::once(async move {
            day.await;
            whole("late")
        })
        .boxed()
    };
    let watchdog = Watchdog { first_event: Duration::ZERO, idle: Duration::ZERO };
    let policy = RequestPolicy { watchdog, ..RequestPolicy::default() };
    let client = client(&time, policy, provider("x/y", late));
    let events = time.run(notified(&client, session()));
    assert_eq!(end(&events).unwrap().text(), "late");
}

#[test]
fn a_model_that_goes_on_is_never_silent_for_too_long() {
    let time = VirtualTime::default();
    let clock = time.clone();
    let slow = move || -> Attempt {
        let clock = clock.clone();
        let words = stream::iter(0..20).then(move |word| {
            let pause = clock.sleep(Duration::from_secs(if word == 0 { 99 } else { 119 }));
            async move {
                pause.await;
                ModelEvent::Text { block: 0, text: "a".to_owned() }
            }
        });
        words.chain(stream::pending()).boxed()
    };
    let retry = RetryPolicy { max_retries: 0, ..RetryPolicy::default() };
    let policy = RequestPolicy { retry, ..RequestPolicy::default() };
    let client = client(&time, policy, provider("x/y", slow));
    let events = time.run(notified(&client, session()));
    assert_eq!(end(&events).unwrap_err().message, "the model said nothing for 120s");
    assert_eq!((events.len(), time.now().as_secs()), (21, 99 + 19 * 119 + 120));
}

#[test]
fn dropping_the_request_ends_the_attempt_at_once_and_gives_its_permit_back() {
    struct Guard(Arc<AtomicU32>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&dropped);
    let provider = provider("x/y", move || {
        let guard = Guard(Arc::clone(&count));
        let said = stream::iter([ModelEvent::Text { block: 0, text: "a".to_owned() }]);
        said.chain(stream::pending()).map(move |event| (&guard, event).1).boxed()
    });
    let gate = OpenGate::default();
    let time = VirtualTime::default();
    let client = ModelClient {
        gate: Arc::new(gate.clone()),
        ..client(&time, RequestPolicy::default(), provider)
    };
    let mut request = notified(&client, session()).boxed();
    assert!((&mut request).now_or_never().is_none());
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
    drop(request);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    let abandoned = PermitNews::Ended(RequestOutcome::Abandoned);
    assert_eq!(*gate.0.lock().unwrap(), [PermitNews::Accepted(None), abandoned]);
}

#[test]
fn the_gate_learns_how_each_attempt_went() {
    let gate = OpenGate::default();
    let time = VirtualTime::default();
    let wait = Some(Duration::from_secs(7));
    let answers =
        vec![vec![limited(wait)], vec![failed(FailureClass::Transient)], vec![whole("a")]];
    let client = ModelClient {
        gate: Arc::new(gate.clone()),
        ..client(&time, RequestPolicy::default(), provider("x/y", attempts(answers)))
    };
    time.run(notified(&client, session()));
    let failed = |message, cause, wait| {
        let failure = Failure::new(FailureClass::Transient, message);
        PermitNews::Ended(RequestOutcome::Failed { failure, cause, wait })
    };
    let reports = [
        failed("too many", FailureCause::RateLimit, wait),
        failed("because", FailureCause::Other, None),
        PermitNews::Accepted(None),
        PermitNews::Ended(RequestOutcome::Answered { tokens: 100 }),
    ];
    assert_eq!(*gate.0.lock().unwrap(), reports);
}

/// Crashes some times before it admits a request.
struct CrashingGate(AtomicU32);

impl Gate for CrashingGate {
    fn acquire(&self, request: GateRequest) -> BoxStream<'static, GateEvent> {
        if !request.is_paused && self.0.fetch_sub(1, Ordering::Relaxed) > 0 {
            return stream::empty().boxed();
        }
        OpenGate::default().acquire(request)
    }
}

#[test]
fn a_gate_that_crashes_is_a_failure_that_may_pass() {
    for (crashes, message) in
        [(2, None), (9, Some("the request queue of x crashed; it was asked 5 times"))]
    {
        let time = VirtualTime::default();
        let provider = provider("x/y", attempts(vec![vec![whole("ok")]]));
        let client = ModelClient {
            gate: Arc::new(CrashingGate(AtomicU32::new(crashes))),
            ..client(&time, RequestPolicy::default(), provider)
        };
        let events = time.run(notified(&client, session()));
        assert_eq!(end(&events).err().map(|failure| failure.message.as_str()), message);
    }
}
