//! The binary: parses the command line, runs the command, and reports the result.

use std::process::ExitCode;

use regatta::commands::dispatch::dispatch;
use regatta::{allocator, args, process};

/// Actors allocate messages on one thread and free them on another. With mimalloc, a task costs
/// half of what it costs with the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(ended) = process::launch() {
        return ended;
    }
    allocator::give_memory_back_soon();
    process::hide_memory();
    isolation::initialise();
    process::report(args::parse(std::env::args_os()).and_then(dispatch))
}
