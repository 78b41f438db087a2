//! One attempt at a request: reads the provider's events within its deadlines, passes them on, and
//! keeps what it received.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::BoxStream;
use protocol::{Failure, FailureClass, ModelRoute, Part, Usage};

use super::policy::{Watchdog, estimated_usage};
use crate::ports::{AttemptFailure, GateWait, ModelAnswer, ModelEvent, ModelStream, Timer};

/// What came of an attempt.
pub(super) struct AttemptEnd {
    pub(super) answer: Result<ModelAnswer, AttemptFailure>,
    /// Text and thinking that came before it failed.
    pub(super) partial: Vec<Part>,
    /// What it used, estimated where the provider does not count it.
    pub(super) usage: Usage,
}

impl From<AttemptFailure> for AttemptEnd {
    /// The end of an attempt that was not begun.
    fn from(failed: AttemptFailure) -> Self {
        Self { answer: Err(failed), partial: Vec::new(), usage: Usage::ZERO }
    }
}

/// Listens to an attempt to its end.
pub(super) async fn read_answer(
    stream: ModelStream,
    timer: &dyn Timer,
    watchdog: Watchdog,
    progress: ProgressSink<'_>,
) -> AttemptEnd {
    let ModelStream { request_bytes, events } = stream;
    let mut events = WatchedEvents::new(events, timer, watchdog);
    let mut received = PartialAnswer::default();
    let answer = loop {
        match events.next().await {
            Ok(Some(ModelEvent::Ended(answer))) => {
                received.add(0);
                break Ok(answer);
            }
            Ok(Some(ModelEvent::Failed(failed))) => break Err(failed),
            Ok(Some(event)) => received.take(event, progress),
            Ok(None) => {
                let what = "the answer ended in the middle";
                break Err(AttemptFailure::new(FailureClass::Transient, what));
            }
            Err(SilenceTimeout(limit)) => {
                let what = format!("the model said nothing for {limit:?}");
                break Err(AttemptFailure::new(FailureClass::Transient, what));
            }
        }
    };
    let usage = received.usage(request_bytes);
    AttemptEnd { answer, partial: received.partial, usage }
}

/// What has come of an answer so far.
#[derive(Default)]
struct PartialAnswer {
    partial: Vec<Part>,
    /// How many bytes there were in all, once the model has begun to answer.
    bytes: Option<usize>,
    /// What the provider has counted so far.
    counted: Option<Usage>,
}

impl PartialAnswer {
    fn take(&mut self, event: ModelEvent, progress: ProgressSink<'_>) {
        match event {
            ModelEvent::Text(text) => {
                progress(Progress::Text(&text));
                self.add(text.len());
                if let Some(Part::Text { text: before }) = self.partial.last_mut() {
                    before.push_str(&text);
                } else {
                    self.partial.push(Part::Text { text });
                }
            }
            ModelEvent::Thinking(thinking) => {
                progress(Progress::Thinking(&thinking));
                self.add(thinking.len());
                if let Some(Part::Thinking { thinking: before }) = self.partial.last_mut() {
                    before.push_str(&thinking);
                } else {
                    self.partial.push(Part::Thinking { thinking });
                }
            }
            ModelEvent::Calling(tool) => progress(Progress::Calling(&tool)),
            ModelEvent::Received(bytes) => self.add(bytes),
            ModelEvent::Used(usage) => self.counted = Some(usage),
            // The ends are taken before.
            ModelEvent::Alive | ModelEvent::Ended(_) | ModelEvent::Failed(_) => {}
        }
    }

    fn add(&mut self, bytes: usize) {
        self.bytes = Some(self.bytes.unwrap_or(0).saturating_add(bytes));
    }

    /// Returns what was used: what is not counted is estimated, and what has not begun to be
    /// answered is nothing.
    fn usage(&self, request_bytes: usize) -> Usage {
        let estimated = || self.bytes.map(|bytes| estimated_usage(request_bytes, bytes));
        self.counted.or_else(estimated).unwrap_or(Usage::ZERO)
    }
}

/// The events of an attempt, watched.
pub(super) struct WatchedEvents<'a> {
    events: BoxStream<'static, ModelEvent>,
    timer: &'a dyn Timer,
    /// How long the next event may take; zero for ever.
    limit: Duration,
    /// How long each event after it may take.
    idle: Duration,
    /// When the last event came, or the attempt began.
    last: Duration,
    /// Goes off some time after `last`. Events come often: it is not set again for each.
    alarm: Option<BoxFuture<'static, ()>>,
}

/// The provider was silent for so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SilenceTimeout(pub(super) Duration);

impl<'a> WatchedEvents<'a> {
    pub(super) fn new(
        events: BoxStream<'static, ModelEvent>,
        timer: &'a dyn Timer,
        watchdog: Watchdog,
    ) -> Self {
        let Watchdog { first_event: limit, idle } = watchdog;
        Self { events, timer, limit, idle, last: timer.now(), alarm: None }
    }

    /// Returns the next event; nothing after the last.
    pub(super) async fn next(&mut self) -> Result<Option<ModelEvent>, SilenceTimeout> {
        if self.limit.is_zero() {
            let event = self.events.next().await;
            self.restart_alarm();
            return Ok(event);
        }
        loop {
            let left = self.limit.saturating_sub(self.timer.now().saturating_sub(self.last));
            let alarm = self.alarm.get_or_insert_with(|| self.timer.sleep(left));
            match select(self.events.next(), alarm).await {
                Either::Left((event, _alarm)) => {
                    self.restart_alarm();
                    return Ok(event);
                }
                Either::Right(((), _event)) => {
                    self.alarm = None;
                    if self.timer.now().saturating_sub(self.last) >= self.limit {
                        return Err(SilenceTimeout(self.limit));
                    }
                }
            }
        }
    }

    fn restart_alarm(&mut self) {
        self.last = self.timer.now();
        if self.limit != self.idle {
            self.limit = self.idle;
            self.alarm = None;
        }
    }
}

/// What happens to a request before its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress<'a> {
    /// More text for the user.
    Text(&'a str),
    /// More thinking.
    Thinking(&'a str),
    /// The model begins to call this tool.
    Calling(&'a str),
    /// The gate of the account makes the request wait.
    Waiting {
        /// How often the provider was asked again so far.
        retries: u32,
        /// What is waited for.
        wait: &'a GateWait,
    },
    /// The attempt failed and what came of it is void. There will be another.
    Retrying {
        /// Counts the retries from 1.
        retry: u32,
        /// How long is waited before.
        delay: Duration,
        /// Why the attempt failed.
        failure: &'a Failure,
    },
    /// The route failed for good and what came of it is void. Another one is asked.
    FallingBack {
        /// The model that is asked now.
        to: &'a ModelRoute,
        /// Why the one before failed.
        failure: &'a Failure,
    },
}

/// Told what happens to a request, as it happens.
pub type ProgressSink<'a> = &'a (dyn Fn(Progress<'_>) + Send + Sync);
