//! The life of one server: it is started, started again when it ends by itself, and given up when that happens
//! too often.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::ports::{McpError, McpErrorKind};
use crate::restarts::{CrashLog, Decision, RestartBudget};

/// How often a server is started again: neither may be exceeded.
const BUDGETS: [RestartBudget; 2] = [
    RestartBudget { restarts: 3, window: Duration::from_secs(5) },
    RestartBudget { restarts: 10, window: Duration::from_secs(600) },
];

/// The pauses before a server is started again. The last one holds for all further starts.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];

/// A server that was ready for this long has started well: the next pause is the first one.
const STABLE: Duration = Duration::from_secs(5);

/// How long after it was given up a call tries to start a server once more.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// What happens to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerInput {
    /// It is used for the first time.
    Use,
    /// It is connected, and its tools are known.
    Connected,
    /// It could not be started or reached, or its connection has ended.
    Failed(McpError),
    /// The pause before the next start is over.
    PauseEnded,
    /// A call wants it although it was given up.
    Wanted,
    /// It is not used any more.
    Close,
}

/// What has to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEffect {
    /// Connect to it.
    Connect,
    /// End the connection, or the attempt to connect.
    Disconnect,
    /// Report when this time is over.
    Pause(Duration),
}

/// What a server is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerPhase {
    /// It was not started yet, or is closed.
    #[default]
    Stopped,
    /// It is being started.
    Starting,
    /// It answers.
    Ready,
    /// It has failed, and is started again after a pause.
    BackOff,
    /// It was given up, for this reason. Its tools answer with it.
    Degraded(Arc<str>),
}

/// The life of one server.
#[derive(Debug, Default)]
pub struct ServerLife {
    phase: ServerPhase,
    /// When the phase began.
    since: Option<Instant>,
    crashes: [CrashLog; 2],
    /// The failures since the server was ready for long enough.
    failures: usize,
    /// The reason why it was given up, while one more start is tried.
    given_up: Option<Arc<str>>,
}

impl ServerLife {
    /// Returns what the server is doing.
    #[must_use]
    pub fn phase(&self) -> &ServerPhase {
        &self.phase
    }

    /// Takes a step. An input that does not fit the phase, such as the end of a pause that was cut short, changes
    /// nothing.
    pub fn step(&mut self, input: ServerInput, now: Instant) -> Vec<ServerEffect> {
        match (input, &self.phase) {
            (ServerInput::Use, ServerPhase::Stopped)
            | (ServerInput::PauseEnded, ServerPhase::BackOff) => self.start(now),
            (ServerInput::Connected, ServerPhase::Starting) => {
                self.given_up = None;
                self.enter(ServerPhase::Ready, now);
                Vec::new()
            }
            (ServerInput::Failed(error), ServerPhase::Starting | ServerPhase::Ready) => {
                self.failed(&error, now)
            }
            (ServerInput::Wanted, ServerPhase::Degraded(why)) if self.lasts(RETRY_AFTER, now) => {
                self.given_up = Some(Arc::clone(why));
                self.start(now)
            }
            (ServerInput::Close, _) => {
                self.enter(ServerPhase::Stopped, now);
                vec![ServerEffect::Disconnect]
            }
            _ => Vec::new(),
        }
    }

    fn start(&mut self, now: Instant) -> Vec<ServerEffect> {
        self.enter(ServerPhase::Starting, now);
        vec![ServerEffect::Connect]
    }

    fn failed(&mut self, error: &McpError, now: Instant) -> Vec<ServerEffect> {
        if self.phase == ServerPhase::Ready && self.lasts(STABLE, now) {
            self.failures = 0;
        }
        self.failures += 1;
        let mut decision = Decision::Restart;
        for (crashes, budget) in self.crashes.iter_mut().zip(BUDGETS) {
            if crashes.record(budget, now) == Decision::GiveUp {
                decision = Decision::GiveUp;
            }
        }
        // A login does not come by itself, and after the last attempt it is enough to try once.
        let is_hopeless = error.kind == McpErrorKind::Unauthorized || self.given_up.is_some();
        self.given_up = None;
        if is_hopeless || decision == Decision::GiveUp {
            self.enter(ServerPhase::Degraded(error.message.as_str().into()), now);
            return vec![ServerEffect::Disconnect];
        }
        self.enter(ServerPhase::BackOff, now);
        let pause = PAUSES[(self.failures - 1).min(PAUSES.len() - 1)];
        vec![ServerEffect::Disconnect, ServerEffect::Pause(pause)]
    }

    fn enter(&mut self, phase: ServerPhase, now: Instant) {
        self.phase = phase;
        self.since = Some(now);
    }

