//! Reads the answer of a server: recognises by its bytes how it comes, and whether all of it has
//! come.

use std::collections::VecDeque;
use std::time::Duration;

use engine::ports::{AttemptFailure, ModelEvent};
use protocol::FailureClass;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::answer::{Answer, Room};
use super::failure;
use super::post::Post;
use crate::sse::{Decoder, Event};

/// The most bytes of an answer that comes whole.
const LONGEST_WHOLE: usize = 8 << 20;

/// How long the end of a stream may take after the model has said that it has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long the end of the bytes may take after the last word of the stream. A connection whose
/// bytes have ended is used again.
const HANGING_UP: Duration = Duration::from_millis(20);

/// An answer that is being read.
pub(crate) struct StreamParser {
    response: Response,
    kind: Kind,
    answer: Answer,
    /// When the stream has to have ended.
    end: Option<Instant>,
}

/// How an answer comes.
enum Kind {
    /// It is not known before its first byte.
    Open { named: String },
    /// As events.
    Events { decoder: Decoder, named: String, beginning: Vec<u8> },
    /// Whole.
    Whole(Vec<u8>),
}

/// Whether there is more to read.
pub(crate) enum Step {
    /// There is.
    On,
    /// There is not; this is the last event.
    End(ModelEvent),
}

impl StreamParser {
    /// Begins to read.
    pub(crate) fn new(response: Response) -> Self {
        let named = response.headers().get(CONTENT_TYPE);
        let named = named.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let named = named.split(';').next().unwrap_or_default().trim().to_lowercase();
        Self { response, kind: Kind::Open { named }, answer: Answer::default(), end: None }
    }

    /// Takes what comes next, and adds what there is to tell of it.
    pub(crate) async fn read(&mut self, post: &Post, ready: &mut VecDeque<ModelEvent>) -> Step {
        let chunk = match self.end {
            // The model has ended; only its usage may still come.
            Some(end) => match timeout_at(end, self.response.chunk()).await {
                Ok(Ok(chunk)) => chunk,
                Ok(Err(_)) | Err(_) => None,
            },
            None => match self.response.chunk().await {
                Ok(chunk) => chunk,
                Err(error) => return Step::End(ModelEvent::Failed(post.lost(error))),
            },
        };
        let read = match chunk {
            Some(chunk) => self.take(post, &chunk, ready),
            None => Err(self.finish(post, ready)),
        };
        let Err(last) = read else { return Step::On };
        if matches!(last, ModelEvent::Ended(_)) {
            let _rest = timeout(HANGING_UP, self.response.chunk()).await;
        }
        Step::End(last)
    }

    /// Takes more bytes; fails with the last event.
    fn take(
        &mut self,
        post: &Post,
        bytes: &[u8],
        ready: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelEvent> {
        if let Kind::Open { named } = &self.kind {
            let Some(first) = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) else {
                return Ok(());
            };
            self.kind = Kind::of(named, *first);
        }
        match &mut self.kind {
            Kind::Open { .. } => Ok(()),
            Kind::Whole(body) => {
                if body.len() + bytes.len() > LONGEST_WHOLE {
                    let what = format!("an answer is longer than {LONGEST_WHOLE} bytes");
                    let failed = AttemptFailure::new(FailureClass::Invalid, what);
                    return Err(ModelEvent::Failed(failed));
                }
                body.extend_from_slice(bytes);
                Ok(())
            }
            Kind::Events { decoder, beginning, .. } => {
                let room = 1000_usize.saturating_sub(beginning.len()).min(bytes.len());
                beginning.extend_from_slice(&bytes[..room]);
                let mut events = Vec::new();
                let fed = decoder.feed(bytes, &mut events);
                for event in events {
                    self.event(post, &event, ready)?;
                }
                fed.map_err(|error| {
                    ModelEvent::Failed(AttemptFailure::new(
                        FailureClass::Invalid,
                        error.to_string(),
                    ))
                })
            }
        }
    }

