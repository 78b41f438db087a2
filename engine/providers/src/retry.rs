//! Asks again when a provider may do better a moment later, and does not wait for ever for one
//! that says nothing. Everything happens while the stream is polled: dropping it ends it.

use std::time::Duration;

use engine::ports::{ModelEvent, ModelStream};
use futures_util::StreamExt;
use futures_util::stream::unfold;
use protocol::{Failure, FailureClass, Part, SessionId, Usage};
use tokio::time::timeout;

use crate::estimate;
use crate::piece::{Attempt, Pace, Piece, Trouble};
use crate::terms::Terms;
use crate::voice::Voice;

/// Who asks, and how much.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) session: SessionId,
    /// How many bytes the model has to read.
    pub(crate) size: usize,
}

/// Returns the answer that `ask` brings at last.
pub(crate) fn persist(
    voice: Voice,
    terms: Terms,
    asked: Asked,
    ask: impl Fn() -> Attempt + Send + 'static,
) -> ModelStream {
    let asking = Asking {
        ask: Box::new(ask),
        voice,
        terms,
        asked,
        retries: 0,
        limited: 0,
        troubled: 0,
        phase: Phase::Due(Duration::ZERO),
        came: Vec::new(),
        wrote: None,
        used: None,
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
    asked: Asked,
    retries: u32,
    /// How many of the retries were because of too many requests.
    limited: u32,
    /// How many were because of something else.
    troubled: u32,
    phase: Phase,
    /// What this attempt has said so far.
    came: Vec<Part>,
    /// How many bytes that and all else of its answer are, once the model has begun to answer.
    wrote: Option<usize>,
    /// What this attempt has used so far, where it has said that.
    used: Option<Usage>,
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
                    (self.wrote, self.used) = (None, None);
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
            Piece::Used(used) => {
                self.used = Some(used);
                None
            }
            Piece::Wrote(bytes) => {
                self.write(bytes);
                None
            }
            Piece::Text(text) => {
                self.write(text.len());
                if let Some(Part::Text { text: before }) = self.came.last_mut() {
                    before.push_str(&text);
                } else {
                    self.came.push(Part::Text { text: text.clone() });
                }
                Some(ModelEvent::Text(text))
            }
            Piece::Thinking(thinking) => {
                self.write(thinking.len());
                if let Some(Part::Thinking { thinking: before }) = self.came.last_mut() {
                    before.push_str(&thinking);
                } else {
                    self.came.push(Part::Thinking { thinking: thinking.clone() });
                }
                Some(ModelEvent::Thinking(thinking))
            }
            Piece::Calling(tool) => Some(ModelEvent::Calling(tool)),
            Piece::Whole(whole) => {
                self.phase = Phase::Over;
                self.write(0);
                Some(ModelEvent::Ended(self.voice.message(whole, self.used() + self.spent)))
            }
            Piece::Broken(trouble) => Some(self.broken(trouble)),
        }
    }

    fn write(&mut self, bytes: usize) {
        self.wrote = Some(self.wrote.unwrap_or(0).saturating_add(bytes));
    }

    /// Returns what this attempt has used: what is not counted is estimated, and what has not
    /// begun to be answered is nothing.
    fn used(&self) -> Usage {
        let about = || self.wrote.map(|wrote| estimate::usage(self.asked.size, wrote));
        self.used.or_else(about).unwrap_or(Usage::ZERO)
    }

    fn broken(&mut self, trouble: Trouble) -> ModelEvent {
        let most = self.terms.retry.retries(&trouble);
        let Trouble { failure, wait, pace } = trouble;
        self.spent = self.spent + self.used();
        let patient = wait.is_none_or(|wait| wait <= self.terms.retry.max_delay);
        // Having waited for its turn does not use up the patience with other troubles.
        let tried = match pace {
            Pace::TooFast => &mut self.limited,
            Pace::Any => &mut self.troubled,
        };
        if failure.class == FailureClass::Transient && *tried < most && patient {
            *tried += 1;
            self.retries += 1;
            let after = self.terms.retry.delay(self.asked.session, self.retries, wait);
            let (route, why) = (&self.voice.route, &failure.message);
            tracing::info!(%route, retry = self.retries, ?after, %why, "the provider is asked again");
            self.phase = Phase::Due(after);
            return ModelEvent::Retrying { attempt: self.retries, after, why: failure };
        }
        self.phase = Phase::Over;
        let failure = self.counted(failure);
        let came = std::mem::take(&mut self.came);
        let partial = self.voice.partial(came, self.spent, &failure.message);
        ModelEvent::Failed { failure, partial }
    }

    /// Says how often it was asked, where asking again has not helped.
    fn counted(&self, failure: Failure) -> Failure {
        if self.retries == 0 || failure.class != FailureClass::Transient {
            return failure;
        }
        let times = self.retries.saturating_add(1);
        Failure { message: format!("{}; it was asked {times} times", failure.message), ..failure }
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
