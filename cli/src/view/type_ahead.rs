//! Keeps what is typed while something else prints, so that the view gets it as keys afterwards.

use std::io;

use rustix::termios::{InputModes, LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// While it lives, the terminal neither shows what is typed nor changes it: Enter stays the key that the
/// view knows. Ctrl-C is a signal still. The terminal is as it was when this is dropped.
pub(super) struct TypeAhead(Option<Termios>);

impl TypeAhead {
    pub(super) fn keep() -> Self {
        // A terminal that is gone has no mode.
        let before = tcgetattr(io::stdin()).ok();
        if let Some(before) = &before {
            let mut quiet = before.clone();
            quiet.local_modes.remove(LocalModes::ECHO);
            quiet.input_modes.remove(InputModes::ICRNL);
            let _gone = tcsetattr(io::stdin(), OptionalActions::Now, &quiet);
        }
        Self(before)
    }
}

impl Drop for TypeAhead {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _gone = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}
