//! What this process prints, and its exit code.

use std::io::{self, Write as _};

use protocol::ExitCode;
use regatta::error::{Error, ErrorKind};

use crate::render::{Terminal, wrapped};

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
