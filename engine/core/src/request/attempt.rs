//! One attempt at a request: listens to the provider, and keeps what came of the answer.

use protocol::{FailureClass, Part, Usage};

use super::estimate::estimated_usage;
use super::policy::Watchdog;
use super::progress::{Progress, ProgressSink};
use super::watchdog::{Silent, WatchedEvents};
use crate::ports::{AttemptFailure, ModelAnswer, ModelEvent, ModelStream, Timer};

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
pub(super) async fn listen(
    stream: ModelStream,
    timer: &dyn Timer,
    watchdog: Watchdog,
    progress: ProgressSink<'_>,
) -> AttemptEnd {
    let ModelStream { request_bytes, events } = stream;
    let mut events = WatchedEvents::new(events, timer, watchdog);
    let mut received = Received::default();
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
            Err(Silent(limit)) => {
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
struct Received {
    partial: Vec<Part>,
    /// How many bytes there were in all, once the model has begun to answer.
    bytes: Option<usize>,
    /// What the provider has counted so far.
    counted: Option<Usage>,
}

impl Received {
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
