//! A model that says what a test tells it, when it tells it, and a session on a terminal with it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::sandbox::{Invocation, Sandbox, Screen};

const PATIENCE: Duration = Duration::from_secs(60);

/// A model over Chat Completions whose answers are sent piece by piece. Each request is one
/// [`Exchange`].
pub(crate) struct PacedModel {
    port: u16,
    exchanges: Receiver<Exchange>,
}

/// A request that waits for its answer.
pub(crate) struct Exchange {
    /// The body of the request.
    pub(crate) request: Value,
    stream: TcpStream,
}

impl PacedModel {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let port = listener.local_addr().expect("it has an address").port();
        let (sender, exchanges) = channel();
        // It ends with the process of the tests.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                std::thread::spawn(move || serve(stream, &sender));
            }
        });
        Self { port, exchanges }
    }

    /// Waits for the next request.
    pub(crate) fn next(&self) -> Exchange {
        self.exchanges.recv_timeout(PATIENCE).expect("a request comes")
    }

    /// Begins a session with this model in the folder `work`, in which every call runs.
    pub(crate) fn session(&self, place: &Sandbox) -> Invocation {
        self.asking_session(place).words("--approval-mode yolo")
    }

    /// Begins a session with this model in the folder `work`, which asks about calls.
    pub(crate) fn asking_session(&self, place: &Sandbox) -> Invocation {
        let folder = place.folder().join("work");
        fs::create_dir_all(&folder).expect("a folder can be made");
        place.regatta(&folder).words("--model loopback/loop --base-url").arg(self.url())
    }

    /// Returns the address at which it is asked.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }
}

/// Reads the requests of one connection.
fn serve(stream: TcpStream, exchanges: &Sender<Exchange>) {
    let mut reader = BufReader::new(stream.try_clone().expect("it can be shared"));
    let (mut length, mut is_post) = (0, false);
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
        let text = line.trim().to_ascii_lowercase();
        is_post |= text.starts_with("post ");
        if let Some(value) = text.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length is a number");
        }
        if text.is_empty() {
            break;
        }
        line.clear();
    }
    let mut stream = stream;
    if !is_post {
        let body = json!({ "object": "list", "data": [{ "id": "loop" }] }).to_string();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n", body.len());
        let _gone = write!(
            stream,
            "{head}content-type: application/json\r\nconnection: close\r\n\r\n{body}"
        );
        return;
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let request = serde_json::from_slice(&body).expect("a request is JSON");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.set_nodelay(true).expect("it can be set");
    if stream.write_all(head.as_bytes()).is_ok() {
        let _ended = exchanges.send(Exchange { request, stream }); // the test has ended
    }
}

impl Exchange {
    fn send(&mut self, delta: &Value, finish: Option<&str>) {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let chunk = json!({
            "id": "c", "object": "chat.completion.chunk", "created": 0, "model": "loop",
            "choices": [choice],
            "usage": finish.map(|_| json!({ "prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100 })),
        });
        let _closed = write!(self.stream, "data: {chunk}\n\n"); // by a client that has stopped
    }

    /// Sends a piece of text, and returns when.
    pub(crate) fn say(&mut self, text: &str) -> Instant {
        self.send(&json!({ "role": "assistant", "content": text }), None);
        Instant::now()
    }

    /// Ends the answer.
    pub(crate) fn end(mut self) {
        self.send(&json!({}), Some("stop"));
        let _closed = write!(self.stream, "data: [DONE]\n\n");
    }

    /// Sends a text, and ends the answer.
    pub(crate) fn answer(mut self, text: &str) {
        self.say(text);
        self.end();
    }

    /// Calls a tool, and ends the answer.
    pub(crate) fn call(mut self, name: &str, arguments: &Value) {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        let call = json!({ "index": 0, "id": "call_1", "type": "function", "function": function });
        self.send(&json!({ "role": "assistant", "tool_calls": [call] }), None);
        self.send(&json!({}), Some("tool_calls"));
        let _closed = write!(self.stream, "data: [DONE]\n\n");
    }

    /// Waits until the client closes the connection, and returns when.
    pub(crate) fn closed(mut self) -> Instant {
        self.stream.set_read_timeout(Some(PATIENCE)).expect("it can be set");
        let read = self.stream.read(&mut [0; 16]);
        assert!(
            matches!(read, Ok(0))
                || read.is_err_and(|it| it.kind() == std::io::ErrorKind::ConnectionReset)
        );
        Instant::now()
    }

    /// Returns the texts of the messages of the user in the request.
    pub(crate) fn prompts(&self) -> Vec<String> {
        let messages = self.request["messages"].as_array().cloned().unwrap_or_default();
        let users = messages.iter().filter(|message| message["role"] == "user");
        users
            .map(|message| match &message["content"] {
                Value::String(text) => text.clone(),
                parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
            })
            .collect()
    }
}

/// Leaves the session with Ctrl-D, and returns its id.
pub(crate) fn leave(screen: &mut Screen) -> String {
    screen.press("\u{4}");
    assert_eq!(screen.wait().code(), Some(0), "{}", screen.text());
    let text = screen.text();
    let (_, line) = text.rsplit_once("continue with: regatta ").expect("it tells how");
    let (_, id) = line.split_once("--resume ").expect("it names the session");
    id.trim().to_owned()
}

/// Replaces the times in a text, which differ each time.
pub(crate) fn without_times(text: &str) -> String {
    let line = |line: &str| {
        let words = line.split(' ').map(|word| {
            let digits = word.trim_end_matches('s');
            let is_time = word.ends_with('s') && digits.parse::<f64>().is_ok();
            if is_time { "#s".to_owned() } else { word.to_owned() }
        });
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
