//! The binary: parses the command line, runs the command, and reports the result.

use std::process::ExitCode;

use cli::commands::dispatch::dispatch;
use cli::{allocator, args, process};
use regatta::launcher;

/// Actors allocate messages on one thread and free them on another. With mimalloc, a task costs
/// half of what it costs with the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    regatta::launch();
    allocator::give_memory_back_soon();
    launcher::hide_memory();
    process::report(args::parse(std::env::args_os()).and_then(dispatch))
}
