//! A word when a test cannot have what it needs.

use std::io::Write as _;

/// Says that this machine cannot do what a test needs. `.ci/run` counts these lines.
pub fn skip(test: &str, why: &str) {
    // Straight to the descriptor: what the test harness captures would not be seen.
    // On a line of its own, also where dots stand for the tests that passed.
    // In one piece: other tests print meanwhile.
    let line = format!("\nSKIP {test}: {why}\n");
    let _unseen = std::io::stderr().write_all(line.as_bytes());
}
