//! One attempt at a request: reads the events of the provider within the deadlines, passes them on
//! and collects the answer.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::BoxStream;
use protocol::{Failure, FailureClass, Part, Usage};

use super::partial_content::PartialContent;
use super::policy::{Watchdog, estimated_usage};
use crate::ports::{
    AccountId, AttemptFailure, GateWait, ModelAnswer, ModelEvent, ModelStream, RateLimits, Timer,
};

/// The result of one attempt.
pub(super) struct AttemptEnd {
    pub(super) answer: Result<ModelAnswer, AttemptFailure>,
    /// The text and thinking received before the attempt failed.
    pub(super) partial: Vec<Part>,
    /// The usage of the attempt, estimated if the provider does not count it.
    pub(super) usage: Usage,
}

impl From<AttemptFailure> for AttemptEnd {
    /// Returns the result of an attempt that was not started.
    fn from(failed: AttemptFailure) -> Self {
        Self { answer: Err(failed), partial: Vec::new(), usage: Usage::ZERO }
    }
}

/// Reads the events of an attempt until it ends. Calls `accepted` when the provider begins to answer,
/// with the limits that it states.
pub(super) async fn read_answer(
    stream: ModelStream,
    timer: &dyn Timer,
    watchdog: Watchdog,
    accepted: &mut (dyn FnMut(Option<&RateLimits>) + Send),
    progress: ProgressSink<'_>,
) -> AttemptEnd {
    let mut is_accepted = false;
    let ModelStream { request_bytes, events } = stream;
    let mut events = WatchedEvents::new(events, timer, watchdog);
    let mut received = PartialAnswer::default();
    let answer = loop {
        let next = events.next().await;
        if let Ok(Some(event)) = &next
            && !is_accepted
            && !matches!(event, ModelEvent::Failed(_))
        {
            is_accepted = true;
            accepted(if let ModelEvent::Limits(limits) = event { Some(limits) } else { None });
        }
        match next {
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
            Err(SilenceTimeout(silence)) => {
                let what = format!("the model said nothing for {:?}", tenths(silence));
                break Err(AttemptFailure::new(FailureClass::Transient, what));
            }
        }
    };
    let usage = received.usage(request_bytes);
    AttemptEnd { answer, partial: received.partial.into_parts(), usage }
}

/// Returns a time without what is less than a tenth of a second, as people read it.
fn tenths(time: Duration) -> Duration {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(millis - millis % 100)
}

/// The part of an answer received so far.
#[derive(Default)]
struct PartialAnswer {
    partial: PartialContent,
    /// The number of bytes received; absent until the model starts to answer.
    bytes: Option<usize>,
    /// The usage reported by the provider so far.
    counted: Option<Usage>,
}

impl PartialAnswer {
    fn take(&mut self, event: ModelEvent, progress: ProgressSink<'_>) {
        match event {
            ModelEvent::Text { block, text } => {
                progress(Progress::Text { block, text: &text });
                self.add(text.len());
                self.partial.push_text(block, &text);
            }
            ModelEvent::Thinking { block, text } => {
                progress(Progress::Thinking { block, text: &text });
                self.add(text.len());
                self.partial.push_thinking(block, &text);
            }
            ModelEvent::Calling { block, id, tool } => {
                progress(Progress::Calling { block, id: &id, tool: &tool });
                self.add(tool.len());
            }
            ModelEvent::Arguments { block, json } => {
                progress(Progress::Arguments { block, json: &json });
                self.add(json.len());
            }
            ModelEvent::Received(bytes) => self.add(bytes),
            ModelEvent::Used(usage) => self.counted = Some(usage),
            ModelEvent::Notice(text) => progress(Progress::Notice(&text)),
            // `Alive` and `Limits` have no content, and `read_answer` handles `Ended` and `Failed`.
            ModelEvent::Alive
            | ModelEvent::Limits(_)
            | ModelEvent::Ended(_)
            | ModelEvent::Failed(_) => {}
        }
    }

    fn add(&mut self, bytes: usize) {
        self.bytes = Some(self.bytes.unwrap_or(0).saturating_add(bytes));
    }

    /// Returns the usage that the provider counted, or an estimate if it counted none. The usage is
    /// zero if the model did not start to answer.
    fn usage(&self, request_bytes: usize) -> Usage {
        let estimated = || self.bytes.map(|bytes| estimated_usage(request_bytes, bytes));
        self.counted.or_else(estimated).unwrap_or(Usage::ZERO)
    }
}

/// The events of an attempt, with a deadline for each.
pub(super) struct WatchedEvents<'a> {
    events: BoxStream<'static, ModelEvent>,
    timer: &'a dyn Timer,
    /// The deadline of the next event; zero for none.
    limit: Duration,
    /// The deadline of each event after the next one.
    idle: Duration,
    /// The time of the last event, or of the start of the attempt.
    last: Duration,
    /// A timer that fires at some time after `last`. It is not reset for each event, because events
    /// are frequent.
    alarm: Option<BoxFuture<'static, ()>>,
}

/// The provider has sent no event for this time.
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

    /// Returns the next event, or `None` after the last.
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
                    // A machine that was suspended wakes up much later than at the limit.
                    let silence = self.timer.now().saturating_sub(self.last);
                    if silence >= self.limit {
                        return Err(SilenceTimeout(silence));
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

/// The progress of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress<'a> {
    /// More text for the user.
    Text {
        /// The index of the part in the answer.
        block: usize,
        /// The text to append.
        text: &'a str,
    },
    /// More thinking.
    Thinking {
        /// The index of the part in the answer.
        block: usize,
        /// The text to append.
        text: &'a str,
    },
    /// The model starts a call.
    Calling {
        /// The index of the part in the answer.
        block: usize,
        /// The id of the call; empty if the model has not sent it yet.
        id: &'a str,
        /// The name of the tool.
        tool: &'a str,
    },
    /// More arguments of a call.
    Arguments {
        /// The index of the part in the answer.
        block: usize,
        /// The JSON text to append.
        json: &'a str,
    },
    /// The request waits for the gate of the account.
    Waiting {
        /// The account.
        account: &'a AccountId,
        /// The number of retries so far.
        retries: u32,
        /// The reason to wait.
        wait: &'a GateWait,
    },
    /// The limits of the account hold for this process only from now on.
    Unshared {
        /// The account.
        account: &'a AccountId,
        /// Why they cannot be shared.
        why: &'a str,
    },
    /// What the user should know about how the model was asked.
    Notice(&'a str),
    /// The attempt failed and will be retried. The parts of the answer received so far are
    /// discarded.
    Retrying {
        /// The number of the retry, from 1.
        retry: u32,
        /// The delay before the retry.
        delay: Duration,
        /// The failure of the attempt.
        failure: &'a Failure,
    },
}

/// Receives the progress of a request.
pub type ProgressSink<'a> = &'a (dyn Fn(Progress<'_>) + Send + Sync);
