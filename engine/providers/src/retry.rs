//! Asks again when a provider may do better a moment later, and does not wait for ever for one
//! that says nothing. Everything happens while the stream is polled: dropping it ends it.

use std::time::Duration;

use engine::ports::{ModelEvent, ModelStream};
use futures_util::StreamExt;
use futures_util::stream::unfold;
use protocol::{FailureClass, Part, Usage};
use tokio::time::timeout;

use crate::piece::{Attempt, Piece, Trouble};
use crate::voice::Voice;

/// When a provider is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often, after the first time.
    pub max_retries: u32,
    /// How long it is left alone the first time; twice as long each time after.
    pub base_delay: Duration,
    /// The longest it is left alone. A provider that asks for more is not asked again.
    pub max_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 3,
            base_delay: Duration::from_secs(2),
            max_delay: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// Returns how long to wait before the given retry, counted from 1.
    fn delay(&self, retry: u32, asked: Option<Duration>) -> Duration {
        let doublings = retry.saturating_sub(1).min(30);
        let own = self.base_delay.saturating_mul(1 << doublings).min(self.max_delay);
        own.max(asked.unwrap_or_default())
    }
}

/// How long a provider may say nothing. Zero means for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// Until its first word.
    pub first_event: Duration,
    /// Between two words.
    pub idle: Duration,
}

impl Watchdog {
    /// How long the first word of a model may take on the user's own machine, where it may have to
    /// be loaded, and thirty other sessions have to be answered first. Who is sent away and asks
    /// again is last again.
    pub const NEAR: Duration = Duration::from_secs(15 * 60);
}

impl Default for Watchdog {
    fn default() -> Self {
        Self { first_event: Duration::from_secs(100), idle: Duration::from_secs(120) }
    }
}

/// How persistently a provider is asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) retry: RetryPolicy,
    pub(crate) watchdog: Watchdog,
}

/// Returns the answer that `ask` brings at last.
pub(crate) fn persist(
    voice: Voice,
    terms: Terms,
    ask: impl Fn() -> Attempt + Send + 'static,
) -> ModelStream {
    let asking = Asking {
        ask: Box::new(ask),
        voice,
        terms,
        retries: 0,
        phase: Phase::Due(Duration::ZERO),
        came: Vec::new(),
        spent: Usage::ZERO,
    };
    Box::pin(unfold(asking, |mut asking| async move {
        let event = asking.next().await?;
        Some((event, asking))
    }))
}

struct Asking {
    ask: Box<dyn Fn() -> Attempt + Send>,
    voice: Voice,
    terms: Terms,
    retries: u32,
    phase: Phase,
    /// What this attempt has said so far.
    came: Vec<Part>,
    /// What earlier attempts used.
    spent: Usage,
}

enum Phase {
    Due(Duration),
    Listening { attempt: Attempt, limit: Duration },
    Over,
}

impl Asking {
    async fn next(&mut self) -> Option<ModelEvent> {
        loop {
            match &mut self.phase {
                Phase::Over => return None,
                Phase::Due(delay) => {
                    // Even a sleep of nothing lasts a tick of the runtime's clock.
                    if !delay.is_zero() {
                        tokio::time::sleep(*delay).await;
                    }
                    self.came.clear();
                    let limit = self.terms.watchdog.first_event;
                    self.phase = Phase::Listening { attempt: (self.ask)(), limit };
                }
                Phase::Listening { attempt, limit } => {
                    let piece = listen(attempt, *limit).await;
                    *limit = self.terms.watchdog.idle;
                    if let Some(event) = self.hear(piece) {
                        return Some(event);
                    }
                }
            }
        }
    }

    fn hear(&mut self, piece: Piece) -> Option<ModelEvent> {
        match piece {
            Piece::Alive => None,
            Piece::Text(text) => {
                if let Some(Part::Text { text: before }) = self.came.last_mut() {
                    before.push_str(&text);
                } else {
                    self.came.push(Part::Text { text: text.clone() });
                }
                Some(ModelEvent::Text(text))
            }
            Piece::Thinking(thinking) => {
                if let Some(Part::Thinking { thinking: before }) = self.came.last_mut() {
                    before.push_str(&thinking);
                } else {
                    self.came.push(Part::Thinking { thinking: thinking.clone() });
                }
                Some(ModelEvent::Thinking(thinking))
            }
            Piece::Calling(tool) => Some(ModelEvent::Calling(tool)),
            Piece::Whole(mut whole) => {
                self.phase = Phase::Over;
                whole.usage = whole.usage + self.spent;
                Some(ModelEvent::Ended(self.voice.message(whole)))
            }
            Piece::Broken(trouble) => Some(self.broken(trouble)),
        }
    }

    fn broken(&mut self, trouble: Trouble) -> ModelEvent {
        let Trouble { failure, wait, usage } = trouble;
        // What a provider has begun to answer it may charge; how much is then not known.
        let begun = Usage { cost: None, ..Usage::ZERO };
        let unknown = if self.came.is_empty() { Usage::ZERO } else { begun };
        self.spent = self.spent + usage.unwrap_or(unknown);
        let patient = wait.is_none_or(|wait| wait <= self.terms.retry.max_delay);
        let again = failure.class == FailureClass::Transient
            && self.retries < self.terms.retry.max_retries
            && patient;
        if again {
            self.retries += 1;
            let after = self.terms.retry.delay(self.retries, wait);
            let (route, why) = (&self.voice.route, &failure.message);
            tracing::info!(%route, retry = self.retries, ?after, %why, "the provider is asked again");
            self.phase = Phase::Due(after);
            return ModelEvent::Retrying { attempt: self.retries, after, why: failure };
        }
        self.phase = Phase::Over;
        let came = std::mem::take(&mut self.came);
        let partial = self.voice.partial(came, self.spent, &failure.message);
        ModelEvent::Failed { failure, partial }
    }
}

async fn listen(attempt: &mut Attempt, limit: Duration) -> Piece {
    let heard = if limit.is_zero() {
        attempt.next().await
    } else {
        match timeout(limit, attempt.next()).await {
            Ok(heard) => heard,
            Err(_elapsed) => {
                let what = format!("the model said nothing for {limit:?}");
                return Piece::Broken(Trouble::new(FailureClass::Transient, what));
            }
        }
    };
    heard.unwrap_or_else(|| {
        let what = "the answer ended in the middle";
        Piece::Broken(Trouble::new(FailureClass::Transient, what))
    })
}

#[cfg(test)]
mod tests;
