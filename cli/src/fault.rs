//! Where the faults of this process come from: the variable REGATTA_FAULT, in builds with debug
//! assertions only.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use engine::fault::{FaultMeans, Faults};

use crate::error::{Error, ErrorKind};

/// The variable that holds the plan of faults.
pub const VARIABLE: &str = "REGATTA_FAULT";

/// The variable that names a file which is made where a plan waits. The wait is over when the file
/// is gone.
const GATE: &str = "REGATTA_FAULT_GATE";

/// Reads the plan of faults from the environment. A release build has none.
///
/// # Errors
/// The word of the plan that is not one.
pub fn from_environment() -> Result<Faults, Error> {
    let plan = std::env::var_os(VARIABLE).unwrap_or_default();
    let means = FaultMeans { kill: kill_self, wait };
    Faults::read(&plan.to_string_lossy(), means).map_err(|word| {
        Error::new(ErrorKind::Settings, format!("`{word}` is not a fault"))
            .because(format!("the variable {VARIABLE} is set"))
            .hint(format!("unset {VARIABLE}"))
    })
}

/// How long passes between two looks at the gate.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits at the gate, if there is one.
fn wait() {
    let Some(gate) = std::env::var_os(GATE).map(PathBuf::from) else { return };
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
