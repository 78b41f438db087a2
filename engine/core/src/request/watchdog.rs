//! Ends an attempt whose provider is silent for too long.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::BoxStream;

use super::policy::Watchdog;
use crate::ports::{ModelEvent, Timer};

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
pub(super) struct Silent(pub(super) Duration);

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
    pub(super) async fn next(&mut self) -> Result<Option<ModelEvent>, Silent> {
        if self.limit.is_zero() {
            let event = self.events.next().await;
            self.came();
            return Ok(event);
        }
        loop {
            let left = self.limit.saturating_sub(self.timer.now().saturating_sub(self.last));
            let alarm = self.alarm.get_or_insert_with(|| self.timer.sleep(left));
            match select(self.events.next(), alarm).await {
                Either::Left((event, _alarm)) => {
                    self.came();
                    return Ok(event);
                }
                Either::Right(((), _event)) => {
                    self.alarm = None;
                    if self.timer.now().saturating_sub(self.last) >= self.limit {
                        return Err(Silent(self.limit));
                    }
                }
            }
        }
    }

    fn came(&mut self) {
        self.last = self.timer.now();
        if self.limit != self.idle {
            self.limit = self.idle;
            self.alarm = None;
        }
    }
}
