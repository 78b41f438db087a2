//! The mode that the terminal had before a part of the program changed it. The code that ends the process puts it
//! back, also at once at a signal.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::getpgrp;
use rustix::termios::{OptionalActions, Termios, tcgetpgrp, tcsetattr};

/// The mode before; `None` while the terminal has it.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Keeps the mode of the terminal, which changes now. One that is kept already was before this one.
pub(crate) fn keep(mode: Termios) {
    before().get_or_insert(mode);
}

/// Puts the terminal into the mode that is kept.
pub(crate) fn restore() {
    let before = before().take();
    if let (Some(mode), true) = (before, is_in_foreground()) {
        let _gone = tcsetattr(io::stdin(), OptionalActions::Now, &mode); // the terminal may be gone
    }
}

/// Returns whether the terminal is this program's. One that does not control the program has no foreground.
pub(crate) fn is_in_foreground() -> bool {
    tcgetpgrp(io::stdin()).map_or(true, |group| group == getpgrp())
}

fn before() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}
