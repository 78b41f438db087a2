//! Reads the planned faults from the environment.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use engine::fault::{FaultHooks, Faults};

use regatta::error::{Error, ErrorKind};

/// The environment variable with the plan.
const FAULT_VARIABLE: &str = "REGATTA_FAULT";

/// The environment variable with the path of the gate file. A failpoint that waits creates this
/// file and blocks until it is removed.
const GATE_VARIABLE: &str = "REGATTA_FAULT_GATE";

/// The time between two checks whether the gate file still exists.
const PAUSE: Duration = Duration::from_millis(5);

/// Reads the plan.
///
/// # Errors
/// A word of the plan is not a fault.
pub(crate) fn from_environment() -> Result<Faults, Error> {
    let plan = std::env::var_os(FAULT_VARIABLE).unwrap_or_default();
    let hooks = FaultHooks { kill: kill_self, wait: wait_for_gate };
    Faults::read(&plan.to_string_lossy(), hooks).map_err(|word| {
        Error::new(ErrorKind::Settings, format!("`{word}` is not a fault"))
            .because(format!("the variable {FAULT_VARIABLE} is set"))
            .hint(format!("unset {FAULT_VARIABLE}"))
    })
}

/// Creates the file of [`GATE_VARIABLE`] and waits until it is removed.
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
