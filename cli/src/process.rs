//! This process: closes its memory to others, reads its failpoints, writes standard output, and ends
//! with an exit code.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use engine::fault::{FaultHooks, Faults};
use protocol::ExitCode;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::error::{Error, ErrorKind};

/// Closes the memory and the environment of this process, which hold keys, to other processes of the
/// same user, such as the commands of tasks. Root can still read them.
///
/// A child process can be read again after its `exec`, so its environment must have no keys.
pub fn hide_memory() {
    // Where the kernel does not know that, nothing is worse than before.
    let _older = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// The variable that sets failpoints.
const FAULT_VARIABLE: &str = "REGATTA_FAULT";

/// The variable that names the file at which a waiting failpoint waits.
const GATE_VARIABLE: &str = "REGATTA_FAULT_GATE";

/// Reads the failpoints from the environment, in builds with debug assertions only.
///
/// # Errors
/// A word in the variable is not a failpoint.
pub fn faults_from_environment() -> Result<Faults, Error> {
    let plan = std::env::var_os(FAULT_VARIABLE).unwrap_or_default();
    let means = FaultHooks { kill: kill_self, wait: wait_for_gate };
    Faults::read(&plan.to_string_lossy(), means).map_err(|word| {
        Error::new(ErrorKind::Settings, format!("`{word}` is not a fault"))
            .because(format!("the variable {FAULT_VARIABLE} is set"))
            .hint(format!("unset {FAULT_VARIABLE}"))
    })
}

/// How long passes between two looks at the gate.
const PAUSE: Duration = Duration::from_millis(5);

/// Creates the file of [`GATE_VARIABLE`] and waits until somebody removes it.
fn wait_for_gate() {
    let Some(gate) = std::env::var_os(GATE_VARIABLE).map(PathBuf::from) else { return };
    let mut closed = File::create(&gate).is_ok();
    while closed {
        std::thread::sleep(PAUSE);
        closed = gate.exists();
    }
}

/// Ends the process with SIGKILL: no destructor, no handler, nothing flushed.
fn kill_self() {
    let me = rustix::process::getpid();
    if rustix::process::kill_process(me, rustix::process::Signal::KILL).is_err() {
        std::process::abort();
    }
}

/// Prints the error of a command, if it failed, and returns the exit code of the process.
#[must_use]
pub fn report(end: Result<ExitCode, Error>) -> std::process::ExitCode {
    let code = match end {
        Ok(code) => code,
        Err(error) => {
            if error.kind != ErrorKind::Closed {
                // Where standard error is gone too, the exit code still tells.
                let _unread = writeln!(io::stderr(), "{error}");
            }
            error.exit
        }
    };
    std::process::ExitCode::from(u8::from(code))
}

/// Writes to standard output and flushes it.
///
/// # Errors
/// [`Error::output`].
pub fn print(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Error::output(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_hidden_cannot_be_looked_into() {
        hide_memory();
        let now = rustix::process::dumpable_behavior().unwrap();
        assert_eq!(now, DumpableBehavior::NotDumpable);
    }
}
