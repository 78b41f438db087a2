//! Opens the ledger's file for the writer and for readers, and migrates older versions.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use rustix::fs::{Access, access};

use crate::error::LedgerCause;

/// How long to wait for another process that is writing.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The size of the statement cache: more than there are statements.
const STATEMENTS: usize = 64;

/// Opens the ledger for writing. Creates the file and the folders above it for this user only.
pub(crate) fn writable(path: &Path) -> Result<Connection, LedgerCause> {
    create_file(path).map_err(|error| LedgerCause::File(Arc::new(error)))?;
    let mut connection = open(path)?;
    check(&*connection.unchecked_transaction()?)?;
    enable_wal(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    migrate(&mut connection)?;
    Ok(connection)
}

/// Opens the ledger for reading; `None` if it does not exist.
///
/// The file is opened for writing nevertheless: after a crash SQLite has to rebuild the index of the
/// write-ahead log before it can read. The pragma `query_only` keeps statements from writing.
pub(crate) fn readable(path: &Path) -> Result<Option<Connection>, LedgerCause> {
    if !path.try_exists().map_err(|error| LedgerCause::File(Arc::new(error)))? {
        return Ok(None);
    }
    let connection = open(path)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(Some(connection))
}

fn open(path: &Path) -> Result<Connection, LedgerCause> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(LOCK_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Creates the file for this user only. SQLite gives its log and index the same mode.
pub(crate) fn create_file(path: &Path) -> Result<(), io::Error> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Ok(_empty) => Ok(()),
        // SQLite does not say why it cannot open a file. It is not opened here: closing it would
        // release the locks that this process has on it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Ok(access(path, Access::READ_OK | Access::WRITE_OK)?)
        }
        Err(error) => Err(error),
    }
}

/// Switches to the write-ahead log. Retries while another process does the same, because SQLite
/// does not wait for it.
pub(crate) fn enable_wal(connection: &Connection) -> rusqlite::Result<()> {
    let began = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(rusqlite::Error::SqliteFailure(failure, _))
                if failure.code == ErrorCode::DatabaseBusy && began.elapsed() < LOCK_TIMEOUT =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            switched => return switched,
        }
    }
}

/// The version of the ledger that this program writes: `PRAGMA user_version`.
pub const VERSION: i64 = 4;

/// `PRAGMA application_id` of a ledger: `RGTA`.
const APPLICATION: i64 = 0x5247_5441;

/// The migrations. The migration at index N turns version N into N + 1. A published migration never
/// changes.
const MIGRATIONS: [&str; 4] = [
    include_str!("version_1.sql"),
    include_str!("version_2.sql"),
    include_str!("version_3.sql"),
    include_str!("version_4.sql"),
];

const _: () = assert!(MIGRATIONS.len() == VERSION as usize, "each version has its migration");

/// Returns the version of the file; fails if it is not a ledger or newer than this program. It must be
/// called in a transaction, because another process may be creating the tables.
pub(crate) fn check(connection: &Connection) -> Result<i64, LedgerCause> {
    let found = pragma(connection, "user_version")?;
    let application = pragma(connection, "application_id")?;
    if application != APPLICATION {
        let tables = "SELECT count(*) FROM sqlite_schema";
        let tables: i64 = connection.query_row(tables, [], |row| row.get(0))?;
        if tables > 0 || application != 0 {
            return Err(LedgerCause::Foreign);
        }
    }
    if found > VERSION {
        return Err(LedgerCause::Newer { found, known: VERSION });
    }
    Ok(found)
}

/// Migrates the file to [`VERSION`].
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), LedgerCause> {
    if check(&*connection.unchecked_transaction()?)? == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated the file meanwhile.
    let found = usize::try_from(check(&transaction)?).unwrap_or(0);
    for sql in &MIGRATIONS[found..] {
        transaction.execute_batch(sql)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

fn pragma(connection: &Connection, name: &str) -> Result<i64, LedgerCause> {
    Ok(connection.pragma_query_value(None, name, |row| row.get(0))?)
}

#[cfg(test)]
mod tests;
