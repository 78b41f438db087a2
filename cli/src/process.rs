//! Functions for this process: hide its memory from other processes, write standard output, and
//! return its exit code.

use std::io::{self, Write as _};
use std::process::Command;

use protocol::ExitCode;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::error::{Error, ErrorKind};
use crate::render::{Terminal, wrapped};

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
pub(crate) fn launcher() -> Command {
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

/// Prints the error of a command, if it failed, and returns the exit code of the process.
#[must_use]
pub fn report(end: Result<ExitCode, Error>) -> std::process::ExitCode {
    let code = match end {
        Ok(code) => code,
        Err(error) => {
            if error.kind != ErrorKind::Closed {
                // If standard error is closed too, the exit code still reports the failure.
                notify(&error.to_string());
            }
            error.exit
        }
    };
    std::process::ExitCode::from(u8::from(code))
}

/// Writes lines to standard error, which must be printable. On a terminal, long ones are wrapped.
pub fn notify(text: &str) {
    // The command goes on if it cannot be written.
    let _unread = writeln!(io::stderr(), "{}", wrapped(text, Terminal::here().stderr_room()));
}

/// Writes to standard output and flushes it.
///
/// # Errors
/// Standard output cannot be written: [`Error::output`].
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
