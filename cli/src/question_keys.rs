//! The keys of the terminal while a question of a run is open. Ctrl-C and Ctrl-Z mean what they always mean,
//! and the terminal is as it was before as soon as no question is open.

use std::io;

use protocol::QuestionId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, tcflush, tcgetattr, tcsetattr,
};

use crate::terminal_mode::{is_in_foreground, keep, restore};

/// Reads the keys that answer questions.
#[derive(Debug, Default)]
pub(crate) struct QuestionKeys {
    /// The question that the keys are for.
    of: Option<QuestionId>,
}

impl QuestionKeys {
    /// Returns the key that was pressed since the last call, for this question. Keys that were pressed before the
    /// question was displayed are dropped, and so is what is typed or pasted: several keys at once.
    pub(crate) fn pressed(&mut self, question: Option<QuestionId>) -> Option<char> {
        let Some(question) = question else {
            self.close();
            return None;
        };
        // In the background, reading would stop the program, and the terminal is another's.
        if !is_in_foreground() {
            return None;
        }
        match enter() {
            Entered::Already if self.of == Some(question) => {}
            Entered::Already => {
                self.of = Some(question);
                let _none = tcflush(io::stdin(), QueueSelector::IFlush); // then there is nothing to drop
                return None;
            }
            Entered::Now => {
                self.of = Some(question);
                return None;
            }
            Entered::Never => return None,
        }
        match typed().as_slice() {
            [key] if key.is_ascii_alphabetic() => Some(char::from(*key)),
            _ => None,
        }
    }

    /// Gives the terminal back.
    pub(crate) fn close(&mut self) {
        if self.of.take().is_some() {
            restore();
        }
    }
}

impl Drop for QuestionKeys {
    fn drop(&mut self) {
        self.close();
    }
}

/// Whether the terminal gives keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entered {
    /// From now on. What was typed before is dropped.
    Now,
    Already,
    /// There is no terminal any more.
    Never,
}

/// Puts the terminal into the mode in which it gives keys, unless it is in that mode.
fn enter() -> Entered {
    let Ok(now) = tcgetattr(io::stdin()) else { return Entered::Never };
    let lines = LocalModes::ICANON | LocalModes::ECHO;
    if !now.local_modes.intersects(lines) {
        return Entered::Already;
    }
    let mut keys = now.clone();
    keys.local_modes -= lines;
    keys.special_codes[SpecialCodeIndex::VMIN] = 1;
    keys.special_codes[SpecialCodeIndex::VTIME] = 0;
    // A shell may have changed the mode while the program was stopped.
    keep(now);
    match tcsetattr(io::stdin(), OptionalActions::Flush, &keys) {
        Ok(()) => Entered::Now,
        Err(_gone) => Entered::Never,
    }
}

/// Returns what was typed, as far as it is there.
fn typed() -> Vec<u8> {
    let stdin = rustix::stdio::stdin();
    let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let is_ready = poll(&mut ready, Some(&at_once)).is_ok_and(|ready| ready == 1);
    if !is_ready || !ready[0].revents().contains(PollFlags::IN) {
        return Vec::new();
    }
    let mut bytes = vec![0; 256];
    let size = rustix::io::read(stdin, &mut bytes).unwrap_or_default();
    bytes.truncate(size);
    bytes
}