    /// Returns whether the phase has lasted for this long.
    fn lasts(&self, time: Duration, now: Instant) -> bool {
        self.since.is_some_and(|since| now.duration_since(since) >= time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "a test needs some instant to count from")]
    fn start() -> Instant {
        Instant::now()
    }

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    fn failed(kind: McpErrorKind) -> ServerInput {
        ServerInput::Failed(McpError { kind, message: "it ended".to_owned() })
    }

    fn pause(ms: u64) -> Vec<ServerEffect> {
        vec![ServerEffect::Disconnect, ServerEffect::Pause(Duration::from_millis(ms))]
    }

    /// Returns a server that was given up, and when.
    fn degraded(start: Instant) -> (ServerLife, u64) {
        let mut life = ServerLife::default();
        assert_eq!(life.step(ServerInput::Use, start), [ServerEffect::Connect]);
        let mut now = 0;
        for ms in [500, 1_000, 2_000] {
            assert_eq!(life.step(failed(McpErrorKind::NotSent), at(start, now)), pause(ms));
            now += ms;
            let effects = life.step(ServerInput::PauseEnded, at(start, now));
            assert_eq!(effects, [ServerEffect::Connect]);
        }
        let effects = life.step(failed(McpErrorKind::NotSent), at(start, now));
        assert_eq!(effects, [ServerEffect::Disconnect]);
        (life, now)
    }

    #[test]
    fn a_server_that_does_not_start_is_given_up_after_three_restarts_in_five_seconds() {
        let (life, _) = degraded(start());
        assert_eq!(life.phase(), &ServerPhase::Degraded("it ended".into()));
    }

    #[test]
    fn a_server_that_was_given_up_is_tried_once_by_a_call_after_a_minute() {
        let start = start();
        let (mut life, now) = degraded(start);
        assert_eq!(life.step(ServerInput::Wanted, at(start, now + 59_999)), []);
        let later = now + 60_000;
        assert_eq!(life.step(ServerInput::Wanted, at(start, later)), [ServerEffect::Connect]);
        assert_eq!(life.step(ServerInput::Wanted, at(start, later)), [], "it is being started");
        let effects = life.step(failed(McpErrorKind::NotSent), at(start, later + 10));
        assert_eq!(effects, [ServerEffect::Disconnect]);
        assert!(matches!(life.phase(), ServerPhase::Degraded(_)));
        assert_eq!(life.step(ServerInput::Wanted, at(start, later + 60_000)), []);
        life.step(ServerInput::Wanted, at(start, later + 60_010));
        assert_eq!(life.step(ServerInput::Connected, at(start, later + 60_020)), []);
        // It is an ordinary server again.
        let effects = life.step(failed(McpErrorKind::NoAnswer), at(start, later + 70_000));
        assert_eq!(effects, pause(500));
    }

    #[test]
    fn a_server_that_ends_now_and_then_is_given_up_after_ten_restarts_in_ten_minutes() {
        let (mut life, start) = (ServerLife::default(), start());
        life.step(ServerInput::Use, start);
        for minute in 1..=10 {
            let now = at(start, minute * 50_000);
            life.step(ServerInput::Connected, at(start, minute * 50_000 - 10_000));
            assert_eq!(life.step(failed(McpErrorKind::NoAnswer), now), pause(500), "{minute}");
            life.step(ServerInput::PauseEnded, now);
        }
        life.step(ServerInput::Connected, at(start, 510_000));
        let effects = life.step(failed(McpErrorKind::NoAnswer), at(start, 550_000));
        assert_eq!(effects, [ServerEffect::Disconnect]);
    }

    #[test]
    fn a_server_that_wants_a_login_is_given_up_at_once() {
        let (mut life, start) = (ServerLife::default(), start());
        life.step(ServerInput::Use, start);
        let effects = life.step(failed(McpErrorKind::Unauthorized), start);
        assert_eq!(effects, [ServerEffect::Disconnect]);
    }

    #[test]
    fn what_comes_too_late_changes_nothing() {
        let (mut life, start) = (ServerLife::default(), start());
        life.step(ServerInput::Use, start);
        assert_eq!(life.step(ServerInput::Use, start), []);
        assert_eq!(life.step(ServerInput::Close, start), [ServerEffect::Disconnect]);
        for late in [ServerInput::Connected, failed(McpErrorKind::NotSent), ServerInput::PauseEnded]
        {
            assert_eq!(life.step(late, start), []);
            assert_eq!(life.phase(), &ServerPhase::Stopped);
        }
    }
}
