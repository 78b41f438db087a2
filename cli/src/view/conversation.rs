//! Drives the view: passes events and keys to its state, does what the state asks for, and draws.

mod answers;
mod children;
mod sessions;
mod successor;
mod waking;
mod work;

use std::collections::VecDeque;
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actors::{Engine, Events, SessionHandle};
use crossterm::event::Event as Input;
use engine::exit_code::Interruption;
use engine::failpoint;
use engine::fault::Faults;
use engine::ports::{CancelToken, LineSink};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use protocol::{
    Event, EventKind, Failure, FailureClass, InputId, QueueKind, SessionEvent, UserInput,
};
use rustix::io::Errno;
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::command::InputForm;
use super::completion::Candidates;
use super::earlier::Earlier;
use super::entry::NoteKind;
use super::hangup::Hangup;
use super::highlight::Syntaxes;
use super::history::History;
use super::isolated::IsolatedWork;
use super::ports::ConversationPorts;
use super::sessions::ConversationSessions;
use super::state::{Effect, IsolationState, Leave, Status, ViewState};
use super::surface::{Surface, Typed, control};
use crate::render::time_left;
use crate::signals::Signals;
use regatta::error::{Error, ErrorKind};
use regatta::session::{ChosenLog, Prompts};

use answers::Answered;
use children::RunEvents;
use successor::Leaving;
pub(crate) use successor::{ConversationEnd, KeptView, ViewOf};
use waking::received;

/// The end of a conversation whose terminal is gone.
const TERMINATED: ConversationEnd = ConversationEnd::Interrupted(Interruption::Terminate);

fn crashed(what: &str) -> ConversationEnd {
    ConversationEnd::EngineFailed(Failure::new(FailureClass::Crashed, what))
}

/// A session that is shown on the terminal.
pub(crate) struct Conversation<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) session: &'a SessionHandle,
    /// The events of the engine since before the session was opened.
    pub(crate) events: Events,
    /// The log of the session.
    pub(crate) log: &'a ChosenLog,
    /// The prompts of the command line.
    pub(crate) prompts: Prompts,
    /// What was said before in the session.
    pub(crate) earlier: Earlier,
    pub(crate) ports: &'a dyn ConversationPorts,
    /// The other sessions of the folder.
    pub(crate) sessions: &'a dyn ConversationSessions,
    /// The work of the session, if it is isolated.
    pub(crate) isolated: Option<&'a dyn IsolatedWork>,
    pub(crate) view: ViewOf,
    pub(crate) faults: Faults,
}

impl Conversation<'_> {
    /// Shows the session until the user leaves it. The terminal is as it was when this returns.
    ///
    /// # Errors
    /// The terminal cannot be used, or there is a bug.
    pub(crate) async fn run(self, signals: &mut Signals) -> Result<ConversationEnd, Error> {
        let left = AssertUnwindSafe(self.show(signals)).catch_unwind().await;
        // The panic has put the terminal back, and its words are in the log.
        left.unwrap_or_else(|_panic| Err(Error::new(ErrorKind::Bug, "the view failed")))
    }

    async fn show(self, signals: &mut Signals) -> Result<ConversationEnd, Error> {
        let Some(state) = self.session.state().await else {
            return Ok(crashed("the session is closed"));
        };
        let status = Status {
            model: state.model.name(),
            thinking: state.thinking_level,
            context_window: self.ports.context_window(&state.model),
            context: 0,
            usage: state.usage,
            wait: None,
        };
        let failed = |error: io::Error| Error::output(&error);
        let isolation = IsolationState::of(self.isolated);
        let KeptView { mut view, surface, syntaxes, began } = match self.view {
            ViewOf::New { kind, palette, size, intro } => {
                let syntaxes = Syntaxes::default();
                let mut view = ViewState::new(status, syntaxes.clone());
                view.history = History::new(self.ports.prompts());
                view.candidates = Candidates {
                    models: self.ports.models(),
                    cycle: self.ports.cycled_models(),
                    files: None,
                    isolation,
                };
                view.isolation = isolation;
                view.earlier(&self.earlier);
                view.note(NoteKind::Info, intro);
                let surface = Surface::enter(kind, palette, size).map_err(failed)?;
                if surface.is_plain() {
                    view.input_form = InputForm::Lines;
                }
                KeptView { view, surface, syntaxes, began: Instant::now() }
            }
            ViewOf::Before { kept, text, notes } => {
                let mut kept = *kept;
                kept.view.begin_session(status, text);
                notes.into_iter().for_each(|note| kept.view.note(NoteKind::Info, note));
                kept.view.earlier(&self.earlier);
                kept
            }
        };
        view.set_log(self.log);
        view.subagents.begin(self.session.id());
        let mut shown = Shown {
            engine: self.engine,
            session: self.session,
            log: self.log,
            ports: self.ports,
            sessions: self.sessions,
            isolated: self.isolated,
            requests: FuturesUnordered::new(),
            of_runs: RunEvents::new(self.engine.listen_to_runs().await),
            stop_command: CancelToken::default(),
            said: unbounded_channel(),
            view,
            surface,
            syntaxes,
            began,
            left: None,
        };
        let (mut images, mut mentions) = (self.prompts.images, self.prompts.mentions.into_iter());
        for text in self.prompts.texts {
            let attachments = std::mem::take(&mut images);
            let mentions = mentions.next().unwrap_or_default();
            let input = UserInput::new(InputId::generate(), text);
            let input = UserInput { attachments, mentions, ..input };
            shown.view.queued(QueueKind::Prompt, &input);
            shown.perform(vec![Effect::Send(QueueKind::Prompt, input)]).await.map_err(failed)?;
        }
        match shown.converse(self.events, signals, &self.faults).await {
            Ok(Leaving::For(end)) => Ok(end),
            Ok(Leaving::To(opened)) => Ok(ConversationEnd::Switch(opened, Box::new(shown.keep()))),
            Ok(Leaving::Work(end)) => Ok(ConversationEnd::Work(end, Box::new(shown.keep()))),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::IO) => Ok(TERMINATED),
                _other => Err(failed(error)),
            },
        }
    }
}

