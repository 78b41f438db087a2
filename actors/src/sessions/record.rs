//! What the supervisor knows about one session: enough to start it again where it crashed.

use std::time::{Duration, Instant};

use engine::agent::Prompt;
use engine::supervise::{CrashLog, Decision, RestartBudget};
use protocol::SessionEvent;
use ractor::{ActorRef, RpcReplyPort};

use super::events::SessionEventHub;
use super::message::{Fact, SessionInput, SessionOpening, SessionsReply};
use crate::executors::{ExecutorLease, ToolSetup};
use crate::session::{SessionMessage, SessionSpec};

/// A session is started again from its log, as long as it does not crash all the time.
const CRASHES: RestartBudget = RestartBudget { restarts: 3, window: Duration::from_secs(600) };

pub(super) struct Record {
    pub(super) spec: SessionSpec,
    /// What its tools are built for.
    pub(super) tools: ToolSetup,
    pub(super) events: SessionEventHub,
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
            events: SessionEventHub::default(),
            executor: None,
            session: None,
            opening: Some(opening),
            closing: Vec::new(),
            state: State::Open,
            waiting: Vec::new(),
            work: Work::Idle,
            crashes: CrashLog::default(),
        }
    }

    /// Gives the session an input, now or when it is started again.
    pub(super) fn say(&mut self, input: SessionInput) {
        if let Some(session) = &self.session {
            send(session, input.clone());
        }
        self.waiting.push(input);
    }

    pub(super) fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::Taken(id) => {
                self.work = Work::Begun;
                self.waiting.retain(|waiting| waiting.input().id != *id);
            }
            Fact::Dropped(id) => self.waiting.retain(|waiting| waiting.input().id != *id),
            Fact::Idle => self.work = Work::Idle,
        }
    }

    /// Drops what a session that is not there would have said, as an abort does.
    pub(super) fn drop_waiting(&mut self) {
        for input in std::mem::take(&mut self.waiting) {
            let input_id = input.input().id;
            self.events.publish(&SessionEvent::InputDropped { input_id });
        }
        self.work = Work::Idle;
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
