//! Displays a run on its own thread. A slow or stopped reader of the output delays only the
//! display. It does not delay the handling of signals or the shutdown of the engine.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use engine::ports::Clock;
use regatta::{Events, RunControls};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, sleep_until};

use crate::question_keys::QuestionKeys;
use crate::render::Renderer;

/// How often the live view is redrawn.
const TICK: Duration = Duration::from_millis(100);

/// How long events gather after one that was displayed at once. Hundreds of agents would otherwise
/// wake the thread with each of theirs.
const GATHER: Duration = Duration::from_millis(10);

/// The display of a run, on its own thread.
#[derive(Debug)]
pub(crate) struct Display {
    commands: mpsc::UnboundedSender<DisplayCommand>,
    failure: Option<oneshot::Receiver<io::Error>>,
    ended: oneshot::Receiver<io::Result<()>>,
}

/// Sends notes to the display.
#[derive(Clone, Debug)]
pub(crate) struct Notes(mpsc::UnboundedSender<DisplayCommand>);

#[derive(Debug)]
enum DisplayCommand {
    /// Displays these events from now on.
    Show(Events),
    /// Displays subagents by these events of all runs from now on.
    ShowSubagents(Events),
    /// Answers the questions of this run from now on.
    Answer(RunControls),
    Note(Cow<'static, str>),
    Finish,
}

impl Display {
    /// Starts the thread, which displays notes, and events as soon as [`Display::show`] gives it some.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn start(show: Box<dyn Renderer>, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let (sender, commands) = mpsc::unbounded_channel();
        let (failure_sender, failure) = oneshot::channel();
        let (end_sender, ended) = oneshot::channel();
        let runtime = Handle::current();
        let mut showing = DisplayLoop {
            show,
            events: None,
            of_runs: None,
            asking: None,
            keys: QuestionKeys::default(),
            commands,
            clock,
            failure: Some(failure_sender),
        };
        thread::Builder::new().name("display".to_owned()).spawn(move || {
            let shown = runtime.block_on(showing.until_finished());
            let _gone = end_sender.send(shown); // fails if the `Display` was dropped
        })?;
        Ok(Self { commands: sender, failure: Some(failure), ended })
    }

    /// Begins to display events.
    pub(crate) fn show(&self, events: Events) {
        let _ended = self.commands.send(DisplayCommand::Show(events)); // fails if the thread has panicked
    }

    /// Begins to display subagents by the events of all runs.
    pub(crate) fn show_subagents(&self, of_runs: Events) {
        let _ended = self.commands.send(DisplayCommand::ShowSubagents(of_runs)); // as for `show`
    }

    /// Begins to read the keys that answer the questions of a run.
    pub(crate) fn answer(&self, run: RunControls) {
        let _ended = self.commands.send(DisplayCommand::Answer(run)); // as for `show`
    }

    /// Returns a sender of notes, which are displayed between the events.
    pub(crate) fn notes(&self) -> Notes {
        Notes(self.commands.clone())
    }

    /// Waits until a write to standard output fails, and returns the error. Completes at most once.
    pub(crate) async fn failed(&mut self) -> io::Error {
        if let Some(failure) = &mut self.failure {
            let failed = failure.await;
            self.failure = None;
            if let Ok(error) = failed {
                return error;
            }
        }
        std::future::pending().await
    }

    /// Displays every event published so far, and then the result of the run. Waits until the
    /// reader of the output has taken everything.
    ///
    /// # Errors
    /// The result cannot be written, or the display has panicked.
    pub(crate) async fn finish(self) -> io::Result<()> {
        let _ended = self.commands.send(DisplayCommand::Finish); // fails if the thread has panicked
        self.ended.await.unwrap_or_else(|_panicked| Err(io::Error::other("showing it crashed")))
    }
}

impl Notes {
    /// Sends a line, which must be printable.
    pub(crate) fn say(&self, line: impl Into<Cow<'static, str>>) {
        let _ended = self.0.send(DisplayCommand::Note(line.into())); // fails if the display ended
    }
}

