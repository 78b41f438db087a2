//! A server over HTTP on the loopback.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::task::{AbortHandle, JoinSet};

use super::answers::{Answers, Revision};

/// How a server behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpBehaviour {
    /// It speaks the newest revision, and answers with JSON.
    Newest,
    /// It speaks an older revision with a session, and answers with JSON.
    Session,
    /// The same, but it answers with streams of events.
    Events,
    /// The same, but it does not answer what it does not know.
    SilentDiscover,
    /// It speaks the oldest revision, with one long stream of events.
    LegacyStream,
    /// The same, but it wants messages at another origin.
    LegacyElsewhere(String),
    /// It answers nothing.
    Silent,
    /// It answers every request with this status.
    Status(u16),
    /// The same, with a challenge to log in.
    Challenge,
    /// It answers with a page.
    Html,
    /// It answers with JSON that is not a message.
    NoMessage,
    /// It redirects to this address.
    Redirect(String),
    /// It redirects to another path of its own.
    RedirectWithin,
    /// It closes the connection in the middle of an answer to a call.
    CutCall,
    /// Its answer to a call is a stream of events without end.
    EndlessEvents,
    /// Its answer to a call is too long.
    LongAnswer,
    /// Each session ends after one call.
    SessionEnds,
}

/// A server over HTTP, which ends when it is dropped.
#[derive(Debug)]
pub struct HttpMcpServer {
    /// The address of its endpoint.
    pub url: String,
    shared: Arc<Shared>,
    accepts: AbortHandle,
}

/// A request that a server got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method and the path.
    pub line: String,
    /// The headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The method of the message in it, if it has one.
    pub rpc: Option<String>,
}

#[derive(Debug)]
struct Shared {
    behaviour: HttpBehaviour,
    asked: Mutex<Vec<HttpRequest>>,
    /// Messages for the long stream of events.
    events: broadcast::Sender<String>,
}

impl HttpMcpServer {
    /// Starts a server.
    ///
    /// # Errors
    /// No port can be opened.
    pub async fn start(behaviour: HttpBehaviour) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}/mcp", listener.local_addr()?);
        let (events, _) = broadcast::channel(64);
        let shared = Arc::new(Shared { behaviour, asked: Mutex::default(), events });
        let served = Arc::clone(&shared);
        let accepts = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&served)));
            }
        });
        Ok(Self { url, shared, accepts: accepts.abort_handle() })
    }

    /// Returns the requests that it got.
    #[must_use]
    pub fn asked(&self) -> Vec<HttpRequest> {
        self.shared.asked().clone()
    }
}

impl Drop for HttpMcpServer {
    fn drop(&mut self) {
        self.accepts.abort();
    }
}

impl Shared {
    fn asked(&self) -> MutexGuard<'_, Vec<HttpRequest>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answers(&self) -> Answers {
        Answers::new(match self.behaviour {
            HttpBehaviour::Newest => Revision::Newest,
            HttpBehaviour::LegacyStream => Revision::Initialize("2024-11-05"),
            _ => Revision::Initialize("2025-06-18"),
        })
    }
}

/// Serves one connection until it is closed.
async fn serve(stream: TcpStream, shared: Arc<Shared>) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    while let Some((request, message)) = next_request(&mut read).await? {
        shared.asked().push(request.clone());
        let stays = respond(&shared, &request, &message, &mut write).await?;
        if !stays {
            break;
        }
    }
    Ok(())
}

