//! Reads the output of a command, writes it to its file and reports its lines on the way.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::{Errno, ioctl_fionbio, ioctl_fionread};
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::failure_line::{StreamEnd, failure_line};
use crate::lines::{LastLine, NewestLine, RateLimit, printable};
use crate::output_file::{OutputFile, WrittenOutput};
use crate::terminal::InputEnd;

/// The capacity of a pipe.
const BUFFER: usize = 16 << 10;

/// How long what a command has written last may take through its terminal, whose end shows that all came.
const TERMINAL_END: Duration = Duration::from_millis(500);

/// How often it is looked whether the end of the input of a terminal was read.
const INPUT_LOOK: Duration = Duration::from_millis(50);

/// Called with each progress line.
pub(crate) type Listener = Arc<dyn Fn(String) + Send + Sync>;

/// The result of reading the output.
#[derive(Debug)]
pub(crate) struct CollectedOutput {
    /// The last line of standard output that is not blank.
    pub(crate) last_line: Option<String>,
    /// The line that says why the command failed, if it did.
    pub(crate) failure_line: Option<String>,
    /// How many bytes were written and dropped.
    pub(crate) written: WrittenOutput,
    /// The whole output, if it is in no file.
    pub(crate) held: Option<Vec<u8>>,
}

/// Reads the output until `gone` is cancelled, which means that the process group has ended, and
/// then what is in the pipes at that moment: only processes that have left the group write more.
/// Memory is bounded: of the last line, `result_limit` bytes are kept.
pub(crate) async fn collect_output(
    mut streams: OutputStreams,
    (file, result_limit): (OutputFile, usize),
    listener: Listener,
    gone: &CancellationToken,
) -> io::Result<CollectedOutput> {
    let mut collector = OutputCollector {
        file: Some(file),
        buffer: vec![0; BUFFER],
        last: LastLine::new(result_limit),
        newest: [NewestLine::default(), NewestLine::default()],
        ends: [StreamEnd::default(), StreamEnd::default()],
        rate: RateLimit::default(),
        listener,
    };
    let mut input_look = streams.input_end.as_ref().map(|_| Instant::now() + INPUT_LOOK);
    loop {
        let due = collector.rate.due();
        tokio::select! {
            biased;
            () = gone.cancelled() => break,
            () = until(due) => collector.report_pending(),
            () = until(input_look) => {
                streams.renew_input_end();
                input_look = Some(Instant::now() + INPUT_LOOK);
            }
            (source, count) = streams.read(&mut collector.buffer) => collector.push(source, count).await?,
        }
    }
    // A terminal ends when its other end is closed.
    drop(streams.input_end.take());
    let until = Instant::now() + TERMINAL_END;
    // What has left the group may write on: the timeout is not looked at while there is something to read.
    while Instant::now() < until
        && let Ok(Some(count)) =
            timeout_at(until, streams.read_terminal(&mut collector.buffer)).await
    {
        collector.push(Source::Output, count).await?;
    }
    for (source, mut unread) in streams.unread() {
        while unread > 0 {
            let most = unread.min(collector.buffer.len());
            let count = streams.read_unread(source, &mut collector.buffer[..most]);
            if count == 0 {
                break;
            }
            unread = unread.saturating_sub(count);
            collector.push(source, count).await?;
        }
    }
    collector.finish().await
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// The state of reading the output of one command.
struct OutputCollector {
    /// Absent only while a blocking thread writes.
    file: Option<OutputFile>,
    buffer: Vec<u8>,
    last: LastLine,
    newest: [NewestLine; 2],
    ends: [StreamEnd; 2],
    rate: RateLimit,
    listener: Listener,
}

impl OutputCollector {
    async fn push(&mut self, source: Source, count: usize) -> io::Result<()> {
        let bytes = &self.buffer[..count];
        if source == Source::Output {
            self.last.feed(bytes);
        }
        self.ends[source as usize].feed(bytes);
        if let Some(line) = self.newest[source as usize].feed(bytes)
            && let Some(line) = self.rate.offer(line, Instant::now())
        {
            self.report(&line);
        }
        if self.file.as_mut().is_some_and(|file| file.hold(bytes)) {
            return Ok(());
        }
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let buffer = std::mem::take(&mut self.buffer);
        let write = tokio::task::spawn_blocking(move || {
            file.push(&buffer[..count]);
            (file, buffer)
        });
        let (file, buffer) = write.await?;
        (self.file, self.buffer) = (Some(file), buffer);
        Ok(())
    }

    fn report_pending(&mut self) {
        if let Some(line) = self.rate.take(Instant::now()) {
            self.report(&line);
        }
    }

    fn report(&self, line: &[u8]) {
        let shown = printable(line);
        if !shown.trim().is_empty() {
            (self.listener)(shown);
        }
    }

    async fn finish(mut self) -> io::Result<CollectedOutput> {
        let rest = self.newest.iter_mut().find_map(NewestLine::finish);
        let rate = std::mem::take(&mut self.rate);
        if let Some(line) = rest.or(rate.finish()) {
            self.report(&line);
        }
        let mut file = self.file.take().ok_or_else(|| io::Error::other("the output was lost"))?;
        let held = file.take_held();
        let written = match file.is_absent() {
            true => file.close(),
            false => tokio::task::spawn_blocking(move || file.close()).await?,
        };
        let [output, error] = &self.ends;
        let failure_line = failure_line(error, output);
        Ok(CollectedOutput { last_line: self.last.finish(), failure_line, written, held })
    }
}

/// One of the two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// The standard output and standard error of a command. Each is closed when it has ended.
#[derive(Debug)]
pub(crate) struct OutputStreams {
    output: Option<Receiver>,
    error: Option<Receiver>,
    is_terminal: bool,
    /// Present until the command has ended, if the streams are a terminal.
    input_end: Option<InputEnd>,
}

impl OutputStreams {
    /// Takes the reading ends of the pipes.
    pub(crate) fn new(output: OwnedFd, error: OwnedFd) -> io::Result<Self> {
        let output = Some(Receiver::from_owned_fd(output)?);
        let error = Some(Receiver::from_owned_fd(error)?);
        Ok(Self { output, error, is_terminal: false, input_end: None })
    }

    /// Takes the other end of the terminal that both streams are.
    pub(crate) fn of_terminal(other_end: OwnedFd, input_end: InputEnd) -> io::Result<Self> {
        ioctl_fionbio(&other_end, true)?;
        // It is read as a pipe is.
        let output = Some(Receiver::from_owned_fd_unchecked(other_end)?);
        Ok(Self { output, error: None, is_terminal: true, input_end: Some(input_end) })
    }

    fn renew_input_end(&self) {
        if let (Some(input_end), Some(terminal)) = (&self.input_end, &self.output) {
            // A terminal whose other end is closed needs none.
            let _failed = input_end.renew(terminal);
        }
    }

    /// Reads what comes from a terminal; `None` at its end, and where there is none.
    async fn read_terminal(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let terminal = self.output.as_ref().filter(|_| self.is_terminal)?;
        loop {
            ready(Some(terminal)).await;
            match terminal.try_read(buffer) {
                Ok(0) => return None,
                Ok(count) => return Some(count),
                Err(error) if is_temporary(error.kind()) => {}
                // A terminal whose other end is closed fails in place of an end.
                Err(_) => return None,
            }
        }
    }

    /// Reads bytes of either stream into `buffer`; pends for ever when both have ended. It is cancel
    /// safe.
    pub(crate) async fn read(&mut self, buffer: &mut [u8]) -> (Source, usize) {
        loop {
            let source = tokio::select! {
                () = ready(self.output.as_ref()) => Source::Output,
                () = ready(self.error.as_ref()) => Source::Error,
            };
            let stream = self.stream(source);
            let Some(receiver) = stream else { continue };
            match receiver.try_read(buffer) {
                Ok(0) => *stream = None,
                Ok(count) => return (source, count),
                Err(error) if is_temporary(error.kind()) => {}
                Err(_) => *stream = None,
            }
        }
    }

    /// Returns how many bytes are in each pipe.
    fn unread(&mut self) -> [(Source, usize); 2] {
        [Source::Output, Source::Error].map(|source| {
            let receiver = self.stream(source).as_ref();
            let unread = receiver.and_then(|receiver| ioctl_fionread(receiver).ok());
            (source, unread.and_then(|unread| usize::try_from(unread).ok()).unwrap_or(0))
        })
    }

    /// Reads bytes that are in a pipe already, and returns how many; 0 if there are none.
    ///
    /// It reads the pipe directly, because the runtime may not have noticed the bytes yet.
    fn read_unread(&mut self, source: Source, buffer: &mut [u8]) -> usize {
        let Some(receiver) = self.stream(source) else { return 0 };
        loop {
            match rustix::io::read(&*receiver, &mut *buffer) {
                Err(Errno::INTR) => {}
                read => return read.unwrap_or(0),
            }
        }
    }

    fn stream(&mut self, source: Source) -> &mut Option<Receiver> {
        match source {
            Source::Output => &mut self.output,
            Source::Error => &mut self.error,
        }
    }
}

async fn ready(stream: Option<&Receiver>) {
    match stream {
        // The following read returns the error again.
        Some(receiver) => {
            let _failed = receiver.readable().await;
        }
        None => std::future::pending().await,
    }
}

fn is_temporary(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use rustix::event::{EventfdFlags, eventfd};
    use rustix::pipe::fcntl_getpipe_size;

    use super::*;
    use crate::terminal::terminal;

    #[test]
    async fn what_is_in_the_pipes_at_the_end_is_kept_however_late_it_is_read_and_nothing_later() {
        let folder = tempfile::tempdir().unwrap();
        let (output, mut writer) = io::pipe().unwrap();
        let (error, mut error_writer) = io::pipe().unwrap();
        let room = fcntl_getpipe_size(&writer).unwrap();
        writer.write_all(&vec![b'.'; room]).unwrap();
        error_writer.write_all(b"an error").unwrap();
        let streams = OutputStreams::new(output.into(), error.into()).unwrap();
        // A process that has left the group goes on until the reader closes its end.
        let flood = std::thread::spawn(move || while writer.write_all(&[b'x'; 4096]).is_ok() {});
        let gone = CancellationToken::new();
        gone.cancel();
        let file = OutputFile::create(&folder.path().join("output.log"), 1 << 20).unwrap();
        let collected =
            collect_output(streams, (file, 100), Arc::new(|_| {}), &gone).await.unwrap();
        assert_eq!(collected.written.bytes, (room + "an error".len()) as u64);
        assert!(collected.failure_line.is_some_and(|line| line.contains("an error")));
        flood.join().unwrap();
    }

    #[test]
    async fn what_writes_to_the_terminal_of_a_command_that_has_ended_is_not_read_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let input_end = InputEnd::of(terminal().unwrap().end);
        // In place of the terminal is what always has something to read, however slow the machine is.
        let flood = eventfd(u32::MAX, EventfdFlags::SEMAPHORE).unwrap();
        let streams = OutputStreams::of_terminal(flood, input_end).unwrap();
        let gone = CancellationToken::new();
        gone.cancel();
        let file = OutputFile::create(&folder.path().join("output.log"), 1 << 20).unwrap();
        let collected =
            collect_output(streams, (file, 100), Arc::new(|_| {}), &gone).await.unwrap();
        assert!(collected.written.bytes > 0);
    }
}
