//! Shows a run on a thread of its own, so that a reader of our output who stands still holds up
//! nothing but what is shown: neither signals nor the closing of the engine.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use actors::Events;
use engine::ports::Clock;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;

use crate::render::Renderer;

/// How often the live view moves.
const TICK: Duration = Duration::from_millis(100);

/// A run that is being shown.
#[derive(Debug)]
pub(crate) struct Display {
    commands: mpsc::UnboundedSender<DisplayCommand>,
    failure: Option<oneshot::Receiver<io::Error>>,
    ended: oneshot::Receiver<io::Result<()>>,
}

/// Says lines to whoever follows the run.
#[derive(Clone, Debug)]
pub(crate) struct Notes(mpsc::UnboundedSender<DisplayCommand>);

#[derive(Debug)]
enum DisplayCommand {
    Note(Cow<'static, str>),
    Finish,
}

impl Display {
    /// Begins to show `events`.
    ///
    /// # Errors
    /// The machine has no thread left.
    pub(crate) fn start(
        show: Box<dyn Renderer>,
        events: Events,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let (sender, commands) = mpsc::unbounded_channel();
        let (failure_sender, failure) = oneshot::channel();
        let (end_sender, ended) = oneshot::channel();
        let runtime = Handle::current();
        let mut showing =
            DisplayLoop { show, events, commands, clock, failure: Some(failure_sender) };
        thread::Builder::new().name("display".to_owned()).spawn(move || {
            let shown = runtime.block_on(showing.until_finished());
            let _gone = end_sender.send(shown); // then nobody waits for it
        })?;
        Ok(Self { commands: sender, failure: Some(failure), ended })
    }

    /// Returns what says lines between the events.
    pub(crate) fn notes(&self) -> Notes {
        Notes(self.commands.clone())
    }

    /// Waits until standard output cannot be written, and says why. Comes back once at most.
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

    /// Has everything shown that was published so far, and what the run came to. Takes as long as
    /// the reader does.
    ///
    /// # Errors
    /// What the run came to cannot be written, or showing it has panicked.
    pub(crate) async fn finish(self) -> io::Result<()> {
        let _ended = self.commands.send(DisplayCommand::Finish); // it can only have panicked
        self.ended.await.unwrap_or_else(|_panicked| Err(io::Error::other("showing it crashed")))
    }
}

impl Notes {
    /// Says a line. It must be safe already.
    pub(crate) fn say(&self, line: impl Into<Cow<'static, str>>) {
        let _ended = self.0.send(DisplayCommand::Note(line.into())); // then nothing is shown any more
    }
}

/// What the thread works with.
struct DisplayLoop {
    show: Box<dyn Renderer>,
    events: Events,
    commands: mpsc::UnboundedReceiver<DisplayCommand>,
    clock: Arc<dyn Clock>,
    /// Is told of the first failure.
    failure: Option<oneshot::Sender<io::Error>>,
}

impl DisplayLoop {
    /// Shows what happens. Nothing but this runs on the thread, so that every write may block it.
    async fn until_finished(&mut self) -> io::Result<()> {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut is_over = false;
        loop {
            tokio::select! {
                biased;
                event = self.events.recv(), if !is_over => match event {
                    Some(event) => self.event(&event),
                    None => is_over = true,
                },
                order = self.commands.recv() => match order {
                    Some(DisplayCommand::Note(line)) => self.show.note(&line),
                    Some(DisplayCommand::Finish) | None => return self.show.finish(),
                },
                _ = tick.tick() => self.show.tick(self.clock.now()),
            }
        }
    }

    fn event(&mut self, event: &protocol::Event) {
        let mut shown = self.show.event(event);
        if self.events.is_empty() {
            shown = shown.and_then(|()| self.show.flush());
        }
        if let Err(error) = shown
            && let Some(failure) = self.failure.take()
        {
            tracing::warn!(%error, "standard output cannot be written");
            let _gone = failure.send(error); // then the run is over
        }
    }
}
