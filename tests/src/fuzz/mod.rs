//! Seeded fuzzers: random repositories and tasks against an independent judge of landings, and
//! random kills of a run and of its recovery.

mod commit;
mod files;
pub mod kills;
pub mod landing;
mod points;
mod random;

use std::io::Write as _;

pub use random::Random;

/// Prints a line about a round that the test harness does not capture.
fn report(line: &str) {
    let _unread = writeln!(std::io::stderr(), "\n{line}"); // a test passes without it, too
}
