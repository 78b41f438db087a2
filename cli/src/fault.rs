//! Where the faults of this process come from: the variable REGATTA_FAULT, in builds with debug
//! assertions only.

use std::time::Duration;

use engine::fault::{FaultMeans, Faults};

use crate::error::{Error, ErrorKind};

/// The variable that holds the plan of faults.
pub const VARIABLE: &str = "REGATTA_FAULT";

/// Reads the plan of faults from the environment. A release build has none.
///
/// # Errors
/// The word of the plan that is not one.
pub fn from_environment() -> Result<Faults, Error> {
    let plan = std::env::var_os(VARIABLE).unwrap_or_default();
    let means = FaultMeans { kill: kill_self, wait: || std::thread::sleep(HALF_A_SECOND) };
    Faults::read(&plan.to_string_lossy(), means).map_err(|word| {
        Error::new(ErrorKind::Settings, format!("`{word}` is not a fault"))
            .because(format!("the variable {VARIABLE} is set"))
            .hint(format!("unset {VARIABLE}"))
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
