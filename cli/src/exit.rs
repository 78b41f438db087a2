//! How the program ends: exit codes, and the last words before one.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use protocol::ExitCode;

use crate::error::{Error, ErrorKind};

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

/// Returns the table of exit codes, for people.
#[must_use]
pub fn table() -> String {
    let mut table = String::from("code  meaning\n");
    for code in ExitCode::ALL {
        // Writing to a string cannot fail.
        let _written = writeln!(table, "{:>4}  {}", u8::from(code), code.meaning());
    }
    table.push_str("\nThe first that holds, in the order 130/143, 70, 6, 5, 3, 4, 0.\n");
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_code_and_its_meaning() {
        let table = table();
        for code in ExitCode::ALL {
            let line = format!("{:>4}  {}\n", u8::from(code), code.meaning());
            assert!(table.contains(&line), "{line} is missing in {table}");
        }
        assert_eq!(table.lines().count(), ExitCode::ALL.len() + 3);
    }
}
