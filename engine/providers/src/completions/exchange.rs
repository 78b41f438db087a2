//! The attempts of a provider that speaks Chat Completions, as streams of events.

use std::collections::VecDeque;

use engine::ports::ModelEvent;
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};

use super::post::Post;
use super::stream_parser::{Step, StreamParser};

/// Returns the events of the answer to `post`.
pub(crate) fn events(post: Post) -> BoxStream<'static, ModelEvent> {
    let exchange = Exchange { post, phase: Phase::Asking, ready: VecDeque::new() };
    let events = unfold(exchange, |mut exchange| async move {
        loop {
            if let Some(event) = exchange.ready.pop_front() {
                return Some((event, exchange));
            }
            exchange.advance().await?;
        }
    });
    events.boxed()
}

struct Exchange {
    post: Post,
    phase: Phase,
    ready: VecDeque<ModelEvent>,
}

enum Phase {
    Asking,
    Reading(Box<StreamParser>),
    Over,
}

impl Exchange {
    /// Does the next step; nothing if there is none.
    async fn advance(&mut self) -> Option<()> {
        let step = match &mut self.phase {
            Phase::Over => return None,
            Phase::Asking => match self.post.send().await {
                Ok(response) => {
                    self.phase = Phase::Reading(Box::new(StreamParser::new(response)));
                    return Some(());
                }
                Err(failed) => Step::End(ModelEvent::Failed(failed)),
            },
            Phase::Reading(parser) => parser.read(&self.post, &mut self.ready).await,
        };
        if let Step::End(last) = step {
            self.ready.push_back(last);
            self.phase = Phase::Over;
        }
        Some(())
    }
}
