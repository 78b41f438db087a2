//! The session actor: owns the conversation and the queue of inputs.
//!
//! Its work runs as one of its [`Jobs`] and ends in a message, so that a working session can receive
//! inputs. A panic in the work is a crash of this session only.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use engine::agent::{InputQueue, Model, Prompt, RequestChanges, RequestSetup};
use engine::ports::{CancelLevel, CancelToken, Provider};
use protocol::{
    AgentEnd, Failure, FailureClass, InputId, ModelRoute, QueueKind, SessionEvent, ThinkingLevel,
    UserInput,
};
use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};
use tracing::Instrument as _;

use super::messages::{
    ContinueError, Ended, Opened, OpenedLog, Revision, SessionArguments, SessionInput,
    SessionMessage,
};
use super::opening::{open, open_model};
use super::turns::Turns;
use crate::executors::{OpenedTools, ToolExecutorMessage};
use crate::job::Job;
use crate::jobs::{Jobs, Panicked};
use crate::messaging::Notifier;

pub(crate) struct Session;

pub(crate) struct SessionState {
    /// Its work shares them.
    arguments: Arc<SessionArguments>,
    activity: Activity,
    queue: InputQueue,
    /// The callers that wait for the end of the work on an input.
    asked: BTreeMap<InputId, RpcReplyPort<AgentEnd>>,
    /// The model from the next request on.
    next_model: Option<Model>,
    /// How much the model thinks from the next request on.
    next_thinking: Option<ThinkingLevel>,
    /// The system prompt and the tools, if they were changed.
    setup: Option<RequestSetup>,
    /// The same, if it is not part of the current work yet.
    next_setup: Option<RequestSetup>,
    /// The provider of the current model, or of the next one.
    provider: Option<Arc<dyn Provider>>,
    closing: Option<RpcReplyPort<()>>,
    /// The changes of the conversation that were asked for.
    revisions: VecDeque<Revision>,
    /// The jobs of the session. Dropping them ends its work.
    jobs: Jobs,
}

enum Activity {
    Idle(Option<Box<Opened>>),
    Working(Work),
}

struct Work {
    abort: CancelToken,
    asked_by: Option<RpcReplyPort<AgentEnd>>,
    /// Whether its end is announced. After an abort, calls may still be ending.
    is_ending: bool,
}

impl Work {
    fn new(abort: CancelToken, asked_by: Option<RpcReplyPort<AgentEnd>>) -> Self {
        Self { abort, asked_by, is_ending: false }
    }
}

impl Actor for Session {
    type Msg = SessionMessage;
    type State = SessionState;
    type Arguments = SessionArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let ends = Notifier::to(&myself, SessionMessage::BackgroundEnded);
        let _dead = arguments.executor.cast(ToolExecutorMessage::ReportBackground(ends));
        Ok(SessionState {
            jobs: Jobs::new(&arguments.deps.faults),
            activity: Activity::Idle(None),
            queue: InputQueue::new(arguments.spec.modes),
            asked: BTreeMap::new(),
            next_model: None,
            next_thinking: None,
            setup: None,
            next_setup: None,
            provider: None,
            closing: None,
            revisions: VecDeque::new(),
            arguments: Arc::new(arguments),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            SessionMessage::Open(reply) => state.open(&myself, reply),
            SessionMessage::Opened(opened, reply) => {
                let opened = opened?; // after a panic, the supervisor answers with a failure
                let answer = opened.as_ref().map(|opened| state.note_opened(opened));
                let _gone = reply.send(answer.map_err(Failure::clone));
                state.activity = Activity::Idle(opened.ok());
            }
            SessionMessage::Resume(asked_by, waiting) => {
                state.start(&myself, None, asked_by);
                waiting.into_iter().for_each(|input| state.say(input));
            }
            SessionMessage::Prompt(prompt, asked_by) => {
                state.asked.insert(prompt.input.id, asked_by);
                state.queue.prompt(prompt);
            }
            SessionMessage::Say(input) => state.say(input),
            SessionMessage::SetModel(route, reply) => state.set_model(&myself, route, reply),
            SessionMessage::ModelOpened(model, reply) => {
                let _gone = reply.send(state.note_model(model));
            }
            SessionMessage::SetThinking(level, reply) => {
                let level = state.provider.as_ref().map_or(level, |it| it.thinking_level(level));
                state.next_thinking = Some(level);
                let _gone = reply.send(level);
            }
            SessionMessage::SetModes(modes) => state.queue.modes = modes,
            SessionMessage::SetSystem(system) => state.change_setup(|setup| setup.system = system),
            SessionMessage::SetTools(only) => state.change_setup(|setup| setup.only = only),
            SessionMessage::TakeBack(kind, reply) => {
                let input = state.queue.pop_last(kind);
                state.announce_taken_back(input.as_slice());
                let _gone = reply.send(input);
            }
            SessionMessage::ClearQueue(kind, reply) => {
                let inputs = state.queue.pop_all(kind);
                state.announce_taken_back(&inputs);
                let _gone = reply.send(inputs);
            }
            SessionMessage::Continue(reply) => {
                let _gone = reply.send(state.continue_work(&myself));
            }
            SessionMessage::Revise(revision) => state.revise_later(*revision),
            SessionMessage::Revised(revised) => {
                let revised = revised?; // after a panic, the port is dropped
                state.activity = Activity::Idle(revised.opened);
                revised.answer.send();
            }
            SessionMessage::Abort(level) => state.abort(level),
            SessionMessage::Close(reply) => {
                state.closing = Some(reply);
                state.abort(CancelLevel::Gently);
            }
            SessionMessage::BeforeRequest(reply) => {
                let model = state.next_model.take();
                let (thinking, setup) = (state.next_thinking.take(), state.next_setup.take());
                let steering = state.queue.before_request();
                let changes = RequestChanges { model, thinking, setup, steering };
                let _gone = reply.send(changes);
            }
            SessionMessage::BeforeStop(reply) => {
                let _gone = reply.send(state.queue.before_stop());
            }
            SessionMessage::Interrupts(reply) => {
                let _gone = reply.send(state.queue.interrupts());
            }
            SessionMessage::BackgroundEnded(text) => state.background_ended(text),
            SessionMessage::Aborted => state.announce_end(&AgentEnd::Aborted),
            SessionMessage::Ended(ended) => state.end(ended?),
        }
        state.go_on(&myself);
        Ok(())
    }
}

