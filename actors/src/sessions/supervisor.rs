//! Supervises the sessions without a task: opens them, restarts crashed ones from their logs, and
//! closes them such that no process outlives them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{Ask, Gate, OwnerEnd, VariableChoice};
use engine::restarts::Decision;
use protocol::{AgentEnd, Failure, FailureClass, SessionEvent, UserInput};
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::time::Instant; // the runtime's clock: a test can pause it

use super::messages::{
    OpenedSession, PromptError, SessionKey, SessionOpening, SessionsMessage, SessionsReply,
};
use super::record::{Record, State};
use super::session_ask::SessionAsk;
use crate::child::start_child;
use crate::deps::Deps;
use crate::events::{EventBus, EventFilter, Events};
use crate::executors::{
    ANSWER_DEADLINE, Answerer, ExecutorLease, ExecutorSetup, ExecutorsMessage, LeasedBy,
    SessionPorts, ToolExecutorMessage,
};
use crate::job::Job;
use crate::jobs::Jobs;
use crate::messaging::{NoAnswer, Notifier, ask, ask_within};
use crate::session::{OpenedLog, Session, SessionArguments, SessionInput, SessionMessage};

/// How long to wait until killed processes have ended.
pub(super) const SEALING: Duration = Duration::from_secs(30);

pub(crate) struct Sessions;

pub(crate) struct SessionsArguments {
    pub(crate) executors: ActorRef<ExecutorsMessage>,
    pub(crate) deps: Arc<Deps>,
    pub(crate) gate: Arc<dyn Gate>,
    pub(crate) events: EventBus,
}

pub(crate) struct SessionsState {
    pub(super) arguments: SessionsArguments,
    pub(super) records: BTreeMap<SessionKey, Record>,
    opened: u64,
    closed: Closed,
    pub(super) jobs: Jobs,
}

/// Whether the supervisor refuses new sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closed {
    No,
    Yes,
}

impl Actor for Sessions {
    type Msg = SessionsMessage;
    type State = SessionsState;
    type Arguments = SessionsArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(SessionsState {
            jobs: Jobs::new(&arguments.deps.faults),
            arguments,
            records: BTreeMap::new(),
            opened: 0,
            closed: Closed::No,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SessionsMessage::Open(opening, reply) => state.open(&myself, *opening, reply),
            SessionsMessage::Leased(key, executor) => {
                return state.start(&myself, key, executor).await;
            }
            SessionsMessage::Opened(key, Ok(opened)) => state.answer(&myself, key, opened),
            SessionsMessage::Opened(_, Err(NoAnswer::Died)) => {} // `Crashed` handles it
            SessionsMessage::Opened(key, Err(NoAnswer::Late | NoAnswer::Unheard)) => {
                state.give_up(&myself, key, "opening it was not confirmed");
            }
            SessionsMessage::Say(key, input) => state.say(key, input),
            SessionsMessage::PromptIfIdle(key, input, reply) => {
                let _gone = reply.send(state.prompt_if_idle(key, input));
            }
            SessionsMessage::State(key, reply) => {
                // If the session is closed, the reply port is dropped, which tells the caller.
                if let Some(state) = state.records.get(&key).and_then(Record::state) {
                    let _gone = reply.send(state);
                }
            }
            SessionsMessage::ReadState(key, reply) => {
                // If the session is closed, the reply port is dropped, which tells the caller.
                if let Some(states) = state.open_record(key).and_then(Record::read_state) {
                    let _gone = reply.send(states);
                }
            }
            SessionsMessage::Change(key, change) => state.change(key, change),
            SessionsMessage::Forward(key, message) => {
                // Without a session, the message is dropped with its reply port.
                if let Some(record) = state.open_record(key) {
                    record.forward(*message);
                }
            }
            SessionsMessage::Ask(key, question, reply) => state.ask(key, *question, reply),
            SessionsMessage::Answer(key, id, choice, reply) => {
                let _gone = reply.send(state.answer_question(key, id, choice));
            }
            SessionsMessage::Withdraw(key, id) => state.withdraw(key, id),
            SessionsMessage::Abort(key, level) => {
                if let Some(record) = state.open_record(key) {
                    let events = record.abort(level);
                    state.publish(key, events);
                }
            }
            SessionsMessage::SetModel(key, model, reply) => {
                state.set_model(&myself, key, model, reply);
            }
            SessionsMessage::ModelSet(key, model, set, reply) => {
                state.note_model(key, model, set, reply);
            }
            SessionsMessage::Happened(key, event) => state.publish(key, [event]),
            SessionsMessage::Close(key, reply) => {
                if let Some(record) = state.records.get_mut(&key) {
                    record.closing.push(reply);
                    state.close(&myself, key);
                }
            }
            SessionsMessage::CloseAll => {
                state.closed = Closed::Yes;
                for key in state.records.keys().copied().collect::<Vec<_>>() {
                    state.close(&myself, key);
                }
            }
            SessionsMessage::Crashed(session, error) => state.crashed(&myself, session, &error),
            SessionsMessage::Cleared(key, cleared) => state.restart(&myself, key, cleared),
            SessionsMessage::Ended(key) => state.seal(&myself, key),
            SessionsMessage::Sealed(key, sealed) => state.remove(key, sealed),
        }
        if state.closed == Closed::Yes && state.records.is_empty() {
            myself.stop(None);
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        _state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        // Only crashes matter here: a closed session has answered its caller. Supervision events
        // are handled before messages. The crash is therefore sent on as a message, so that it is
        // handled after the events that the session sent before it.
        if let SupervisionEvent::ActorFailed(session, error) = event {
            let _closed =
                myself.cast(SessionsMessage::Crashed(session.get_id(), error.to_string()));
        }
        Ok(())
    }
}

impl SessionsState {
    /// Returns the record of a session that is not closing.
    pub(super) fn open_record(&mut self, key: SessionKey) -> Option<&mut Record> {
        self.records.get_mut(&key).filter(|record| record.state == State::Open)
    }

