//! Sends an answer over HTTP, piece by piece.

use std::io;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;

use super::stream::{cut, frames};
use super::wire::Wire;
use super::{Answer, Pace, Said};

/// What is done next with a body.
#[derive(Clone)]
enum Step {
    Send(Bytes),
    Wait(Duration),
    /// The connection breaks.
    Break,
    /// Nothing more comes, and it does not end either.
    Hang,
}

/// Returns the response that gives this answer.
pub(super) async fn respond(answer: Answer, wire: Wire, model: &str, pace: Pace) -> Response {
    match answer {
        Answer::Says(said) => {
            let body = think(&said, wire, model).await;
            spoken(steps(body.as_bytes(), pace))
        }
        Answer::Cut(said, place) => {
            let body = think(&said, wire, model).await;
            let mut steps: Vec<_> = steps(cut(&body, place, wire.end()), pace).collect();
            match place {
                super::Cut::AtOnce | super::Cut::InCharacter | super::Cut::Reset => {
                    steps.push(Step::Break);
                }
                super::Cut::BeforeFinish => {}
            }
            spoken(steps.into_iter())
        }
        Answer::Status { code, headers, body } => {
            let mut response = Response::builder().status(code);
            response = response.header("content-type", "application/json");
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Body::from(body)).expect("a script answers with sound headers")
        }
        Answer::Bytes { content_type, body } => {
            let response = Response::builder().header("content-type", content_type);
            response.body(Body::from(body)).expect("a script answers with sound headers")
        }
        Answer::Again(bytes, every) => {
            let again = [Step::Send(bytes.into()), Step::Wait(every)];
            spoken(again.into_iter().cycle())
        }
        Answer::Silence => spoken(std::iter::once(Step::Hang)),
        Answer::Held => std::future::pending().await,
        Answer::Endless => {
            let words = Said { text: "on and on and ".repeat(3_000), ..Said::default() };
            let body = wire.events(&words, model);
            let end = if wire == Wire::Gemini { "\r\n\r\n" } else { "\n\n" };
            let events: Vec<_> = body.split_inclusive(end).collect();
            // What repeats a text whole is none of its pieces.
            let is_piece = |event: &&&str| event.contains("on and on") && !event.contains(".done");
            let first = events.iter().position(|event| is_piece(&event)).unwrap_or_default();
            let bytes = |event: &&str| Bytes::copy_from_slice(event.as_bytes());
            let begin: Vec<_> = events[..first].iter().map(bytes).collect();
            let again: Vec<_> = events[first..].iter().filter(is_piece).map(bytes).collect();
            spoken(begin.into_iter().chain(again.into_iter().cycle()).map(Step::Send))
        }
    }
}

async fn think(said: &Said, wire: Wire, model: &str) -> String {
    if !said.think.is_zero() {
        tokio::time::sleep(said.think).await;
    }
    wire.events(said, model)
}

fn steps(body: &[u8], pace: Pace) -> impl Iterator<Item = Step> + Send + use<> {
    let (frames, rest) = match pace {
        Pace::Small => (frames(body), Duration::from_millis(1)),
        Pace::Events => {
            let body = String::from_utf8_lossy(body).into_owned();
            let events = body.split_inclusive("\n\n").map(|event| event.as_bytes().to_vec());
            (events.map(Bytes::from).collect(), Duration::ZERO)
        }
    };
    frames.into_iter().enumerate().flat_map(move |(at, frame)| {
        let wait = (at % 40 == 39 && !rest.is_zero()).then_some(Step::Wait(rest));
        std::iter::once(Step::Send(frame)).chain(wait)
    })
}

fn spoken(steps: impl Iterator<Item = Step> + Send + 'static) -> Response {
    let body = stream::unfold(steps, |mut steps| async move {
        loop {
            // Each piece goes out alone: what is ready at once would be sent as one.
            tokio::task::yield_now().await;
            match steps.next()? {
                Step::Send(bytes) => return Some((Ok::<_, io::Error>(bytes), steps)),
                Step::Wait(time) => tokio::time::sleep(time).await,
                Step::Break => return Some((Err(io::ErrorKind::ConnectionReset.into()), steps)),
                Step::Hang => std::future::pending().await,
            }
        }
    });
    let response = Response::builder().header("content-type", "text/event-stream; charset=utf-8");
    response.body(Body::from_stream(body)).expect("the header is sound")
}
