//! Sends requests that were sent before, as fast as their answers allow: the ideal that an engine
//! is measured against.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Conversations, each a list of request bodies.
#[derive(Clone, Debug)]
pub struct Replay {
    conversations: Vec<Vec<Vec<u8>>>,
}

impl Replay {
    /// Returns conversations to be repeated.
    #[must_use]
    pub fn new(conversations: Vec<Vec<Vec<u8>>>) -> Self {
        Self { conversations }
    }

    /// Has all conversations at once, each request as soon as the answer to the one before is
    /// read, and returns how long that takes.
    ///
    /// # Panics
    /// When an answer is none.
    #[must_use]
    pub fn run(self, base_url: &str) -> Duration {
        let authority = base_url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
        let runtime = tokio::runtime::Runtime::new().expect("a runtime can be had");
        let began = Instant::now();
        runtime.block_on(async move {
            let mut all = JoinSet::new();
            for conversation in self.conversations {
                all.spawn(converse(authority.clone(), conversation));
            }
            all.join_all().await;
        });
        began.elapsed()
    }
}

async fn converse(authority: String, conversation: Vec<Vec<u8>>) {
    let mut connection = TcpStream::connect(&authority).await.expect("the model listens");
    connection.set_nodelay(true).expect("a connection can be told to");
    let mut read = Vec::new();
    for body in conversation {
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {authority}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        connection.write_all(&[head.as_bytes(), &body].concat()).await.expect("it listens");
        read.clear();
        // The last chunk of a body has no bytes.
        while !read.ends_with(b"\r\n0\r\n\r\n") {
            let more = connection.read_buf(&mut read).await.expect("it answers");
            assert!(more > 0, "an answer was cut: {}", String::from_utf8_lossy(&read));
        }
        assert!(read.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&read));
    }
}
