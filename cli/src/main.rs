//! The binary: parses the command line, runs the command, and reports the result.

use std::process::ExitCode;

use regatta::commands::dispatch::dispatch;
use regatta::{args, process};

/// Messages between actors are allocated on one thread and freed on another: with this allocator a
/// task costs half of what it costs with the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    process::hide_memory();
    isolation::initialise();
    process::report(args::parse(std::env::args_os()).and_then(dispatch))
}
