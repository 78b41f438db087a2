//! The engine's end of a socket, in the runtime.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::command_error::is_crowded;
use crate::wire::{self, Reply, SHORT};

/// How often a message is sent again when too many descriptors are on their way to other processes.
const SEND_AGAIN: u32 = 100;

/// How long to wait before a message is sent again.
const SEND_PAUSE: Duration = Duration::from_millis(10);

/// One end of a socket. No call blocks the runtime.
///
/// It listens for what can be read only: that the other end has read something, and there is room
/// again, would wake the runtime twice for each command.
#[derive(Debug)]
pub(crate) struct Socket(AsyncFd<OwnedFd>);

impl Socket {
    /// Returns a socket for the engine, and its other end.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = wire::pair()?;
        Ok((Self(listen(ours, Interest::READABLE)?), theirs))
    }

    /// Sends a message, when the socket and the kernel have room for it and for its descriptors.
    pub(crate) async fn send(
        &self,
        parts: &[&[u8]],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        for _ in 0..SEND_AGAIN {
            match wire::send(self.0.get_ref(), parts, descriptors).map_err(io::Error::from) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let socket = listen(self.0.get_ref().try_clone()?, Interest::WRITABLE)?;
                    let send = |_: &_| Ok(wire::send(self.0.get_ref(), parts, descriptors)?);
                    return socket.async_io(Interest::WRITABLE, send).await;
                }
                Err(error) if is_crowded(&error) => tokio::time::sleep(SEND_PAUSE).await,
                sent => return sent,
            }
        }
        Ok(wire::send(self.0.get_ref(), parts, descriptors)?)
    }

    /// Sends a message if the socket has room for it.
    pub(crate) fn try_send(&self, message: &[u8]) {
        let _full = wire::send(self.0.get_ref(), &[message], &[]);
    }

    /// Returns the next reply; `None` if the other end is closed. It is cancel safe.
    pub(crate) async fn receive(&self) -> io::Result<Option<Reply>> {
        self.0.async_io(Interest::READABLE, receive).await
    }

    /// Returns the next reply like [`Self::receive`], but blocks the thread until it is there; `None`
    /// also if it does not come in time.
    pub(crate) fn receive_blocking(&self, until: Instant) -> Option<Reply> {
        loop {
            match receive(self.0.get_ref()) {
                Ok(reply) => return reply,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
            let left = until.checked_duration_since(Instant::now())?;
            let left = Timespec::try_from(left).ok();
            let socket = self.0.get_ref().as_fd();
            let _interrupted = poll(&mut [PollFd::new(&socket, PollFlags::IN)], left.as_ref());
        }
    }

    /// Returns whether the other end is closed, or has sent something unasked.
    pub(crate) fn is_dead(&self) -> bool {
        !matches!(receive(self.0.get_ref()), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

fn receive(socket: &OwnedFd) -> io::Result<Option<Reply>> {
    let mut message = [0; SHORT];
    loop {
        return match wire::receive(socket, &mut message) {
            Ok(received) if received.length > 0 => {
                let reply = Reply::decode(&message[..received.length]);
                reply.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
            }
            Ok(_) => Ok(None),
            // The other end was closed before it had read everything. This is said once, and before
            // what it has sent.
            Err(Errno::CONNRESET) => continue,
            Err(error) => Err(error.into()),
        };
    }
}

#[expect(unsafe_code, reason = "tokio has no safe way to listen to a descriptor of any kind")]
fn listen(descriptor: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor is owned, so it stays open until the listener is dropped.
    let listener = unsafe { AsyncFd::register_with_interest(descriptor, interest) };
    Ok(listener?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    async fn a_full_socket_holds_up_the_sender_and_nobody_else() {
        let (socket, theirs) = Socket::pair().unwrap();
        let mut sent = 0;
        while wire::send(socket.0.get_ref(), &[&wire::end()], &[]).is_ok() {
            sent += 1;
        }
        let order = std::sync::Mutex::new(Vec::new());
        let send = async {
            socket.send(&[&wire::end()], &[]).await.unwrap();
            order.lock().unwrap().push("sent");
        };
        let other = async {
            tokio::task::yield_now().await;
            order.lock().unwrap().push("read");
            for _ in 0..sent {
                assert!(wire::receive(&theirs, &mut [0; SHORT]).is_ok());
            }
        };
        tokio::join!(send, other);
        assert_eq!(*order.lock().unwrap(), ["read", "sent"]);
        assert!(wire::receive(&theirs, &mut [0; SHORT]).is_ok());
    }

    #[test]
    async fn the_last_word_is_heard_also_of_one_that_has_not_read_everything() {
        let (socket, theirs) = Socket::pair().unwrap();
        socket.send(&[&wire::end()], &[]).await.unwrap();
        wire::send(&theirs, &[&Reply::Ended(0).encode()], &[]).unwrap();
        drop(theirs);
        assert_eq!(socket.receive().await.unwrap(), Some(Reply::Ended(0)));
        assert_eq!(socket.receive().await.unwrap(), None);
        let error = socket.send(&[&wire::end()], &[]).await.unwrap_err();
        assert!(crate::command_error::is_dead(&error), "{error:?}");
    }

    #[test]
    async fn what_is_no_reply_is_an_error_and_a_closed_socket_none() {
        let (socket, theirs) = Socket::pair().unwrap();
        assert!(!socket.is_dead());
        wire::send(&theirs, &[b"nonsense"], &[]).unwrap();
        assert_eq!(socket.receive().await.unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop(theirs);
        assert_eq!(socket.receive().await.unwrap(), None);
        assert!(socket.is_dead());
    }
}
