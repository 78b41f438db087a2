//! The version of the ledger's file, and how older files become newer ones.

use rusqlite::{Connection, TransactionBehavior};

use crate::cause::Cause;

/// The version that this program writes: `PRAGMA user_version`.
pub const VERSION: i64 = 2;

/// `PRAGMA application_id` of a ledger: `RGTA`.
const APPLICATION: i64 = 0x5247_5441;

/// What makes a file of version N + 1 out of one of version N, at place N. Steps that were
/// published never change.
const STEPS: [&str; 2] = [include_str!("version_1.sql"), include_str!("version_2.sql")];

const _: () = assert!(STEPS.len() == VERSION as usize, "each version has its step");

/// Refuses files that are not ours and those that are newer than this program. To be called in a
/// transaction: another process may just be making the tables, and this has to be one moment.
pub(crate) fn check(connection: &Connection) -> Result<i64, Cause> {
    let found = pragma(connection, "user_version")?;
    let application = pragma(connection, "application_id")?;
    if application != APPLICATION {
        let tables = "SELECT count(*) FROM sqlite_schema";
        let tables: i64 = connection.query_row(tables, [], |row| row.get(0))?;
        if tables > 0 || application != 0 {
            return Err(Cause::Foreign);
        }
    }
    if found > VERSION {
        return Err(Cause::Newer { found, known: VERSION });
    }
    Ok(found)
}

/// Brings the file to [`VERSION`].
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), Cause> {
    if check(&*connection.unchecked_transaction()?)? == VERSION {
        return Ok(());
    }
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it while we waited.
    let found = usize::try_from(check(&step)?).unwrap_or(0);
    for sql in &STEPS[found..] {
        step.execute_batch(sql)?;
    }
    step.pragma_update(None, "application_id", APPLICATION)?;
    step.pragma_update(None, "user_version", VERSION)?;
    Ok(step.commit()?)
}

fn pragma(connection: &Connection, name: &str) -> Result<i64, Cause> {
    Ok(connection.pragma_query_value(None, name, |row| row.get(0))?)
}

#[cfg(test)]
mod tests;