async fn next_request(
    read: &mut (impl tokio::io::AsyncBufRead + Unpin),
) -> io::Result<Option<(HttpRequest, Value)>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if read.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        match line.trim_end() {
            "" if lines.is_empty() => {}
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let named = lines.iter().skip(1).filter_map(|line| line.split_once(": "));
    let headers: BTreeMap<_, _> =
        named.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let length = headers.get("content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or_default()];
    read.read_exact(&mut body).await?;
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let rpc = message["method"].as_str().map(str::to_owned);
    let line = lines[0].trim_end_matches(" HTTP/1.1").to_owned();
    Ok(Some((HttpRequest { line, headers, rpc }, message)))
}

/// Responds, and returns whether the connection stays open.
async fn respond(
    shared: &Shared,
    request: &HttpRequest,
    message: &Value,
    write: &mut OwnedWriteHalf,
) -> io::Result<bool> {
    let is_call = message["method"] == "tools/call";
    let is_post = request.line.starts_with("POST");
    match &shared.behaviour {
        HttpBehaviour::Silent => std::future::pending().await,
        HttpBehaviour::SilentDiscover if message["method"] == "server/discover" => {
            std::future::pending().await
        }
        HttpBehaviour::Status(status) => whole(write, *status, "", "text/plain", "no").await,
        HttpBehaviour::Challenge => {
            let challenge = "www-authenticate: Bearer realm=\"x\"\r\n";
            whole(write, 401, challenge, "text/plain", "no").await
        }
        HttpBehaviour::Html => whole(write, 200, "", "text/html", "<h1>Hello</h1>").await,
        HttpBehaviour::NoMessage => whole(write, 200, "", "application/json", "{}").await,
        HttpBehaviour::Redirect(to) => {
            whole(write, 307, &format!("location: {to}\r\n"), "text/plain", "").await
        }
        HttpBehaviour::RedirectWithin if request.line.ends_with(" /mcp") => {
            whole(write, 307, "location: /moved\r\n", "text/plain", "").await
        }
        HttpBehaviour::LegacyStream | HttpBehaviour::LegacyElsewhere(_) => {
            legacy(shared, request, message, write).await
        }
        HttpBehaviour::CutCall if is_call => {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{";
            write.write_all(head.as_bytes()).await?;
            Ok(false)
        }
        HttpBehaviour::EndlessEvents if is_call => {
            stream_head(write).await?;
            let progress = json!({"progressToken": "other", "progress": 1});
            let notification =
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress});
            loop {
                write
                    .write_all(format!(": comment\n\ndata: {notification}\n\n").as_bytes())
                    .await?;
                tokio::task::yield_now().await;
            }
        }
        HttpBehaviour::LongAnswer if is_call => {
            let text = "x".repeat(17 << 20);
            whole(write, 200, "", "application/json", &format!("\"{text}\"")).await
        }
        HttpBehaviour::SessionEnds if is_call && calls_in_session(shared, request) > 1 => {
            whole(write, 404, "", "text/plain", "no session").await
        }
        _ if !is_post => whole(write, 405, "", "text/plain", "").await,
        behaviour => {
            let Some(answer) = shared.answers().answer(message) else {
                return whole(write, 202, "", "text/plain", "").await;
            };
            let session = match (behaviour, message["method"] == "initialize") {
                (HttpBehaviour::Newest, _) | (_, false) => String::new(),
                (_, true) => format!("mcp-session-id: s{}\r\n", shared.asked().len()),
            };
            match behaviour {
                HttpBehaviour::Events => {
                    let body = format!(": hello\n\nid: 1\ndata: {answer}\n\n");
                    whole(write, 200, &session, "text/event-stream", &body).await
                }
                _ => whole(write, 200, &session, "application/json", &answer.to_string()).await,
            }
        }
    }
}

/// Returns the number of calls in the session of a request.
fn calls_in_session(shared: &Shared, request: &HttpRequest) -> usize {
    let session = request.headers.get("mcp-session-id");
    let asked = shared.asked();
    let calls = asked.iter().filter(|it| it.rpc.as_deref() == Some("tools/call"));
    calls.filter(|it| it.headers.get("mcp-session-id") == session).count()
}

/// Answers as the oldest revision has it: the answers are events of one long stream.
async fn legacy(
    shared: &Shared,
    request: &HttpRequest,
    message: &Value,
    write: &mut OwnedWriteHalf,
) -> io::Result<bool> {
    if request.line == "GET /mcp" {
        let mut events = shared.events.subscribe();
        stream_head(write).await?;
        let endpoint = match &shared.behaviour {
            HttpBehaviour::LegacyElsewhere(url) => url,
            _ => "/messages?session=1",
        };
        write.write_all(format!("event: endpoint\ndata: {endpoint}\n\n").as_bytes()).await?;
        while let Ok(event) = events.recv().await {
            write.write_all(format!("event: message\ndata: {event}\n\n").as_bytes()).await?;
        }
        return Ok(false);
    }
    if request.line != "POST /messages?session=1" {
        return whole(write, 405, "", "text/plain", "").await;
    }
    if let Some(answer) = shared.answers().answer(message) {
        // The stream may have been closed.
        let _listeners = shared.events.send(answer.to_string());
    }
    whole(write, 202, "", "text/plain", "").await
}

/// Writes a whole response.
async fn whole(
    write: &mut OwnedWriteHalf,
    status: u16,
    headers: &str,
    kind: &str,
    body: &str,
) -> io::Result<bool> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Status\r\n{headers}content-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
    );
    write.write_all(head.as_bytes()).await?;
    write.write_all(body.as_bytes()).await?;
    Ok(true)
}

/// Begins a stream of events that ends with the connection.
async fn stream_head(write: &mut OwnedWriteHalf) -> io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    write.write_all(head.as_bytes()).await
}
