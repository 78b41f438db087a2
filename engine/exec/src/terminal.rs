//! Makes the terminal of a command.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

/// The size of the terminal, which programs fit their output into.
const SIZE: Winsize = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// The key that ends the input, Ctrl-D.
const END: &[u8] = b"\x04";

/// A terminal in which nobody types.
pub(crate) struct Terminal {
    /// The end on which the output is read.
    pub(crate) other_end: OwnedFd,
    /// The end for the command.
    pub(crate) end: OwnedFd,
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