    fn open(
        &mut self,
        myself: &ActorRef<SessionsMessage>,
        opening: SessionOpening,
        reply: SessionsReply,
    ) {
        if self.closed == Closed::Yes {
            return; // the dropped reply port refuses the request
        }
        self.opened += 1;
        let key = SessionKey(self.opened);
        self.records.insert(key, Record::new(opening, reply));
        self.lease(myself, key);
    }

    fn say(&mut self, key: SessionKey, input: SessionInput) {
        let Some(record) = self.open_record(key) else { return };
        let Some(queued) = record.queued(&input) else { return };
        self.publish(key, [queued]);
        if let Some(record) = self.open_record(key) {
            record.say(input);
            record.publish_state();
        }
    }

    fn prompt_if_idle(&mut self, key: SessionKey, input: UserInput) -> Result<(), PromptError> {
        let record = self.open_record(key).ok_or(PromptError::Closed)?;
        if record.is_busy() {
            return Err(PromptError::Busy);
        }
        self.say(key, SessionInput::Prompt(input));
        Ok(())
    }

    fn lease(&mut self, myself: &ActorRef<SessionsMessage>, key: SessionKey) {
        let Some(record) = self.records.get(&key) else { return };
        let session_ask = |deadline| {
            Some(Arc::new(SessionAsk { sessions: myself.clone(), key, deadline }) as Arc<dyn Ask>)
        };
        let asks = match record.tools.answerer {
            Answerer::None => None,
            Answerer::Client => session_ask(Some(ANSWER_DEADLINE)),
            Answerer::Person => session_ask(None),
        };
        let ports = SessionPorts { ask: asks, pause: None };
        let setup = ExecutorSetup::Tools(Box::new(record.tools.clone()), ports);
        let executors = self.arguments.executors.clone();
        let models = std::iter::once(&record.spec.model).chain(&record.spec.fallbacks);
        let withhold = models.flat_map(|model| self.arguments.deps.models.key_variables(model));
        let variables = VariableChoice { pass: Vec::new(), withhold: withhold.collect() };
        let by = LeasedBy::Session;
        let question = |reply| ExecutorsMessage::Lease(setup, by, variables, reply);
        let (jobs, ends) = (&mut self.jobs, (myself, &executors));
        ask(Job::SessionsLease, jobs, ends, question, move |lease| {
            SessionsMessage::Leased(key, lease)
        });
    }

    /// Starts a session, for the first time or again.
    async fn start(
        &mut self,
        myself: &ActorRef<SessionsMessage>,
        key: SessionKey,
        executor: Result<ExecutorLease, NoAnswer>,
    ) -> Result<(), ActorProcessingErr> {
        let Some(record) = self.records.get_mut(&key) else { return Ok(()) };
        let executor = match (record.state, executor) {
            (State::Open, Ok(executor)) => executor,
            (State::Open, Err(_no_answer)) => {
                self.give_up(myself, key, "no tool executor could be started");
                return Ok(());
            }
            (State::Closing, _) => {
                self.seal(myself, key); // nothing runs yet
                return Ok(());
            }
        };
        let arguments = SessionArguments {
            spec: record.spec.clone(),
            deps: self.arguments.deps.clone(),
            gate: Arc::clone(&self.arguments.gate),
            executor: executor.executor().clone(),
            events: Notifier::to(myself, move |event| SessionsMessage::Happened(key, event)),
            span: tracing::info_span!(parent: None, "session", log = %record.spec.log.display()),
        };
        let session = start_child(Session, arguments, myself.get_cell()).await?;
        record.executor = Some(executor);
        record.session = Some(session.clone());
        if record.opening.is_some() {
            let (jobs, ends) = (&mut self.jobs, (myself, &session));
            ask(Job::SessionsOpen, jobs, ends, SessionMessage::Open, move |opened| {
                SessionsMessage::Opened(key, opened)
            });
        } else {
            record.resume(&session);
        }
        Ok(())
    }

