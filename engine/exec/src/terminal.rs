//! Makes the terminal of a command.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

/// The size of the terminal, which programs fit their output into.
const SIZE: Winsize = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// The key that ends the input, Ctrl-D.
const END: &[u8] = b"\x04";

/// A terminal without a user.
pub(crate) struct Terminal {
    /// The end on which the output is read.
    pub(crate) other_end: OwnedFd,
    /// The end for the command.
    pub(crate) end: OwnedFd,
}

/// The end of the input of a terminal, which one read takes away.
#[derive(Debug)]
pub(crate) struct InputEnd {
    /// The end of the command, which shows what has been read.
    end: OwnedFd,
}

impl InputEnd {
    /// Returns that of the terminal with this end.
    pub(crate) fn of(end: OwnedFd) -> Self {
        Self { end }
    }

    /// Types the end of the input again if the one before was read, or thrown away as what asks for a password
    /// does. A program that takes each key by itself gets none: for it, this is a key like others.
    pub(crate) fn renew(&self, other_end: impl AsFd) -> io::Result<()> {
        let mut polled = [PollFd::new(&self.end, PollFlags::IN)];
        poll(&mut polled, Some(&Timespec::default()))?;
        let takes_lines = tcgetattr(&self.end)?.local_modes.contains(LocalModes::ICANON);
        if polled[0].revents().is_empty() && takes_lines {
            rustix::io::write(other_end, END)?;
        }
        Ok(())
    }
}

/// Returns a new terminal, in which a program that reads finds the end of its input.
pub(crate) fn terminal() -> io::Result<Terminal> {
    let other_end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&other_end)?;
    unlockpt(&other_end)?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let end = open(ptsname(&other_end, Vec::new())?, flags, Mode::empty())?;
    tcsetwinsize(&end, SIZE)?;
    let mut modes = tcgetattr(&end)?;
    // What is typed would be in the output.
    modes.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&end, OptionalActions::Now, &modes)?;
    rustix::io::write(&other_end, END)?;
    Ok(Terminal { other_end, end })
}
