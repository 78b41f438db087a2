//! The launcher: the process that starts the commands of tasks and tools. It is this program, started
//! again.

use std::process::Command;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};

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

/// Is the launcher if the program was started as that, and returns its exit code. Call it first of
/// all: the memory of the launcher should stay as small as it is then.
#[must_use]
pub fn launch() -> Option<std::process::ExitCode> {
    if std::env::args_os().nth(1).is_none_or(|word| word != LAUNCHER) {
        return None;
    }
    // Nobody reads what the launcher writes. The engine notices its end.
    let ended = exec::launch();
    Some(if ended.is_ok() {
        std::process::ExitCode::SUCCESS
    } else {
        std::process::ExitCode::FAILURE
    })
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
