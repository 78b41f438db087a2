//! What the supervisor knows about one session: enough to start it again where it crashed.

use std::time::{Duration, Instant};

use engine::agent::Prompt;
use engine::restarts::{CrashLog, Decision, RestartBudget};
use protocol::{Event, EventKind, EventScope, SessionEvent, SessionId, Timestamp};
use ractor::{ActorRef, RpcReplyPort};

use super::messages::{SessionInput, SessionOpening, SessionsReply};
use crate::executors::{ExecutorLease, ToolSetup};
use crate::session::{SessionMessage, SessionSpec};

/// A session is started again from its log, as long as it does not crash all the time.
const CRASHES: RestartBudget = RestartBudget { restarts: 3, window: Duration::from_secs(600) };

pub(super) struct Record {
    pub(super) spec: SessionSpec,
    /// What its tools are built for.
    pub(super) tools: ToolSetup,
    /// Nothing before its log is open.
    pub(super) id: Option<SessionId>,
    /// Nothing before it is leased, and while a crashed session is cleared away.
    pub(super) executor: Option<ExecutorLease>,
    pub(super) session: Option<ActorRef<SessionMessage>>,
    /// Who waits for it to be open.
    pub(super) opening: Option<SessionsReply>,
    /// Who waits for it to be closed.
    pub(super) closing: Vec<RpcReplyPort<()>>,
    pub(super) state: State,
    /// What it was given and has not taken, in its order.
    waiting: Vec<SessionInput>,
    work: Work,
    crashes: CrashLog,
    /// What happened before the log was open.
    early: Vec<SessionEvent>,
    /// How many events were published.
    seq: u64,
}

/// Whether the session is to stay open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    Closing,
}

/// Whether a crash interrupts something that the log alone does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Idle,
    /// An input was taken, and there was no end since.
    Begun,
}

impl Record {
    pub(super) fn new(opened: SessionOpening, opening: SessionsReply) -> Self {
        let SessionOpening { spec, tools } = opened;
        Self {
            spec,
            tools,
            id: None,
            executor: None,
            session: None,
            opening: Some(opening),
            closing: Vec::new(),
            state: State::Open,
            waiting: Vec::new(),
            work: Work::Idle,
            crashes: CrashLog::default(),
            early: Vec::new(),
            seq: 0,
        }
    }

    /// Returns the scope of its events, once its log is open.
    pub(super) fn scope(&self) -> Option<EventScope> {
        self.id.map(EventScope::Session)
    }

    /// Notes that the log is open. Returns what happened before.
    pub(super) fn opened(&mut self, id: SessionId) -> Vec<SessionEvent> {
        self.id = Some(id);
        std::mem::take(&mut self.early)
    }

    /// Notes what happened, and returns it as it is to be published.
    pub(super) fn happened(&mut self, event: SessionEvent, at: Timestamp) -> Option<Event> {
        self.note(&event);
        let Some(scope) = self.scope() else {
            self.early.push(event);
            return None;
        };
        self.seq += 1;
        let kind = EventKind::SessionEvent { task: None, event };
        Some(Event { seq: self.seq, at, scope: Some(scope), kind })
    }

    /// Gives the session an input, now or when it is started again.
    pub(super) fn say(&mut self, input: SessionInput) {
        if let Some(session) = &self.session {
            send(session, input.clone());
        }
        self.waiting.push(input);
    }

    /// Notes what decides how the session is started again after a crash.
    fn note(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::InputTaken { input_id } => {
                self.work = Work::Begun;
                self.waiting.retain(|waiting| waiting.input().id != *input_id);
            }
            SessionEvent::InputDropped { input_id } => {
                self.waiting.retain(|waiting| waiting.input().id != *input_id);
            }
            SessionEvent::AgentEnd { .. } => self.work = Work::Idle,
            SessionEvent::ToolUnavailable { .. }
            | SessionEvent::AgentStart
            | SessionEvent::ModelChange { .. }
            | SessionEvent::TurnStart { .. }
            | SessionEvent::AutoRetryStart { .. }
            | SessionEvent::RequestWait { .. }
            | SessionEvent::TextDelta { .. }
            | SessionEvent::ThinkingDelta { .. }
            | SessionEvent::ToolCallStart { .. }
            | SessionEvent::MessageEnd { .. }
            | SessionEvent::ToolExecutionStart { .. }
            | SessionEvent::ToolExecutionUpdate { .. }
            | SessionEvent::ToolExecutionEnd { .. }
            | SessionEvent::TurnEnd { .. }
            | SessionEvent::SessionRestart { .. } => {}
        }
    }

    /// Drops what a session that is not there would have said, as an abort does. Returns what
    /// happens by that.
    pub(super) fn drop_waiting(&mut self) -> Vec<SessionEvent> {
        self.work = Work::Idle;
        let dropped = std::mem::take(&mut self.waiting).into_iter();
        dropped.map(|input| SessionEvent::InputDropped { input_id: input.input().id }).collect()
    }

    /// Has a session that was started again go on where the crashed one was. What that one took is
    /// in the log, and is not said again.
    pub(super) fn resume(&self, session: &ActorRef<SessionMessage>) {
        if self.work == Work::Begun {
            let _dead = session.cast(SessionMessage::Resume(None));
        }
        for input in &self.waiting {
            send(session, input.clone());
        }
    }

    pub(super) fn record_crash(&mut self, now: Instant) -> Decision {
        self.crashes.record(CRASHES, now)
    }
}

fn send(session: &ActorRef<SessionMessage>, input: SessionInput) {
    // A dead session is started again, and then told.
    let _dead = session.cast(match input {
        SessionInput::Prompt(input) => SessionMessage::Prompt(Prompt::free(input), None),
        SessionInput::Steer(input) => SessionMessage::Steer(input),
        SessionInput::FollowUp(input) => SessionMessage::FollowUp(input),
    });
}
