//! What this process does about itself before it does anything else.

use std::io::{self, Write as _};
use std::time::Duration;

use engine::fault::{FaultMeans, Faults};
use protocol::ExitCode;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::error::{Error, ErrorKind};

/// Closes the memory and the environment of this process, where keys are, to other processes of the
/// same user: the commands of tasks are such. Root can still look.
///
/// A process that this one starts can be looked into again once it has become another program: it
/// must get an environment without keys.
pub fn hide() {
    // Where the kernel does not know that, nothing is worse than before.
    let _older = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// The variable that holds the plan of faults.
const FAULT_VARIABLE: &str = "REGATTA_FAULT";

/// Reads the plan of faults from the environment. A release build has none.
///
/// # Errors
/// The word of the plan that is not one.
pub fn faults_from_environment() -> Result<Faults, Error> {
    let plan = std::env::var_os(FAULT_VARIABLE).unwrap_or_default();
    let means = FaultMeans { kill: kill_self, wait: || std::thread::sleep(HALF_A_SECOND) };
    Faults::read(&plan.to_string_lossy(), means).map_err(|word| {
        Error::new(ErrorKind::Settings, format!("`{word}` is not a fault"))
            .because(format!("the variable {FAULT_VARIABLE} is set"))
            .hint(format!("unset {FAULT_VARIABLE}"))
    })
}

const HALF_A_SECOND: Duration = Duration::from_millis(500);

/// Ends the process with SIGKILL: no destructor, no handler, nothing flushed.
fn kill_self() {
    let me = rustix::process::getpid();
    if rustix::process::kill_process(me, rustix::process::Signal::KILL).is_err() {
        std::process::abort();
    }
}

/// Says what went wrong, if something did, and returns how the program ends.
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

/// Writes to standard output and sees it through.
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
        hide();
        let now = rustix::process::dumpable_behavior().unwrap();
        assert_eq!(now, DumpableBehavior::NotDumpable);
    }
}
