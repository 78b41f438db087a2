//! The prompts that the user has typed, in all folders: to be found again, not to be replayed.

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protocol::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};

use crate::connection::{create_file, enable_wal};

/// The most prompts that are returned at once.
const MOST: u32 = 1_000;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    prompt TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    cwd TEXT
);
CREATE INDEX IF NOT EXISTS history_created_at ON history (created_at DESC);
";

/// The index of words holds no prompt itself: it refers to the table.
const INDEX: &str = "
CREATE VIRTUAL TABLE history_fts USING fts5 (prompt, content='history', content_rowid='id');
INSERT INTO history_fts (history_fts) VALUES ('rebuild');
CREATE TRIGGER IF NOT EXISTS history_added AFTER INSERT ON history BEGIN
    INSERT INTO history_fts (rowid, prompt) VALUES (new.id, new.prompt);
END;
";

/// The prompts that the user has typed. Several processes may use the file.
#[derive(Debug)]
pub struct PromptHistory(Mutex<Connection>);

/// A prompt that the user has typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The number of the prompt. Later prompts have larger ones.
    pub id: i64,
    /// The text.
    pub text: String,
    /// When it was typed, to the second.
    pub at: Timestamp,
    /// The folder in which it was typed.
    pub cwd: Option<String>,
}

/// Why the history could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file cannot be created.
    #[error("cannot create the history of prompts")]
    File(#[from] io::Error),
    /// The database refused a statement.
    #[error("cannot use the history of prompts")]
    Database(#[from] rusqlite::Error),
}

impl PromptHistory {
    /// Opens the history at `path`, or creates it for this user only.
    ///
    /// # Errors
    /// The file cannot be created, or is not a history.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        create_file(path)?;
        let mut connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        enable_wal(&connection)?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        let transaction = write_transaction(&mut connection)?;
        transaction.execute_batch(TABLES)?;
        let indexed = transaction
            .query_row("SELECT 1 FROM sqlite_master WHERE name = 'history_fts'", [], |_| Ok(()))
            .optional()?;
        if indexed.is_none() {
            transaction.execute_batch(INDEX)?;
        }
        transaction.commit()?;
        Ok(Self(Mutex::new(connection)))
    }

    /// Adds prompts in one transaction. Empty ones are left out, and those that repeat the one
    /// before.
    ///
    /// # Errors
    /// They cannot be written; then none of them is there.
    pub fn add<'a>(
        &self,
        prompts: impl IntoIterator<Item = &'a str>,
        cwd: &Path,
        at: Timestamp,
    ) -> Result<(), HistoryError> {
        let mut connection = self.connection();
        let transaction = write_transaction(&mut connection)?;
        let mut last: Option<String> = transaction
            .query_row("SELECT prompt FROM history ORDER BY id DESC LIMIT 1", [], |row| row.get(0))
            .optional()?;
        for prompt in prompts {
            let prompt = prompt.trim();
            if prompt.is_empty() || last.as_deref() == Some(prompt) {
                continue;
            }
            transaction.execute(
                "INSERT INTO history (prompt, created_at, cwd) VALUES (?1, ?2, ?3)",
                params![prompt, at.as_millisecond().div_euclid(1_000), cwd.to_str()],
            )?;
            last = Some(prompt.to_owned());
        }
        Ok(transaction.commit()?)
    }

    /// Returns the latest prompts, the last one first; at most 1,000.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn recent(&self, limit: u32) -> Result<Vec<Prompt>, HistoryError> {
        let connection = self.connection();
        let mut statement = connection.prepare_cached(
            "SELECT id, prompt, created_at, cwd FROM history ORDER BY id DESC LIMIT ?1",
        )?;
        let found = statement.query_map([limit.min(MOST)], prompt)?;
        Ok(found.collect::<Result<_, _>>()?)
    }

    /// Returns the prompts that have words which begin with each word of `query`, or that contain
    /// `query`; the last one first, at most 1,000.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn search(&self, query: &str, limit: u32) -> Result<Vec<Prompt>, HistoryError> {
        let query = query.trim().to_lowercase();
        let words =
            query.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<_> = words.map(|word| format!("\"{word}\"*")).collect();
        let escaped = query.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        let connection = self.connection();
        let by_words = "SELECT rowid FROM history_fts WHERE history_fts MATCH ?1";
        // A query without a word would be an error of the index.
        let by_words = if words.is_empty() { "SELECT NULL WHERE ?1 IS NULL" } else { by_words };
        let mut statement = connection.prepare_cached(&format!(
            "SELECT id, prompt, created_at, cwd FROM history
             WHERE id IN ({by_words}) OR prompt LIKE ?2 ESCAPE '\\'
             ORDER BY id DESC LIMIT ?3"
        ))?;
        let found = params![words.join(" AND "), format!("%{escaped}%"), limit.min(MOST)];
        Ok(statement.query_map(found, prompt)?.collect::<Result<_, _>>()?)
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins a transaction that waits for other processes now, and not when it writes.
fn write_transaction(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

fn prompt(row: &Row<'_>) -> rusqlite::Result<Prompt> {
    let seconds: i64 = row.get(2)?;
    Ok(Prompt {
        id: row.get(0)?,
        text: row.get(1)?,
        at: Timestamp::from_millisecond(seconds.saturating_mul(1_000)),
        cwd: row.get(3)?,
    })
}

#[cfg(test)]
mod tests;
