//! The events of the runs of an engine, by which the subagents of the session are displayed.

use std::sync::Arc;
use std::time::Duration;

use protocol::Event;
use regatta::Events;
use tokio::time::{Instant, sleep_until};

use super::Shown;

/// How long events gather after some that were displayed: hundreds of subagents would otherwise have the
/// terminal drawn with each of theirs.
const GATHER: Duration = Duration::from_millis(100);

/// The events of all runs.
pub(super) struct RunEvents {
    events: Events,
    /// When they are read next.
    not_before: Instant,
}

impl RunEvents {
    pub(super) fn new(events: Events) -> Self {
        Self { events, not_before: Instant::now() }
    }

    /// Waits until there are some and those before have been displayed for a while. Returns the first; `None`
    /// when there will be none.
    pub(super) async fn recv(&mut self) -> Option<Arc<Event>> {
        sleep_until(self.not_before).await;
        self.events.recv().await
    }
}

impl Shown<'_> {
    /// Applies an event of a run, and all that have arrived after it.
    pub(super) fn run_events(&mut self, first: &Event) {
        self.view.run_event(first, self.began.elapsed());
        self.waiting_run_events();
        self.of_runs.not_before = Instant::now() + GATHER;
    }

    /// Applies the events of runs that have arrived. The end of a subagent is before that of its call.
    pub(super) fn waiting_run_events(&mut self) {
        let now = self.began.elapsed();
        while let Some(event) = self.of_runs.events.take() {
            self.view.run_event(&event, now);
        }
    }
}
