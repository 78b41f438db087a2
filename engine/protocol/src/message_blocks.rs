//! Reads the blocks of a message leniently: as a plain text, and without the kinds of blocks that
//! only other programs know.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeOwned, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::tagged::{Beginning, begin, read_again};

/// The field that says what a block is.
const TAG: &str = "type";

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
    from.deserialize_any(List(PhantomData))
}

struct List<B>(PhantomData<B>);

impl<'de, B: Block> Visitor<'de> for List<B> {
    type Value = Vec<B>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of blocks as the content of a message")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<B>, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Vec<B>, E> {
        Ok(vec![B::from_text(text)])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<Vec<B>, A::Error> {
        let mut known = Vec::new();
        while let Some(Known(block)) = blocks.next_element()? {
            known.extend(block);
        }
        Ok(known)
    }
}

/// A block; `None` if its type is unknown.
struct Known<B>(Option<B>);

impl<'de, B: Block> Deserialize<'de> for Known<B> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(OneBlock(PhantomData)).map(Self)
    }
}

struct OneBlock<B>(PhantomData<B>);

impl<'de, B: Block> Visitor<'de> for OneBlock<B> {
    type Value = Option<B>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a block of a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Option<B>, A::Error> {
        match begin(TAG, &mut fields)? {
            Beginning::Tag(kind) if B::KINDS.contains(&&*kind) => {
                read_again(TAG, &kind, fields).map(Some)
            }
            Beginning::Tag(_unknown) => {
                while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(None)
            }
            // A block without a type is damaged, not unknown.
            Beginning::Fields(fields) => {
                let kind = fields.get(TAG).and_then(Value::as_str);
                if kind.is_some_and(|kind| !B::KINDS.contains(&kind)) {
                    return Ok(None);
                }
                serde_json::from_value(Value::Object(fields)).map(Some).map_err(A::Error::custom)
            }
        }
    }
}