    /// Takes one event; fails with the last event.
    fn event(
        &mut self,
        post: &Post,
        event: &Event,
        ready: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelEvent> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return Err(self.done(post));
        }
        let Ok(chunk) = serde_json::from_str::<Value>(data) else {
            // A part of the answer that cannot be read is missing; other words are not for us.
            let missing = data.starts_with('{');
            return if missing { Err(ModelEvent::Failed(post.cut())) } else { Ok(()) };
        };
        self.chunk(post, &event.name, &chunk, ready)
    }

    fn chunk(
        &mut self,
        post: &Post,
        name: &str,
        chunk: &Value,
        ready: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelEvent> {
        let error = chunk.get("error").filter(|error| !error.is_null());
        let error = error.or_else(|| (name == "error").then_some(chunk));
        if let Some(error) = error {
            let now = post.clock.now();
            return Err(ModelEvent::Failed(failure::broken(&post.endpoint, error, now)));
        }
        let before = ready.len();
        let taken = self.answer.take(chunk, post.price.as_ref(), ready);
        if ready.len() == before {
            ready.push_back(ModelEvent::Alive);
        }
        match taken {
            Err(failed) => Err(ModelEvent::Failed(failed)),
            Ok(Room::Full) => Err(self.whole()),
            Ok(Room::Left) => {
                if self.answer.is_ended() && self.end.is_none() {
                    self.end = Some(Instant::now() + LAST_WORDS);
                }
                Ok(())
            }
        }
    }

    /// Returns the last event of an answer whose bytes have ended.
    fn finish(&mut self, post: &Post, ready: &mut VecDeque<ModelEvent>) -> ModelEvent {
        match std::mem::replace(&mut self.kind, Kind::Open { named: String::new() }) {
            // Not one byte came.
            Kind::Open { .. } => ModelEvent::Failed(post.cut()),
            Kind::Whole(body) => self.finish_whole(post, &body, ready),
            Kind::Events { decoder, named, beginning } => {
                if let Some(event) = decoder.finish()
                    && let Err(last) = self.event(post, &event, ready)
                {
                    return last;
                }
                if self.answer.is_ended() {
                    return self.whole();
                }
                let page = beginning.trim_ascii_start().starts_with(b"<");
                let strange = page || named != "text/event-stream";
                if strange && !self.answer.is_begun() {
                    let beginning = String::from_utf8_lossy(&beginning);
                    return ModelEvent::Failed(failure::no_stream(
                        &post.endpoint,
                        &named,
                        &beginning,
                    ));
                }
                ModelEvent::Failed(post.cut())
            }
        }
    }

    /// Reads a completion that came whole.
    fn finish_whole(
        &mut self,
        post: &Post,
        body: &[u8],
        ready: &mut VecDeque<ModelEvent>,
    ) -> ModelEvent {
        let Ok(completion) = serde_json::from_slice::<Value>(body) else {
            // JSON that was cut begins like JSON.
            let class = body.starts_with(b"{").then(|| post.cut());
            let beginning = String::from_utf8_lossy(&body[..body.len().min(1000)]);
            let strange = || failure::no_stream(&post.endpoint, "", &beginning);
            return ModelEvent::Failed(class.unwrap_or_else(strange));
        };
        if let Err(last) = self.chunk(post, "", &completion, ready) {
            return last;
        }
        if self.answer.is_begun() {
            return self.whole();
        }
        let beginning = completion.to_string();
        ModelEvent::Failed(failure::no_stream(&post.endpoint, "json", &beginning))
    }

    fn done(&mut self, post: &Post) -> ModelEvent {
        if self.answer.is_begun() {
            self.whole()
        } else {
            let what = format!("{} answered with nothing", post.endpoint.provider);
            ModelEvent::Failed(AttemptFailure::new(FailureClass::Transient, what))
        }
    }

    fn whole(&mut self) -> ModelEvent {
        ModelEvent::Ended(std::mem::take(&mut self.answer).into_answer())
    }
}

impl Kind {
    /// Tells by its first byte how an answer comes; what it is called is not always true.
    fn of(named: &str, first: u8) -> Self {
        if matches!(first, b'{' | b'[') {
            Self::Whole(Vec::new())
        } else {
            let named = named.to_owned();
            Self::Events { decoder: Decoder::default(), named, beginning: Vec::new() }
        }
    }
}
