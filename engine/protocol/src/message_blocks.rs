//! Reads the blocks of a message leniently: as a plain text, and without the kinds of blocks that
//! only other programs know.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A block of a message, tagged by its type.
pub(crate) trait Block: DeserializeOwned {
    /// The types that this program knows.
    const KINDS: &'static [&'static str];

    /// Returns the block of a plain text.
    fn from_text(text: String) -> Self;
}

/// Reads a list of blocks. A plain text is one block; blocks of unknown types are left out.
pub(crate) fn blocks<'de, D, B>(from: D) -> Result<Vec<B>, D::Error>
where
    D: Deserializer<'de>,
    B: Block,
{
    match Value::deserialize(from)? {
        Value::String(text) => Ok(vec![B::from_text(text)]),
        Value::Array(values) => {
            let known = values.into_iter().filter(|value| {
                // A block without a type is damaged, not unknown.
                let kind = value.get("type").and_then(Value::as_str);
                kind.is_none_or(|kind| B::KINDS.contains(&kind))
            });
            known.map(|value| serde_json::from_value(value).map_err(D::Error::custom)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err(D::Error::custom("the content of a message is a text or a list"))
        }
    }
}
