//! The two streams of a command's output, read as one.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use tokio::net::unix::pipe::Receiver;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// Both streams. Each is closed when it has ended.
#[derive(Debug)]
pub(crate) struct Streams {
    output: Option<Receiver>,
    error: Option<Receiver>,
}

impl Streams {
    /// Takes the ends that we read.
    pub(crate) fn new(output: OwnedFd, error: OwnedFd) -> io::Result<Self> {
        let output = Some(Receiver::from_owned_fd(output)?);
        let error = Some(Receiver::from_owned_fd(error)?);
        Ok(Self { output, error })
    }

    /// Waits for bytes of either stream and reads them into `buffer`; never ends when both have.
    ///
    /// Nothing is lost if this is dropped before it ends.
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
                Err(error) if is_for_now(error.kind()) => {}
                Err(_) => *stream = None,
            }
        }
    }

    /// Reads what is there already, without waiting for more. Nothing comes back at the end.
    ///
    /// It asks the pipes themselves: the runtime may not have been told yet.
    pub(crate) fn read_rest(&mut self, buffer: &mut [u8]) -> Option<(Source, usize)> {
        for source in [Source::Output, Source::Error] {
            let stream = self.stream(source);
            while let Some(receiver) = stream {
                match rustix::io::read(&*receiver, &mut *buffer) {
                    Ok(count) if count > 0 => return Some((source, count)),
                    Err(Errno::INTR) => {}
                    Ok(_) | Err(_) => *stream = None,
                }
            }
        }
        None
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
        // An error is met again by the read that follows.
        Some(receiver) => {
            let _failed = receiver.readable().await;
        }
        None => std::future::pending().await,
    }
}

fn is_for_now(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
