//! JSON messages, one a line, on the streams of a process: a transport of `rmcp`.

use std::collections::VecDeque;
use std::io;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::bounds::MESSAGE_BYTES;
use crate::ending::{Ending, Why};

type Received = RxJsonRpcMessage<RoleClient>;

/// The lines to and from a server.
pub(crate) struct Lines {
    output: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    /// The line that is being read.
    line: Vec<u8>,
    /// Messages that were read and not yet received.
    read: VecDeque<Received>,
    outgoing: mpsc::Sender<Outgoing>,
    _writer: AbortOnDropHandle<()>,
    gone: CancellationToken,
    ending: Ending,
}

/// A line to be written, and the answer whether it was.
struct Outgoing {
    line: Vec<u8>,
    written: oneshot::Sender<io::Result<()>>,
}

impl Lines {
    /// Returns the transport on the streams of a process. `closing` closes `input` at once; after `gone`, nothing
    /// is read any more.
    pub(crate) fn new(
        input: impl AsyncWrite + Send + Unpin + 'static,
        output: impl AsyncRead + Send + Unpin + 'static,
        closing: CancellationToken,
        gone: CancellationToken,
        ending: Ending,
    ) -> Self {
        let (outgoing, queue) = mpsc::channel(1);
        let writer = tokio::spawn(async move {
            tokio::select! {
                () = write(input, queue) => {}
                () = closing.cancelled() => {}
            }
        });
        Self {
            output: BufReader::with_capacity(64 << 10, Box::new(output)),
            line: Vec::new(),
            read: VecDeque::new(),
            outgoing,
            _writer: AbortOnDropHandle::new(writer),
            gone,
            ending,
        }
    }

    /// Reads to the end of a line. `None` is the end of the stream. It can be dropped and called again.
    async fn read_line(&mut self) -> Option<Result<(), Why>> {
        loop {
            let part = self.output.fill_buf().await.ok().filter(|part| !part.is_empty())?;
            let end = part.iter().position(|byte| *byte == b'\n');
            let count = end.map_or(part.len(), |at| at + 1);
            if self.line.len() + count > MESSAGE_BYTES {
                return Some(Err(Why::Fault("sent a message of more than 16 MB")));
            }
            self.line.extend_from_slice(&part[..count]);
            self.output.consume(count);
            if end.is_some() {
                return Some(Ok(()));
            }
        }
    }
}

/// Writes lines until one cannot be written.
async fn write(mut input: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Outgoing>) {
    while let Some(Outgoing { line, written }) = queue.recv().await {
        let result = async {
            input.write_all(&line).await?;
            input.flush().await
        };
        let result = result.await;
        let is_broken = result.is_err();
        // The sender may wait no longer.
        let _gone = written.send(result);
        if is_broken {
            break;
        }
    }
}

impl Transport<RoleClient> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let (written, result) = oneshot::channel();
            let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
            outgoing.send(Outgoing { line, written }).await.map_err(|_closed| closed())?;
            result.await.map_err(|_closed| closed())?
        }
    }

    async fn receive(&mut self) -> Option<Received> {
        loop {
            if let Some(message) = self.read.pop_front() {
                return Some(message);
            }
            let gone = self.gone.clone();
            let read = tokio::select! {
                biased;
                read = self.read_line() => read?,
                () = gone.cancelled() => return None,
            };
            let messages = read.and_then(|()| parse(self.line.trim_ascii()));
            // A long line leaves no memory behind.
            self.line = Vec::new();
            match messages {
                Ok(messages) => self.read.extend(messages),
                Err(why) => {
                    self.ending.end(why);
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outgoing = mpsc::channel(1).0;
        Ok(())
    }
}

/// Returns the messages in a line: one, or those of a batch. A line that holds none, such as a line of a log, is
/// left out.
fn parse(line: &[u8]) -> Result<Vec<Received>, Why> {
    let parsed = match line.first() {
        Some(b'{') => serde_json::from_slice(line).map(|message| vec![message]),
        Some(b'[') => serde_json::from_slice(line),
        Some(_) | None => return Ok(Vec::new()),
    };
    parsed.or_else(|error| {
        tracing::debug!(%error, "a line of an MCP server is left out");
        match error.to_string().starts_with("recursion limit exceeded") {
            true => Err(Why::Fault("sent JSON that is nested too deeply")),
            false => Ok(Vec::new()),
        }
    })
}
