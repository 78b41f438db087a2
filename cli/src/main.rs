//! The binary: reads the command line, does what it asks, says how it ended.

use std::process::ExitCode;

use regatta::commands::dispatch::dispatch;
use regatta::{args, exit};

fn main() -> ExitCode {
    isolation::initialise();
    exit::report(args::parse(std::env::args_os()).and_then(dispatch))
}
