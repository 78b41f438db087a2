//! Lines about a round that the test harness does not capture.

use std::io::Write as _;

/// Prints a line about a round.
pub(super) fn report(line: &str) {
    let _unread = writeln!(std::io::stderr(), "\n{line}"); // a test passes without it, too
}
