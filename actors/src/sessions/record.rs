//! The supervisor's record of one session: what a restart after a crash needs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::ports::CancelLevel;
use engine::restarts::{CrashLog, Decision, RestartBudget};
use protocol::{
    AgentEnd, Event, EventKind, EventScope, QuestionId, QueueKind, SessionEvent, Timestamp,
    UserInput,
};
use ractor::{ActorRef, RpcReplyPort};
use tokio::sync::watch;

use super::messages::{SessionOpening, SessionsReply};
use super::open_question::OpenQuestion;
use super::session_state::SessionState;
use crate::executors::{ExecutorLease, ToolSetup};
use crate::session::{OpenedLog, SessionInput, SessionMessage, SessionSpec};

/// How often a crashed session is restarted from its log.
const RESTARTS: RestartBudget = RestartBudget { restarts: 3, window: Duration::from_secs(600) };

pub(super) struct Record {
    pub(super) spec: SessionSpec,
    /// The parameters of its tools.
    pub(super) tools: ToolSetup,
    /// The names of those of its tools that the model may use; all if absent.
    pub(super) only: Option<Arc<BTreeSet<String>>>,
    /// `None` until its log is open.
    open: Option<SessionState>,
    /// `None` before the executor is leased, and during a restart.
    pub(super) executor: Option<ExecutorLease>,
    pub(super) session: Option<ActorRef<SessionMessage>>,
    /// The caller that waits until the session is open.
    pub(super) opening: Option<SessionsReply>,
    /// The callers that wait until the session is closed.
    pub(super) closing: Vec<RpcReplyPort<()>>,
    pub(super) state: State,
    /// Inputs that the session has not taken yet, oldest first.
    waiting: Vec<SessionInput>,
    work: Work,
    crashes: CrashLog,
    /// Events from before the log was open.
    early: Vec<SessionEvent>,
    /// The number of published events.
    seq: u64,
    /// The questions that wait for an answer of its client.
    pub(super) questions: BTreeMap<QuestionId, OpenQuestion>,
    /// Those who read its state, if there are any.
    readers: Option<watch::Sender<SessionState>>,
}

/// Whether the session is closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    Closing,
}

/// Whether a crash now would interrupt work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Idle,
    /// An input was taken and its work has not ended.
    Begun,
}

impl Record {
    pub(super) fn new(opened: SessionOpening, opening: SessionsReply) -> Self {
        let SessionOpening { spec, tools } = opened;
        Self {
            spec,
            only: tools.only.clone().map(Arc::new),
            tools,
            open: None,
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
            questions: BTreeMap::new(),
            readers: None,
        }
    }

    /// Returns the scope of its events, once its log is open.
    pub(super) fn scope(&self) -> Option<EventScope> {
        self.open.as_ref().map(|open| EventScope::Session(open.id))
    }

    /// Records what the opened log holds. Returns the events from before.
    pub(super) fn opened(&mut self, log: &OpenedLog) -> Vec<SessionEvent> {
        self.open = Some(SessionState::new(log.id, &self.spec, log.messages, log.usage));
        std::mem::take(&mut self.early)
    }

    /// Returns the state of the session, once its log is open.
    pub(super) fn state(&self) -> Option<SessionState> {
        let texts = |kind: QueueKind| -> Vec<String> {
            let inputs = self.waiting.iter().filter(|waiting| waiting.kind() == kind);
            inputs.map(|waiting| waiting.input().text.clone()).collect()
        };
        let open = self.open.clone()?;
        Some(SessionState {
            model: self.spec.model.clone(),
            thinking_level: self.spec.model.thinking,
            system: Arc::clone(&self.spec.system),
            tools: self.only.clone(),
            modes: self.spec.modes,
            prompts: texts(QueueKind::Prompt),
            steering: texts(QueueKind::Steering),
            follow_ups: texts(QueueKind::FollowUp),
            ..open
        })
    }

    /// Returns a reader of the state, once the log of the session is open.
    pub(super) fn read_state(&mut self) -> Option<watch::Receiver<SessionState>> {
        let state = self.state()?;
        let readers = self.readers.get_or_insert_with(|| watch::Sender::new(state));
        Some(readers.subscribe())
    }

