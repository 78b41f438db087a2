//! The end of the terminal itself, for instance because its window was closed. A program that ignores
//! nothing else reports SIGHUP.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::oneshot::{Receiver, channel};

/// Waits for the end of the terminal on standard input.
pub(super) struct Hangup {
    gone: Receiver<()>,
    /// Ends the thread that waits when this is dropped.
    _stop: OwnedFd,
}

impl Hangup {
    /// Begins to watch the terminal.
    ///
    /// # Errors
    /// The system has no resources left.
    pub(super) fn watch() -> io::Result<Self> {
        let terminal = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
        let (stopped, stop) = pipe_with(PipeFlags::CLOEXEC)?;
        let (sender, gone) = channel();
        std::thread::Builder::new().spawn(move || {
            let mut ends = [PollFd::new(&terminal, HANGUP), PollFd::new(&stopped, HANGUP)];
            while poll(&mut ends, None) == Err(Errno::INTR) {}
            if ends[0].revents().intersects(HANGUP) {
                let _left = sender.send(());
            }
        })?;
        Ok(Self { gone, _stop: stop })
    }

    /// Returns when the terminal is gone.
    pub(super) async fn happened(&mut self) {
        if (&mut self.gone).await.is_err() {
            std::future::pending().await
        }
    }
}

const HANGUP: PollFlags = PollFlags::HUP.union(PollFlags::ERR);
