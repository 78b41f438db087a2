//! Moves a command's output to where it is kept, and tells its lines on the way.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::lines::{LastLine, NewestLine};
use crate::pace::Pace;
use crate::printable::printable;
use crate::sink::{Filled, Sink};
use crate::streams::{Source, Streams};

/// As much as a pipe holds.
const BUFFER: usize = 64 << 10;

/// How long what is left in the pipes is read when the command's group is gone. Only what has
/// left the group can still be filling them.
const REST_LIMIT: Duration = Duration::from_millis(500);

/// Who is told lines.
pub(crate) type Listener = Arc<dyn Fn(String) + Send + Sync>;

/// What was made of the output.
#[derive(Debug)]
pub(crate) struct Pumped {
    /// The last line of standard output that is not blank.
    pub(crate) last_line: Option<String>,
    /// What became of the bytes.
    pub(crate) filled: Filled,
}

/// Pumps until `gone`, then what is left. Memory is bounded whatever comes.
pub(crate) async fn pump(
    mut streams: Streams,
    sink: Sink,
    listener: Listener,
    gone: &CancellationToken,
) -> io::Result<Pumped> {
    let mut pump = Pump {
        sink: Some(sink),
        buffer: vec![0; BUFFER],
        last: LastLine::default(),
        newest: [NewestLine::default(), NewestLine::default()],
        pace: Pace::default(),
        listener,
    };
    loop {
        let due = pump.pace.due();
        tokio::select! {
            biased;
            () = gone.cancelled() => break,
            () = until(due) => pump.tell_waiting(),
            (source, count) = streams.read(&mut pump.buffer) => pump.take(source, count).await?,
        }
    }
    let end = Instant::now() + REST_LIMIT;
    while Instant::now() < end
        && let Some((source, count)) = streams.read_rest(&mut pump.buffer)
    {
        pump.take(source, count).await?;
    }
    pump.finish().await
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

struct Pump {
    /// Away only while a blocking thread writes.
    sink: Option<Sink>,
    buffer: Vec<u8>,
    last: LastLine,
    newest: [NewestLine; 2],
    pace: Pace,
    listener: Listener,
}

impl Pump {
    async fn take(&mut self, source: Source, count: usize) -> io::Result<()> {
        let bytes = &self.buffer[..count];
        if source == Source::Output {
            self.last.feed(bytes);
        }
        if let Some(line) = self.newest[source as usize].feed(bytes)
            && let Some(line) = self.pace.offer(line, Instant::now())
        {
            self.tell(&line);
        }
        if let Some(sink) = self.sink.as_mut().filter(|sink| sink.is_full()) {
            sink.take(bytes);
            return Ok(());
        }
        let Some(mut sink) = self.sink.take() else { return Ok(()) };
        let buffer = std::mem::take(&mut self.buffer);
        let write = tokio::task::spawn_blocking(move || {
            sink.take(&buffer[..count]);
            (sink, buffer)
        });
        let (sink, buffer) = write.await?;
        (self.sink, self.buffer) = (Some(sink), buffer);
        Ok(())
    }

    fn tell_waiting(&mut self) {
        if let Some(line) = self.pace.take(Instant::now()) {
            self.tell(&line);
        }
    }

    fn tell(&self, line: &[u8]) {
        let shown = printable(line);
        if !shown.trim().is_empty() {
            (self.listener)(shown);
        }
    }

    async fn finish(mut self) -> io::Result<Pumped> {
        let rest = self.newest.iter_mut().find_map(NewestLine::finish);
        let pace = std::mem::take(&mut self.pace);
        if let Some(line) = rest.or(pace.finish()) {
            self.tell(&line);
        }
        let sink = self.sink.take().ok_or_else(|| io::Error::other("the output was lost"))?;
        let filled = tokio::task::spawn_blocking(move || sink.close()).await?;
        Ok(Pumped { last_line: self.last.finish(), filled })
    }
}
