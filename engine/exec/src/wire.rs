//! The messages between the engine, the launcher and the reapers, and the sockets that carry them.
//!
//! Every socket keeps the boundaries of messages. The engine sends the launcher two kinds of messages:
//! [`FORK`] with a socket for the new reaper, and [`strays`] with one for the reply. On its own socket, a reaper gets [`OwnerRequest`]s. Each
//! command has a socket of its own, over which the engine sends [`CommandRequest`]s and whose end
//! means that the command is to be killed.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType,
    recvmsg, sendmsg, shutdown, socketpair,
};

/// The most descriptors of one message.
const DESCRIPTORS: usize = 6;

/// The longest message in bytes. What a command needs beyond that is in a file in memory.
pub(crate) const LONGEST: usize = 16 << 10;

/// The message to the launcher that asks for a reaper.
pub(crate) const FORK: &[u8] = b"fork";

/// Returns the two ends of a new socket.
pub(crate) fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// Sends a message at once or not at all.
///
/// # Errors
/// [`Errno::AGAIN`] if the socket is full, [`Errno::PIPE`] if the other end is closed.
pub(crate) fn send(
    socket: impl AsFd,
    parts: &[&[u8]],
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    let parts: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::INVAL);
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    retry(|| sendmsg(&socket, &parts, &mut control, flags)).map(drop)
}

/// Takes no more messages: from now on the other end cannot send any. What was sent before can still
/// be received.
pub(crate) fn refuse_messages(socket: impl AsFd) {
    let _closed = shutdown(socket, Shutdown::Read);
}

/// A received message.
#[derive(Debug)]
pub(crate) struct Received {
    /// The number of its bytes; 0 at the end of the socket.
    pub(crate) length: usize,
    /// Its descriptors.
    pub(crate) descriptors: Vec<OwnedFd>,
    /// Whether it came whole: its bytes had room, and its descriptors could be opened here.
    pub(crate) is_whole: bool,
}

/// Receives a message if there is one.
///
/// # Errors
/// [`Errno::AGAIN`] if there is none.
pub(crate) fn receive(socket: impl AsFd, buffer: &mut [u8]) -> Result<Received, Errno> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let mut parts = [IoSliceMut::new(buffer)];
    let message = retry(|| recvmsg(&socket, &mut parts, &mut control, flags))?;
    let mut descriptors = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(opened) = part {
            descriptors.extend(opened);
        }
    }
    let is_whole = !message.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC);
    Ok(Received { length: message.bytes, descriptors, is_whole })
}

fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            ended => return ended,
        }
    }
}

/// The length of all messages but the start of a command.
pub(crate) const SHORT: usize = 8;

fn short(kind: u8, detail: u8, value: i32) -> [u8; SHORT] {
    let [a, b, c, d] = value.to_ne_bytes();
    [kind, detail, 0, 0, a, b, c, d]
}

fn parts(message: &[u8]) -> Option<(u8, u8, i32)> {
    let &[kind, detail, 0, 0, a, b, c, d] = message else { return None };
    Some((kind, detail, i32::from_ne_bytes([a, b, c, d])))
}

/// A step of starting a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartStep {
    /// Reading the request.
    Request,
    /// Making the process.
    Fork,
    /// Making it the leader of a session.
    Session,
    /// Entering its folder.
    Folder,
    /// Setting its standard streams.
    Streams,
    /// Giving it its terminal.
    Terminal,
    /// Entering namespaces of its own.
    Namespaces,
    /// Setting its limits.
    Limits,
    /// Executing the program.
    Program,
}

impl StartStep {
    const ALL: [Self; 9] = [
        Self::Request,
        Self::Fork,
        Self::Session,
        Self::Folder,
        Self::Streams,
        Self::Terminal,
        Self::Namespaces,
        Self::Limits,
        Self::Program,
    ];
}

/// Whether any process of a command's group still runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// At least one does.
    Runs,
    /// None does.
    Gone,
}

/// What a reaper says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// It serves an owner, as this process.
    Ready(i32),
    /// The command runs as this process.
    Started(i32),
    /// The command, or the reaper, could not be started.
    Failed(StartStep, Errno),
    /// The command has exited with this status.
    Exited(i32, Group),
    /// No process of the command's group runs any more.
    Gone,
    /// The owner has ended, or the reaper itself; so many processes are left.
    Ended(u32),
}

impl Reply {
    /// Returns the message.
    pub(crate) fn encode(self) -> [u8; SHORT] {
        match self {
            Self::Ready(process) => short(1, 0, process),
            Self::Started(process) => short(2, 0, process),
            Self::Failed(step, error) => short(3, step as u8, error.raw_os_error()),
            Self::Exited(status, Group::Runs) => short(4, 0, status),
            Self::Exited(status, Group::Gone) => short(4, 1, status),
            Self::Gone => short(5, 0, 0),
            Self::Ended(left) => short(6, 0, i32::try_from(left).unwrap_or(i32::MAX)),
        }
    }

    /// Reads a message.
    pub(crate) fn decode(message: &[u8]) -> Option<Self> {
        Some(match parts(message)? {
            (1, 0, process) => Self::Ready(process),
            (2, 0, process) => Self::Started(process),
            (3, step, error) => {
                let step = *StartStep::ALL.get(usize::from(step))?;
                Self::Failed(step, Errno::from_raw_os_error(error))
            }
            (4, 0, status) => Self::Exited(status, Group::Runs),
            (4, 1, status) => Self::Exited(status, Group::Gone),
            (5, 0, _) => Self::Gone,
            (6, 0, left) => Self::Ended(u32::try_from(left).ok()?),
            _ => return None,
        })
    }
}

