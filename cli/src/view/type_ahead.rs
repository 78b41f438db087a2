//! Keeps what is typed while something else prints, so that the view gets it as keys afterwards.

use std::io;

use rustix::termios::{InputModes, LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::terminal_mode;

/// While it lives, the terminal neither shows what is typed nor changes it: Enter stays the key that the
/// view knows. Ctrl-C is a signal still. The terminal is as it was when this is dropped.
pub(super) struct TypeAhead;

impl TypeAhead {
    pub(super) fn keep() -> Self {
        // A terminal that is gone has no mode.
        if let Ok(before) = tcgetattr(io::stdin()) {
            let mut quiet = before.clone();
            quiet.local_modes.remove(LocalModes::ECHO);
            quiet.input_modes.remove(InputModes::ICRNL);
            terminal_mode::keep(before);
            let _gone = tcsetattr(io::stdin(), OptionalActions::Now, &quiet);
        }
        Self
    }
}

impl Drop for TypeAhead {
    fn drop(&mut self) {
        terminal_mode::restore();
    }
}