impl SessionState {
    fn open(
        &mut self,
        myself: &ActorRef<SessionMessage>,
        reply: RpcReplyPort<Result<OpenedLog, Failure>>,
    ) {
        self.activity = Activity::Working(Work::new(CancelToken::default(), None));
        let arguments = Arc::clone(&self.arguments);
        let job =
            async move { open(&arguments, &OpenedTools::of(&arguments.executor).await?).await };
        let job = job.instrument(self.arguments.span.clone());
        let then = |opened| SessionMessage::Opened(opened, reply);
        self.jobs.run(Job::SessionOpen, myself, job, then);
    }

    fn note_opened(&mut self, opened: &Opened) -> OpenedLog {
        self.provider = Some(Arc::clone(opened.model.client.routes.current()));
        let (messages, usage) = opened.conversation.size();
        OpenedLog { id: opened.conversation.session(), messages, usage }
    }

    fn continue_work(&mut self, myself: &ActorRef<SessionMessage>) -> Result<(), ContinueError> {
        let Activity::Idle(opened) = &self.activity else { return Err(ContinueError::Busy) };
        if let Some(opened) = opened {
            if opened.conversation.size().0 == 0 {
                return Err(ContinueError::Empty);
            }
            if opened.conversation.awaits_input() {
                return Err(ContinueError::Answered);
            }
        }
        self.start(myself, None, None);
        Ok(())
    }

    fn change_setup(&mut self, change: impl FnOnce(&mut RequestSetup)) {
        let system = &self.arguments.spec.system;
        let given = || RequestSetup { system: Arc::clone(system), only: None };
        change(self.setup.get_or_insert_with(given));
        self.next_setup = self.setup.clone();
    }

    fn announce_taken_back(&self, inputs: &[UserInput]) {
        for UserInput { id: input_id, .. } in inputs {
            self.arguments.events.notify(SessionEvent::InputDropped { input_id: *input_id });
        }
    }

    fn say(&mut self, input: SessionInput) {
        match input {
            SessionInput::Prompt(input) => self.queue.prompt(Prompt::free(input)),
            SessionInput::Steer(input) => self.queue.steer(input),
            SessionInput::FollowUp(input) => self.queue.follow_up(input),
        }
    }

    /// Tells the model that something in the background has ended, when it would otherwise stop. A task that
    /// does not work any more is not told.
    fn background_ended(&mut self, text: String) {
        let is_working = match &self.activity {
            Activity::Working(work) => !work.is_ending,
            Activity::Idle(_) => false,
        };
        let is_task = self.arguments.spec.assignment.is_some();
        if is_working || !is_task {
            if !is_task {
                let message = text.lines().next().unwrap_or_default().to_owned();
                self.arguments.events.notify(SessionEvent::Notice { message });
            }
            let input = UserInput::new(InputId::generate(), text);
            self.arguments.events.notify(SessionEvent::InputQueued {
                input_id: input.id,
                queue: QueueKind::FollowUp,
                text: input.text.clone(),
            });
            self.queue.follow_up(input);
        }
    }

