//! Lines about a round that the test harness does not capture.

use std::io::Write as _;

/// Prints a line about a round.
pub(super) fn report(line: &str) {
    // In one piece: other tests print meanwhile. A test passes without it, too.
    let _unread = std::io::stderr().write_all(format!("\n{line}\n").as_bytes());
}
