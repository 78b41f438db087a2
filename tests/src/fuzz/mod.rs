//! Seeded fuzzers: random repositories and tasks against an independent judge of landings, and
//! random kills of a run and of its recovery.

use std::io::Write as _;

mod commit;
mod files;
pub mod kills;
pub mod landing;
mod points;
mod random;
mod rounds;

pub use random::Random;
pub use rounds::Rounds;

/// Says something about a round, also where the test harness captures what is printed.
fn report(line: &str) {
    let _unseen = writeln!(std::io::stderr(), "\n{line}"); // nobody has to read it
}
