//! How words of the protocol are written into columns, and read back.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, Type, ValueRef};
use serde::Serialize;
use serde::de::value::{Error as WordError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

use crate::cause::Cause;

/// A path: text where it is UTF-8, a blob where it is not.
#[derive(Debug)]
pub(crate) struct StoredPath(pub(crate) PathBuf);

impl ToSql for StoredPath {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(stored(&self.0)))
    }
}

impl FromSql for StoredPath {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_bytes().map(|bytes| Self(PathBuf::from(OsStr::from_bytes(bytes))))
    }
}

fn stored(path: &Path) -> ValueRef<'_> {
    let bytes = path.as_os_str().as_bytes();
    if path.to_str().is_some() { ValueRef::Text(bytes) } else { ValueRef::Blob(bytes) }
}

/// Returns a value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<String, Cause> {
    Ok(serde_json::to_string(value)?)
}

/// Returns the word that a variant of an enum has in JSON, or the text that a point in time has.
pub(crate) fn word(value: &impl Serialize) -> Result<String, Cause> {
    let json = serde_json::to_value(value)?;
    Ok(json.as_str().map_or_else(|| json.to_string(), ToOwned::to_owned))
}

/// Reads a column that [`json`] wrote.
pub(crate) fn read_json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| unreadable(row, column, error))
}

/// Reads a column that [`json`] wrote, or that is empty.
pub(crate) fn read_json_if_any<T: DeserializeOwned>(
    row: &Row<'_>,
    column: &str,
) -> rusqlite::Result<Option<T>> {
    let empty = row.get_ref(column)? == ValueRef::Null;
    if empty { Ok(None) } else { read_json(row, column).map(Some) }
}

/// Reads a column that [`word`] wrote, or any other text that is one word of the protocol.
pub(crate) fn read_word<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    let word: StrDeserializer<'_, WordError> = text.as_str().into_deserializer();
    T::deserialize(word).map_err(|error| unreadable(row, column, error))
}

/// Reads a column that [`word`] wrote, or that is empty.
pub(crate) fn read_word_if_any<T: DeserializeOwned>(
    row: &Row<'_>,
    column: &str,
) -> rusqlite::Result<Option<T>> {
    let empty = row.get_ref(column)? == ValueRef::Null;
    if empty { Ok(None) } else { read_word(row, column).map(Some) }
}

/// Reads an identity in the form in which people see it.
pub(crate) fn read_id<T>(row: &Row<'_>, column: &str) -> rusqlite::Result<T>
where
    T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: String = row.get(column)?;
    text.parse().map_err(|error| unreadable(row, column, error))
}

/// Returns the error of a column that holds what it cannot hold.
pub(crate) fn unreadable(
    row: &Row<'_>,
    column: &str,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    let place = row.as_ref().column_index(column).unwrap_or_default();
    rusqlite::Error::FromSqlConversionFailure(place, Type::Text, Box::new(error))
}