    /// Gives those who read the state the new one, if it has changed.
    pub(super) fn publish_state(&mut self) {
        self.readers.take_if(|readers| readers.is_closed());
        let (Some(readers), Some(state)) = (&self.readers, self.state()) else { return };
        readers.send_if_modified(|read| {
            let is_new = *read != state;
            *read = state;
            is_new
        });
    }

    /// Returns whether the session works or has an input to work on.
    pub(super) fn is_busy(&self) -> bool {
        let is_streaming = self.open.as_ref().is_none_or(|open| open.is_streaming);
        is_streaming || self.work == Work::Begun || !self.waiting.is_empty()
    }

    /// Returns the event of an input that waits from now on; `None` if it waits already.
    pub(super) fn queued(&self, input: &SessionInput) -> Option<SessionEvent> {
        let UserInput { id: input_id, text, .. } = input.input().clone();
        let waits = self.waiting.iter().any(|waiting| waiting.input().id == input_id);
        (!waits).then(|| SessionEvent::InputQueued { input_id, queue: input.kind(), text })
    }

    /// Sends the session a message. Without a session, it is dropped.
    pub(super) fn forward(&self, message: SessionMessage) {
        if let Some(session) = &self.session {
            let _dead = session.cast(message);
        }
    }

    /// Records an event and returns it in the form in which it is published.
    pub(super) fn happened(&mut self, event: SessionEvent, at: Timestamp) -> Option<Event> {
        self.note(&event);
        if let Some(open) = &mut self.open {
            open.apply(&event);
        }
        let Some(scope) = self.scope() else {
            self.early.push(event);
            return None;
        };
        self.seq += 1;
        let kind = EventKind::SessionEvent { task: None, event };
        Some(Event { seq: self.seq, at, scope: Some(scope), kind })
    }

    /// Sends the session an input, now or after its restart.
    pub(super) fn say(&mut self, input: SessionInput) {
        if let Some(session) = &self.session {
            // A dead session gets the input from `waiting` after its restart.
            let _dead = session.cast(SessionMessage::Say(input.clone()));
        }
        self.waiting.push(input);
    }

    /// Updates the facts that a restart needs.
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
            _no_part_of_a_restart => {}
        }
    }

    /// Drops the waiting inputs of a session that is being restarted, as an abort does. Returns an
    /// event for each dropped input.
    pub(super) fn drop_waiting(&mut self) -> Vec<SessionEvent> {
        self.work = Work::Idle;
        let dropped = std::mem::take(&mut self.waiting).into_iter();
        dropped.map(|input| SessionEvent::InputDropped { input_id: input.input().id }).collect()
    }

    /// Continues a restarted session where the crashed one was. Inputs that were taken are in the log
    /// and are not sent again.
    pub(super) fn resume(&self, session: &ActorRef<SessionMessage>) {
        if let Some(only) = &self.only {
            let _dead = session.cast(SessionMessage::SetTools(Some(Arc::clone(only))));
        }
        let waiting = self.waiting.iter().cloned();
        match self.work {
            // One message carries all inputs: an input for the interrupted work, if sent later,
            // could arrive when that work has ended.
            Work::Begun => {
                let _dead = session.cast(SessionMessage::Resume(None, waiting.collect()));
            }
            Work::Idle => waiting.for_each(|input| {
                let _dead = session.cast(SessionMessage::Say(input));
            }),
        }
    }

    /// Aborts the work under way. If the session has crashed and cannot publish the events of the
    /// abort itself, returns them.
    pub(super) fn abort(&mut self, level: CancelLevel) -> Vec<SessionEvent> {
        let session = self.session.as_ref();
        if session.is_some_and(|session| session.cast(SessionMessage::Abort(level)).is_ok()) {
            return Vec::new();
        }
        let work = self.work;
        let mut events = self.drop_waiting();
        if work == Work::Begun {
            events.push(SessionEvent::AgentEnd { end: AgentEnd::Aborted });
        }
        events
    }

    pub(super) fn record_crash(&mut self, now: Instant) -> Decision {
        self.crashes.record(RESTARTS, now)
    }
}
