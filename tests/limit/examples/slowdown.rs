//! Prints how many times as long as on a quiet machine things take now.

use std::io::Write as _;

fn main() -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{:.2}", test_limit::slowdown())
}