/// The view of a session on the terminal.
struct Shown<'a> {
    engine: &'a Engine,
    session: &'a SessionHandle,
    log: &'a ChosenLog,
    ports: &'a dyn ConversationPorts,
    sessions: &'a dyn ConversationSessions,
    isolated: Option<&'a dyn IsolatedWork>,
    /// The requests to the session that have not been answered.
    requests: FuturesUnordered<LocalBoxFuture<'a, Answered>>,
    of_runs: RunEvents,
    /// Stops the command of the user.
    stop_command: CancelToken,
    /// The output of the command of the user.
    said: (UnboundedSender<String>, UnboundedReceiver<String>),
    view: ViewState,
    surface: Surface,
    syntaxes: Syntaxes,
    began: Instant,
    left: Option<Leaving>,
}

impl Shown<'_> {
    async fn converse(
        &mut self,
        mut events: Events,
        signals: &mut Signals,
        faults: &Faults,
    ) -> io::Result<Leaving> {
        // A shell stops a program that leaves Ctrl-Z to its terminal.
        let mut stopped = match self.surface.is_plain() {
            true => None,
            false => Some(signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?),
        };
        let mut hangup = Hangup::watch()?;
        loop {
            let effects = self.view.release(self.began.elapsed());
            self.perform(effects).await?;
            if let Some(left) = self.left.take_if(|left| left.keeps_view()) {
                return Ok(left);
            }
            if let Some(left) = self.left.take() {
                let written = self.surface.leave(&mut self.view, &self.syntaxes);
                return match left {
                    // The terminal may be gone.
                    Leaving::For(ConversationEnd::Interrupted(Interruption::Terminate)) => Ok(left),
                    left => written.map(|()| left),
                };
            }
            if self.surface.is_plain() {
                self.view.list_as_text();
            }
            self.draw()?;
            let until_wake = self.until_wake();
            tokio::select! {
                event = events.recv() => {
                    let Some(event) = event else {
                        self.leave(crashed("the session has ended"));
                        continue;
                    };
                    self.events(event, &mut events).await?;
                }
                Some(event) = self.of_runs.recv() => self.run_events(&event),
                () = hangup.happened() => self.leave(TERMINATED),
                input = self.surface.next() => {
                    failpoint!(faults, "view.key")?;
                    match input {
                        Some(input) => self.inputs(input?).await?,
                        None => self.leave(TERMINATED),
                    }
                }
                Some(answer) = self.requests.next(), if !self.requests.is_empty() => {
                    let effects = self.answered(answer).await;
                    self.perform(effects).await?;
                }
                Some(line) = self.said.1.recv() => self.view.command_said(line),
                () = received(&mut stopped) => self.suspend().await?,
                why = signals.next() => match why {
                    // It is a key there, and the terminal tells of it in no other way.
                    Interruption::Interrupt if self.surface.is_plain() => {
                        self.inputs(Typed::Input(control('c'))).await?;
                    }
                    why => self.leave(ConversationEnd::Interrupted(why)),
                },
                what = self.engine.failed() => self.leave(ConversationEnd::EngineFailed(what)),
                () = tokio::time::sleep(until_wake.unwrap_or_default()), if until_wake.is_some() => {
                    self.wake().await?;
                }
            }
        }
    }

    /// Applies an event, and all that have arrived after it.
    async fn events(&mut self, first: Arc<Event>, events: &mut Events) -> io::Result<()> {
        self.waiting_run_events();
        let mut next = Some(first);
        while let Some(event) = next {
            if let EventKind::SessionEvent { event: said, .. } = &event.kind {
                let now = self.began.elapsed();
                let effects = self.view.event(said, now);
                if let SessionEvent::RequestWait { waits_for, .. } = said
                    && let Some(left) = time_left(waits_for, event.at)
                {
                    self.view.waits_until(now + Duration::from_millis(left));
                }
                self.perform(effects).await?;
            }
            next = events.take();
        }
        Ok(())
    }

    /// Applies what was typed, and all that was typed after it.
    async fn inputs(&mut self, first: Typed) -> io::Result<()> {
        let mut next = Some(first);
        while let Some(input) = next {
            let effects = match input {
                Typed::Line(line) => self.view.line(&line, self.began.elapsed()),
                Typed::Input(Input::Key(key)) => self.view.key(key, self.began.elapsed()),
                Typed::Input(Input::Paste(text)) => {
                    self.view.paste(&text);
                    Vec::new()
                }
                // The next drawing asks for the size.
                Typed::Input(_other) => Vec::new(),
            };
            self.perform(effects).await?;
            if self.left.is_some() {
                return Ok(());
            }
            if self.view.wants_files() {
                self.view.set_files(Vec::new()); // until they are listed
                let files = self.ports.files();
                self.requests.push(Box::pin(async move { Answered::Files(files.await) }));
            }
            next = self.surface.next_at_once().await.transpose()?;
        }
        Ok(())
    }

    async fn perform(&mut self, effects: Vec<Effect>) -> io::Result<()> {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::SendTyped(kind, mut input) => {
                    let mentions = self.ports.mentions(&self.view.typed_part(&input.text));
                    if let Some(files) = self.view.mention(&input, mentions) {
                        input.mentions = files;
                        effects.push_front(Effect::Send(kind, input));
                    }
                }
                Effect::Send(QueueKind::Prompt, input) => self.session.prompt(input),
                Effect::Send(QueueKind::Steering, input) => self.session.steer(input),
                Effect::Send(QueueKind::FollowUp, input) => self.session.follow_up(input),
                // The event of the dropped input gives its text back to the editor.
                Effect::TakeBack(kind) => drop(self.session.take_back(kind).await),
                Effect::Abort(level) => self.session.abort(level),
                Effect::Answer(question, choice) => {
                    let answered = self.session.answer(question, choice);
                    self.requests.push(Box::pin(answered.map(Answered::Question)));
                }
                Effect::Leave(Leave::Done) => self.leave(ConversationEnd::Done),
                Effect::Leave(Leave::Interrupted) => {
                    self.leave(ConversationEnd::Interrupted(Interruption::Interrupt));
                }
                Effect::SetModel(name) => match self.ports.find_model(&name) {
                    Ok(model) => {
                        let session = self.session;
                        self.requests.push(Box::pin(async move {
                            let set = session.set_model(model.clone()).await;
                            Answered::Model(model, set)
                        }));
                    }
                    Err(why) => self.view.note(NoteKind::Error, why),
                },
                Effect::SetThinking(level) => {
                    let session = self.session;
                    let set =
                        async move { Answered::Thinking(session.set_thinking_level(level).await) };
                    self.requests.push(Box::pin(set));
                }
                Effect::Approvals(mode) => self.approvals(mode),
                Effect::Agents => self.list_agents(),
                Effect::Jobs(jobs) => self.jobs(jobs),
                Effect::Compact(instructions) => {
                    let session = self.session;
                    self.requests.push(Box::pin(async move {
                        Answered::Compacted(session.compact(instructions).await.map(drop))
                    }));
                }
                Effect::Session(request) => self.request(request).await,
                Effect::Work(request) => self.ask_of_work(request),
                Effect::Run(command) => {
                    let (sender, stop) = (self.said.0.clone(), CancelToken::default());
                    self.stop_command = stop.clone();
                    let line: LineSink = Arc::new(move |line| drop(sender.send(line)));
                    let ran = self.ports.run(command, line, stop);
                    self.requests.push(Box::pin(ran.map(Answered::Ran)));
                }
                Effect::StopCommand(level) => self.stop_command.cancel(level),
                Effect::Append(entry) => {
                    let kept = self.session.append(*entry);
                    self.requests.push(Box::pin(kept.map(|kept| Answered::Kept(kept.map(drop)))));
                }
                Effect::Remember(prompt) => self.ports.remember(&prompt),
                Effect::Suspend => self.suspend().await?,
                Effect::Redraw => self.surface.forget(),
            }
        }
        Ok(())
    }

    fn leave(&mut self, end: ConversationEnd) {
        self.left = Some(Leaving::For(end));
    }

    fn draw(&mut self) -> io::Result<()> {
        self.surface.draw(&mut self.view, self.began.elapsed(), &self.syntaxes)
    }
}