    /// Answers the caller that opens a session.
    fn answer(
        &mut self,
        myself: &ActorRef<SessionsMessage>,
        key: SessionKey,
        opened: Result<OpenedLog, Failure>,
    ) {
        let Some(record) = self.records.get_mut(&key) else { return };
        let Some(reply) = record.opening.take() else { return };
        let early = opened.as_ref().map_or_else(|_failure| Vec::new(), |log| record.opened(log));
        let events = match record.scope() {
            Some(scope) => self.arguments.events.subscribe(EventFilter::Scope(scope)),
            None => Events::ended(), // nothing is opened
        };
        self.publish(key, early);
        let (failed, sessions) = (opened.is_err(), myself.clone());
        let opened = opened.map(|log| (OpenedSession { key, id: log.id, sessions }, events));
        let sent = reply.send(opened);
        if failed || sent.is_err() {
            self.close(myself, key); // no caller holds the session
        }
    }

    fn crashed(&mut self, myself: &ActorRef<SessionsMessage>, session: ActorId, error: &str) {
        let is_it =
            |record: &Record| record.session.as_ref().is_some_and(|held| held.get_id() == session);
        let Some((key, record)) = self.records.iter_mut().find(|(_, record)| is_it(record)) else {
            return;
        };
        let key = *key;
        record.session = None;
        let decision = record.record_crash(Instant::now().into_std());
        if record.opening.is_some() {
            return self.give_up(myself, key, error);
        }
        match (record.state, decision) {
            (State::Closing, _) => {} // the crash dropped the reply port, which ends the close
            (State::Open, Decision::Restart) => {
                tracing::warn!(error, "a session crashed and is started again");
                let error_message = error.to_owned();
                self.publish(key, [SessionEvent::SessionRestart { error_message }]);
                self.clear(myself, key);
            }
            (State::Open, Decision::GiveUp) => {
                tracing::error!(error, "a session crashed too often");
                self.give_up(myself, key, error);
            }
        }
    }

    /// Ends a session that cannot continue, with a failure.
    fn give_up(&mut self, myself: &ActorRef<SessionsMessage>, key: SessionKey, why: &str) {
        let Some(record) = self.records.get_mut(&key) else { return };
        record.state = State::Closing;
        let failure = Failure::new(FailureClass::Crashed, why);
        match record.opening.take() {
            Some(reply) => {
                let _gone = reply.send(Err(failure));
            }
            None => {
                let mut events = record.drop_waiting();
                events.push(SessionEvent::AgentEnd { end: AgentEnd::Failed(failure) });
                self.publish(key, events);
            }
        }
        self.seal(myself, key);
    }

    /// Stops the processes of a crashed session before it is restarted.
    fn clear(&mut self, myself: &ActorRef<SessionsMessage>, key: SessionKey) {
        let Some(executor) = self.executor(key) else { return };
        let seal = ToolExecutorMessage::Seal;
        let (jobs, ends) = (&mut self.jobs, (myself, &executor));
        ask_within(Job::SessionsClear, jobs, ends, SEALING, seal, move |cleared| {
            SessionsMessage::Cleared(key, cleared)
        });
    }

    fn restart(
        &mut self,
        myself: &ActorRef<SessionsMessage>,
        key: SessionKey,
        cleared: Result<OwnerEnd, NoAnswer>,
    ) {
        let Some(record) = self.records.get_mut(&key) else { return };
        record.executor = None;
        match (record.state, cleared) {
            (State::Closing, _) => self.seal(myself, key),
            // If the executor has crashed, its processes have ended with it.
            (State::Open, Ok(_) | Err(NoAnswer::Died)) => self.lease(myself, key),
            (State::Open, Err(NoAnswer::Late | NoAnswer::Unheard)) => {
                self.give_up(myself, key, "it crashed, and its processes did not stop in time");
            }
        }
    }

    /// Publishes events of a session.
    pub(super) fn publish(
        &mut self,
        key: SessionKey,
        events: impl IntoIterator<Item = SessionEvent>,
    ) {
        let Some(record) = self.records.get_mut(&key) else { return };
        for event in events {
            if let Some(event) = record.happened(event, self.arguments.deps.clock.now()) {
                self.arguments.events.publish(event);
            }
        }
        record.publish_state();
    }

    pub(super) fn executor(&self, key: SessionKey) -> Option<ActorRef<ToolExecutorMessage>> {
        let executor = self.records.get(&key)?.executor.as_ref()?;
        Some(executor.executor().clone())
    }
}
