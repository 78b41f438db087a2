//! What the user should know, on standard error.

use std::io::{self, Write as _};

use crate::args::{Globals, Verbosity};
use crate::render;

/// Writes a line, unless the user wants none.
pub(super) fn note(globals: &Globals, line: &str) {
    if globals.verbosity() != Verbosity::Quiet {
        // A write error is ignored, because only the note is lost.
        let _unread = writeln!(io::stderr(), "{}", render::one_line(line));
    }
}