/// The state of the display's thread.
struct DisplayLoop {
    show: Box<dyn Renderer>,
    /// `None` until there are some, and after their end.
    events: Option<Events>,
    /// The events of all runs, if subagents are displayed.
    of_runs: Option<Events>,
    /// The run whose questions are answered, if there is one.
    asking: Option<RunControls>,
    keys: QuestionKeys,
    commands: mpsc::UnboundedReceiver<DisplayCommand>,
    clock: Arc<dyn Clock>,
    /// Sends the first write error to `Display::failed`.
    failure: Option<oneshot::Sender<io::Error>>,
}

impl DisplayLoop {
    /// Displays events and notes until told to finish. Nothing else runs on the thread, so every write
    /// may block.
    async fn until_finished(&mut self) -> io::Result<()> {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut gathering = None;
        loop {
            tokio::select! {
                biased;
                event = next_of(&mut self.events), if gathering.is_none() => match event {
                    Some(event) => {
                        self.event(&event);
                        self.waiting_events();
                        gathering = Some(Instant::now() + GATHER);
                    }
                    None => self.events = None,
                },
                event = next_of(&mut self.of_runs), if gathering.is_none() => match event {
                    Some(event) => {
                        // What a subagent is below began before it.
                        self.waiting_events();
                        self.show.subagent_event(&event);
                        self.waiting_subagent_events();
                        gathering = Some(Instant::now() + GATHER);
                    }
                    None => self.of_runs = None,
                },
                order = self.commands.recv() => {
                    self.waiting_events();
                    match order {
                        Some(DisplayCommand::Show(events)) => self.events = Some(events),
                        Some(DisplayCommand::ShowSubagents(of_runs)) => self.of_runs = Some(of_runs),
                        Some(DisplayCommand::Answer(run)) => self.asking = Some(run),
                        Some(DisplayCommand::Note(line)) => self.show.note(&line),
                        Some(DisplayCommand::Finish) | None => {
                            self.waiting_subagent_events();
                            self.keys.close();
                            return self.show.finish();
                        }
                    }
                }
                () = until(gathering) => gathering = None,
                _ = tick.tick() => {
                    self.show.tick(self.clock.now());
                    self.read_key().await;
                }
            }
        }
    }

    /// Reads a key while a question is on the terminal.
    async fn read_key(&mut self) {
        let Some(run) = &self.asking else { return };
        let key = self.keys.pressed(self.show.question());
        let answer = key.and_then(|key| self.show.key(key));
        if let Some((question, choice)) = answer
            && let Err(error) = run.answer(question, choice).await
        {
            self.show.note(&format!("note: the answer was not taken: {error}"));
        }
    }

    /// Displays the events that have come.
    fn waiting_events(&mut self) {
        while let Some(event) = self.events.as_mut().and_then(Events::take) {
            self.event(&event);
        }
    }

    fn waiting_subagent_events(&mut self) {
        while let Some(event) = self.of_runs.as_mut().and_then(Events::take) {
            self.show.subagent_event(&event);
        }
    }

    fn event(&mut self, event: &protocol::Event) {
        let mut shown = self.show.event(event);
        if self.events.as_ref().is_none_or(Events::is_empty) {
            shown = shown.and_then(|()| self.show.flush());
        }
        if let Err(error) = shown
            && let Some(failure) = self.failure.take()
        {
            tracing::warn!(%error, "standard output cannot be written");
            let _gone = failure.send(error); // fails if the `Display` was dropped
        }
    }
}

/// Waits for the next event; for ever without a reader.
pub(crate) async fn next_of(events: &mut Option<Events>) -> Option<Arc<protocol::Event>> {
    match events {
        Some(events) => events.recv().await,
        None => std::future::pending().await,
    }
}

/// Waits until a moment; for ever without one.
pub(crate) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