/// What the engine wants of a running command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandRequest {
    /// End by yourselves: SIGTERM to the group. What the command leaves in its group when it exits is
    /// not killed then, as it may still be about to end.
    Stop,
    /// Kill the group, also what is left of it when the command has exited.
    Kill,
    /// Send the group SIGINT.
    Interrupt,
    /// Send the group SIGTERM.
    Terminate,
}

impl CommandRequest {
    const ALL: [Self; 4] = [Self::Stop, Self::Kill, Self::Interrupt, Self::Terminate];

    /// Returns the message.
    pub(crate) fn encode(self) -> [u8; SHORT] {
        short(7, self as u8, 0)
    }

    /// Reads a message.
    pub(crate) fn decode(message: &[u8]) -> Option<Self> {
        match parts(message)? {
            (7, request, 0) => Self::ALL.get(usize::from(request)).copied(),
            _ => None,
        }
    }
}

/// The message that ends an owner.
pub(crate) fn end() -> [u8; SHORT] {
    short(8, 0, 0)
}

/// The message to the launcher that asks it to kill what a dead reaper has left.
pub(crate) fn strays(reaper: i32) -> [u8; SHORT] {
    short(10, 0, reaper)
}

/// Returns the dead reaper whose strays a message asks to kill.
pub(crate) fn reaper_of_strays(message: &[u8]) -> Option<i32> {
    match parts(message)? {
        (10, 0, reaper) => Some(reaper),
        _ => None,
    }
}

/// Returns whether a message ends the owner.
pub(crate) fn is_end(message: &[u8]) -> bool {
    parts(message) == Some((8, 0, 0))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;

    use super::*;

    #[test]
    fn every_message_is_read_as_it_was_written() {
        let mut replies = vec![Reply::Ready(76), Reply::Started(77), Reply::Gone, Reply::Ended(3)];
        replies.extend([Group::Runs, Group::Gone].map(|group| Reply::Exited(-9, group)));
        replies.extend(StartStep::ALL.map(|step| Reply::Failed(step, Errno::NOENT)));
        for reply in replies {
            assert_eq!(Reply::decode(&reply.encode()), Some(reply));
        }
        for request in CommandRequest::ALL {
            assert_eq!(CommandRequest::decode(&request.encode()), Some(request));
        }
        assert!(is_end(&end()));
        assert_eq!(reaper_of_strays(&strays(76)), Some(76));
    }

    #[test]
    fn what_is_no_message_is_none() {
        for bytes in [&[][..], &[0; 8], &[3, 200, 0, 0, 0, 0, 0, 0], &[255; 8], &[1; 7]] {
            assert_eq!(Reply::decode(bytes), None);
            assert_eq!(CommandRequest::decode(bytes), None);
            assert!(!is_end(bytes));
            assert_eq!(reaper_of_strays(bytes), None);
        }
    }

    #[test]
    fn a_message_takes_its_descriptors_along_and_the_end_of_a_socket_is_empty() {
        let (ours, theirs) = pair().unwrap();
        assert_eq!(receive(&theirs, &mut [0; 9]).unwrap_err(), Errno::AGAIN);
        let (mut reader, writer) = std::io::pipe().unwrap();
        send(&ours, &[b"ab", b"c"], &[writer.as_fd()]).unwrap();
        drop(writer);
        drop(ours);
        let mut buffer = [0; 9];
        let message = receive(&theirs, &mut buffer).unwrap();
        assert_eq!((&buffer[..message.length], message.is_whole), (&b"abc"[..], true));
        let mut writers: Vec<_> = message.descriptors.into_iter().map(File::from).collect();
        std::io::Write::write_all(&mut writers[0], b"x").unwrap();
        drop(writers);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
        assert_eq!(receive(&theirs, &mut buffer).unwrap().length, 0);
    }

    #[test]
    fn whoever_takes_no_more_messages_can_still_send_one() {
        let (ours, theirs) = pair().unwrap();
        send(&ours, &[b"before"], &[]).unwrap();
        refuse_messages(&theirs);
        assert_eq!(send(&ours, &[b"after"], &[]).unwrap_err(), Errno::PIPE);
        send(&theirs, &[&Reply::Ended(0).encode()], &[]).unwrap();
        drop(theirs);
        let mut buffer = [0; SHORT];
        let received = loop {
            // What it has not read is an error of the other end first.
            match receive(&ours, &mut buffer) {
                Err(Errno::CONNRESET) => {}
                received => break received.unwrap(),
            }
        };
        assert_eq!(Reply::decode(&buffer[..received.length]), Some(Reply::Ended(0)));
        assert_eq!(receive(&ours, &mut buffer).unwrap().length, 0);
    }

    #[test]
    fn a_socket_that_is_full_says_so_and_blocks_nobody() {
        let (ours, _theirs) = pair().unwrap();
        let sent = (0..100_000).find_map(|_| send(&ours, &[&end()], &[]).err());
        assert_eq!(sent, Some(Errno::AGAIN));
    }
}
