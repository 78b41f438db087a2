//! A server on this machine that gives scripted answers.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::task::JoinSet;

/// A server on this machine that gives scripted answers, one after the other.
pub(crate) struct Loopback {
    /// Where it is.
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// The server, which ends with this value.
    _server: JoinSet<()>,
}

/// A request that the server has seen.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    /// Tells one connection from another.
    pub(crate) port: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// What the server answers.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) chunks: Vec<Vec<u8>>,
    /// What follows the chunks.
    pub(crate) end: ReplyEnd,
}

/// What follows the last chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyEnd {
    Closed,
    /// Closed a moment later.
    Late,
    Lost,
    Silent,
}

impl Reply {
    pub(crate) fn new(status: u16, kind: &str, body: &str) -> Self {
        let headers = vec![("content-type", kind.to_owned())];
        let chunks = vec![body.as_bytes().to_vec()];
        Self { status, headers, chunks, end: ReplyEnd::Closed }
    }

    /// A stream of events, in chunks of `size` bytes.
    pub(crate) fn events(events: &[Value], size: usize) -> Self {
        let mut stream: String = events.iter().map(|it| format!("data: {it}\n\n")).collect();
        stream.push_str("data: [DONE]\n\n");
        Self::bytes(stream.as_bytes(), size)
    }

    pub(crate) fn bytes(bytes: &[u8], size: usize) -> Self {
        let chunks = bytes.chunks(size).map(<[u8]>::to_vec).collect();
        Self { chunks, ..Self::new(200, "text/event-stream; charset=utf-8", "") }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn then(self, end: ReplyEnd) -> Self {
        Self { end, ..self }
    }

    fn response(self) -> Response {
        let end = self.end;
        let chunks = stream::iter(self.chunks).then(|chunk| async move {
            tokio::task::yield_now().await;
            Ok(chunk)
        });
        let last = stream::once(async move {
            match end {
                ReplyEnd::Closed => Ok(Vec::new()),
                ReplyEnd::Late => {
                    tokio::time::sleep(Duration::from_millis(4)).await;
                    Ok(Vec::new())
                }
                ReplyEnd::Lost => Err(std::io::Error::other("lost")),
                ReplyEnd::Silent => std::future::pending().await,
            }
        });
        let mut response = Response::builder().status(self.status);
        for (name, value) in self.headers {
            response = response.header(name, value);
        }
        response.body(Body::from_stream(chunks.chain(last))).unwrap()
    }
}

impl Loopback {
    /// Answers with the first reply, then the second, and so on; the last again and again.
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let log = Arc::clone(&seen);
        let router = axum::Router::new().fallback(move |request: Request| {
            let (log, replies) = (Arc::clone(&log), replies.clone());
            async move {
                let (head, body) = request.into_parts();
                let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
                let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
                let path = head.uri.to_string();
                let from = head.extensions.get::<ConnectInfo<SocketAddr>>().unwrap();
                let port = from.0.port();
                let mut log = log.lock().unwrap();
                let at = log.len().min(replies.len() - 1);
                log.push(Seen { path, port, headers: head.headers, body });
                replies[at].clone().response()
            }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, service).await.unwrap() });
        Self { url, seen, _server: server }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

/// Returns the URL of a port without a listener, and what keeps others from it.
pub(crate) fn closed() -> (tokio::net::TcpSocket, String) {
    let bound = tokio::net::TcpSocket::new_v4().unwrap();
    bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}/v1", bound.local_addr().unwrap());
    (bound, url)
}
