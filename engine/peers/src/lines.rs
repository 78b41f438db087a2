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

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll};

    use tokio::io::ReadBuf;

    use super::*;

    /// A stream that never ends, and has no line break.
    struct Flood(Arc<AtomicUsize>);

    impl AsyncRead for Flood {
        fn poll_read(
            self: Pin<&mut Self>,
            _context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let count = buffer.remaining();
            buffer.initialize_unfilled().fill(b'{');
            buffer.advance(count);
            self.0.fetch_add(count, Ordering::Relaxed);
            Poll::Ready(Ok(()))
        }
    }

    fn lines(output: impl AsyncRead + Send + Unpin + 'static) -> (Lines, Ending) {
        let (ending, token) = (Ending::default(), CancellationToken::new);
        (Lines::new(tokio::io::sink(), output, token(), token(), ending.clone()), ending)
    }

    #[test]
    async fn no_more_of_a_line_is_read_than_a_message_can_be_long() {
        let read = Arc::new(AtomicUsize::new(0));
        let (mut lines, ending) = lines(Flood(Arc::clone(&read)));
        assert!(lines.receive().await.is_none());
        assert_eq!(ending.why(), Some(Why::Fault("sent a message of more than 16 MB")));
        let read = read.load(Ordering::Relaxed);
        assert!((MESSAGE_BYTES..MESSAGE_BYTES + (1 << 20)).contains(&read), "{read}");
    }

    #[test]
    async fn a_batch_is_its_messages_and_what_is_not_json_is_left_out() {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let stream = format!("hello\n\n[{ping},{ping}]\r\n{{\n{ping}\n{ping}");
        let (mut lines, ending) = lines(io::Cursor::new(stream.into_bytes()));
        let mut count = 0;
        while lines.receive().await.is_some() {
            count += 1;
        }
        // The last line has no end.
        assert_eq!((count, ending.why()), (3, None));
    }
}
