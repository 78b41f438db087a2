//! The launcher: the process that starts the commands of tasks and tools. It is this program, started
//! again.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::error::{Error, ErrorKind};

/// Closes the memory and the environment of this process, which hold keys, to other processes of the
/// same user, such as the commands of tasks. Root can still read them.
///
/// Other processes can read a child process after its `exec`, so that the environment of a child
/// must not contain keys.
pub fn hide_memory() {
    // A kernel without this option returns an error. The memory then stays readable.
    let _older = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// The word with which the program starts itself as the launcher. It is not in the grammar, so that
/// no help or completion shows it.
const LAUNCHER: &str = "__launcher";

/// Returns the command that starts this program as the launcher of commands. It runs
/// `/proc/self/exe`, which is the running binary even if its path names another file by now. Every
/// process of the user can read the launcher's environment, so it has none.
pub fn launcher() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(LAUNCHER).env_clear();
    command
}

/// Whether [`launch`] was called.
static IS_PREPARED: AtomicBool = AtomicBool::new(false);

/// Prepares the process for an engine. It must be the first line of `main`: an engine starts its program
/// again as the launcher of commands, which this function then is, and it sets up libgit2 before there are
/// other threads. In the launcher it does not return.
///
/// Without it, no engine is opened.
pub fn launch() {
    if std::env::args_os().nth(1).is_some_and(|word| word == LAUNCHER) {
        // The output of the launcher is not read. The engine notices its end.
        let ended = exec::launch();
        std::process::exit(i32::from(ended.is_err()));
    }
    isolation::initialise();
    IS_PREPARED.store(true, Ordering::Relaxed);
}

/// Checks that the program has called [`launch`]. Without it, the program would be started a second time in
/// place of the launcher.
pub(crate) fn check_prepared() -> Result<(), Error> {
    if IS_PREPARED.load(Ordering::Relaxed) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Bug, "this program cannot be the launcher of commands")
        .because("it has not called `regatta::launch()`")
        .hint("regatta::launch(); as the first line of `main`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_first_line_of_main_no_engine_is_opened_and_the_error_names_it() {
        let refused = check_prepared().unwrap_err();
        assert!(refused.to_string().contains("regatta::launch()"), "{refused}");
        launch();
        assert_eq!(check_prepared(), Ok(()));
    }

    #[test]
    fn a_process_that_is_hidden_cannot_be_looked_into() {
        hide_memory();
        let now = rustix::process::dumpable_behavior().unwrap();
        assert_eq!(now, DumpableBehavior::NotDumpable);
    }
}
