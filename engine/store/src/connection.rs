//! Opens the ledger's file, for the one writer and for readers.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::cause::Cause;
use crate::version;

/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(30);

/// More than there are different statements.
const STATEMENTS: usize = 64;

/// Opens the ledger for writing; makes the file, and the folders that lead to it, for this user only.
pub(crate) fn writable(path: &Path) -> Result<Connection, Cause> {
    make_file(path).map_err(|error| Cause::File(Arc::new(error)))?;
    let mut connection = open(path)?;
    version::check(&*connection.unchecked_transaction()?)?;
    write_ahead(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    version::migrate(&mut connection)?;
    Ok(connection)
}

/// Opens the ledger for reading. Nothing comes back while there is no ledger.
///
/// The file is opened for writing all the same: after a crash SQLite has to put its index of the
/// write-ahead log in order before anyone can read. No statement can write.
pub(crate) fn readable(path: &Path) -> Result<Option<Connection>, Cause> {
    if !path.try_exists().map_err(|error| Cause::File(Arc::new(error)))? {
        return Ok(None);
    }
    let connection = open(path)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(Some(connection))
}

fn open(path: &Path) -> Result<Connection, Cause> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// SQLite gives its log and its index the mode of the file itself.
fn make_file(path: &Path) -> Result<(), io::Error> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Ok(_empty) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Switches to the write-ahead log. SQLite does not wait by itself while another process is at the
/// same switch.
fn write_ahead(connection: &Connection) -> Result<(), Cause> {
    let began = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(rusqlite::Error::SqliteFailure(failure, _))
                if failure.code == ErrorCode::DatabaseBusy && began.elapsed() < PATIENCE =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            switched => return Ok(switched?),
        }
    }
}
