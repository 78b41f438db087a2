//! Reads a session log for people, also while it is written.

use std::fs::File;
use std::io;
use std::path::Path;

use protocol::Usage;

use super::line::{self, Read, SessionLine};
use super::scan::{Found, Scan};

/// Returns what the models of a session have used, as far as it was written down; nothing where
/// none has answered.
#[must_use]
pub fn used_in(lines: &[SessionLine]) -> Option<Usage> {
    lines.iter().filter_map(|line| line.entry.usage()).reduce(|one, other| one + other)
}

/// Returns the entries of the session log at `path` in their order. What cannot be read and what
/// is just being written is left out.
///
/// # Errors
/// There is no such file, or the system cannot read it.
pub fn read_session(path: &Path) -> io::Result<Vec<SessionLine>> {
    let mut scan = Scan::of(File::open(path)?);
    let mut lines = Vec::new();
    while let Some(found) = scan.next()? {
        if let Found::Whole(bytes) = found
            && let Read::Entry(line) = line::read(bytes)
        {
            lines.push(*line);
        }
    }
    Ok(lines)
}
