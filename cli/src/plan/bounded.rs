//! Reads files that are not longer than they may be.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::{Error, ErrorKind};

/// Reads a file that may have at most `most` bytes.
pub(super) fn read_file(path: &Path, most: u64, what: &str) -> Result<Vec<u8>, Error> {
    let mut file = File::open(path)
        .map_err(|error| Error::new(ErrorKind::Plan, what.to_owned()).caused_by(&error))?;
    read_all(&mut file, most, what)
}

/// Reads everything of a stream that may have at most `most` bytes.
pub(super) fn read_all(from: &mut dyn Read, most: u64, what: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    from.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Error::new(ErrorKind::Plan, what.to_owned()).caused_by(&error))?;
    if bytes.len() as u64 > most {
        return Err(Error::new(ErrorKind::Plan, what.to_owned())
            .because(format!("it is longer than {} MB", most / 1_000_000)));
    }
    Ok(bytes)
}