    /// If the session is idle, stops the actor if it is closing, and otherwise starts work on the
    /// next input.
    fn go_on(&mut self, myself: &ActorRef<SessionMessage>) {
        let Activity::Idle(_) = self.activity else { return };
        if let Some(reply) = self.closing.take() {
            let _gone = reply.send(());
            myself.stop(None);
            return;
        }
        if let Some(revision) = self.revisions.pop_front() {
            return self.revise(myself, revision);
        }
        if let Some(prompt) = self.queue.next_prompt() {
            let asked_by = self.asked.remove(&prompt.input.id);
            self.start(myself, Some(prompt), asked_by);
        }
    }

    fn start(
        &mut self,
        myself: &ActorRef<SessionMessage>,
        prompt: Option<Prompt>,
        asked_by: Option<RpcReplyPort<AgentEnd>>,
    ) {
        let Activity::Idle(opened) = &mut self.activity else { return }; // already working
        let (opened, abort) = (opened.take(), CancelToken::default());
        self.next_setup = self.setup.clone(); // each work begins with what the session was opened with
        self.activity = Activity::Working(Work::new(abort.clone(), asked_by));
        self.arguments.events.notify(SessionEvent::AgentStart);
        let (arguments, session) = (Arc::clone(&self.arguments), myself.clone());
        let turns = Box::new(Turns { arguments, session, opened, prompt, abort });
        let job = turns.run().instrument(self.arguments.span.clone());
        self.jobs.run(Job::SessionWork, myself, job, SessionMessage::Ended);
    }

    fn revise_later(&mut self, revision: Revision) {
        match (&revision, &self.activity) {
            (Revision::Compact(..), Activity::Working(working)) => {
                working.abort.cancel(CancelLevel::Gently);
            }
            (Revision::Navigate(..), Activity::Working(work)) if !work.is_ending => {
                let busy = Failure::new(FailureClass::Invalid, "the session is working");
                return revision.refused(AgentEnd::Failed(busy)).send();
            }
            (_, Activity::Working(_) | Activity::Idle(_)) => {}
        }
        self.revisions.push_back(revision);
    }

    /// Changes the conversation of the idle session.
    fn revise(&mut self, myself: &ActorRef<SessionMessage>, revision: Revision) {
        let Activity::Idle(opened) = &mut self.activity else { return }; // `go_on` has looked
        let (mut opened, abort) = (opened.take(), CancelToken::default());
        if let (Some(opened), Some(model)) = (&mut opened, &self.next_model) {
            opened.model = model.clone();
        }
        self.activity = Activity::Working(Work::new(abort.clone(), None));
        let (arguments, session) = (Arc::clone(&self.arguments), myself.clone());
        let turns = Box::new(Turns { arguments, session, opened, prompt: None, abort });
        let job = turns.revise(revision).instrument(self.arguments.span.clone());
        self.jobs.run(Job::SessionRevision, myself, job, SessionMessage::Revised);
    }

    /// Announces the end of the work. A request that follows the announcement waits until the session
    /// is idle, and is not refused.
    fn announce_end(&mut self, end: &AgentEnd) {
        if let Activity::Working(work) = &mut self.activity
            && !std::mem::replace(&mut work.is_ending, true)
        {
            self.arguments.events.notify(SessionEvent::AgentEnd { end: end.clone() });
        }
    }

    fn end(&mut self, ended: Ended) {
        self.announce_end(&ended.end);
        let activity = std::mem::replace(&mut self.activity, Activity::Idle(ended.opened));
        if let Activity::Working(Work { asked_by: Some(asked_by), .. }) = activity {
            let _gone = asked_by.send(ended.end);
        }
    }

    fn abort(&mut self, level: CancelLevel) {
        for input_id in self.queue.clear() {
            self.arguments.events.notify(SessionEvent::InputDropped { input_id });
            if let Some(asked_by) = self.asked.remove(&input_id) {
                let _gone = asked_by.send(AgentEnd::Aborted);
            }
        }
        let Activity::Working(working) = &self.activity else { return };
        let again = working.abort.is_cancelled();
        working.abort.cancel(level);
        if again {
            // The work waits for calls that an earlier abort interrupted. This interrupts them
            // again, at the new level.
            let _dead = self.arguments.executor.cast(ToolExecutorMessage::Interrupt(level));
        }
    }

    fn set_model(
        &mut self,
        myself: &ActorRef<SessionMessage>,
        route: ModelRoute,
        reply: RpcReplyPort<Result<(), Failure>>,
    ) {
        let arguments = Arc::clone(&self.arguments);
        let job = async move { open_model(&arguments, route).map(Box::new) };
        let then = |model| SessionMessage::ModelOpened(model, reply);
        self.jobs.run(Job::SessionModel, myself, job, then);
    }

    fn note_model(
        &mut self,
        model: Result<Result<Box<Model>, Failure>, Panicked>,
    ) -> Result<(), Failure> {
        let crashed =
            |panicked: Panicked| Failure::new(FailureClass::Crashed, panicked.to_string());
        let model = *model.map_err(crashed).flatten()?;
        self.provider = Some(Arc::clone(model.client.routes.current()));
        self.next_model = Some(model);
        Ok(())
    }
}
