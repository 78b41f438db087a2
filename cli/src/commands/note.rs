//! What the user should know, on standard error.

use crate::args::{Globals, Verbosity};
use crate::{process, render};

/// Writes a line, unless the user wants none.
pub(super) fn note(globals: &Globals, line: &str) {
    if globals.verbosity() != Verbosity::Quiet {
        process::notify(&render::one_line(line));
    }
}
