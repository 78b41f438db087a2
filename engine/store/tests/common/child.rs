//! The processes of the tests that kill one.

use std::process::{Command, Stdio};

/// Returns the command that starts this program again, to run one of its tests only. Its output is a
/// pipe.
pub(crate) fn this_program(test: &str) -> Command {
    let mut program = Command::new(std::env::current_exe().expect("this program is a file"));
    program.args(["--exact", test, "--nocapture"]);
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    program
}
