//! Reads objects that say in one of their fields what they are. Programs write that field first; then
//! the others are read as what they are, without a copy of the object in between.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, IntoDeserializer as _, MapAccess};
use serde_json::{Map, Value};

/// The beginning of an object.
pub(crate) enum Beginning<'de> {
    /// The first field is the tag, with this value. The other fields are still to be read.
    Tag(Cow<'de, str>),
    /// The tag is not the first field. These are all fields.
    Fields(Map<String, Value>),
}

/// A text that is not copied where it stands in the input as it is.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads the first field of an object if it is `tag`, and else all of them.
pub(crate) fn begin<'de, A: MapAccess<'de>>(
    tag: &str,
    fields: &mut A,
) -> Result<Beginning<'de>, A::Error> {
    let Some(Text(first)) = fields.next_key()? else { return Ok(Beginning::Fields(Map::new())) };
    if first == tag {
        return Ok(Beginning::Tag(fields.next_value::<Text<'_>>()?.0));
    }
    let mut all = Map::new();
    all.insert(first.into_owned(), fields.next_value()?);
    rest(fields, &mut all)?;
    Ok(Beginning::Fields(all))
}

/// Returns the fields of an object of which the tag was read.
pub(crate) fn with_tag<'de, A: MapAccess<'de>>(
    tag: &str,
    kind: &str,
    mut fields: A,
) -> Result<Map<String, Value>, A::Error> {
    let mut all = Map::new();
    all.insert(tag.to_owned(), kind.into());
    rest(&mut fields, &mut all)?;
    Ok(all)
}

fn rest<'de, A: MapAccess<'de>>(
    fields: &mut A,
    all: &mut Map<String, Value>,
) -> Result<(), A::Error> {
    while let Some((key, value)) = fields.next_entry()? {
        all.insert(key, value);
    }
    Ok(())
}

/// Reads the fields of an object of which the tag was read, as what the tag says.
pub(crate) fn read<'de, T: Deserialize<'de>, A: MapAccess<'de>>(fields: A) -> Result<T, A::Error> {
    T::deserialize(MapAccessDeserializer::new(fields))
}

/// Reads an object of which the tag was read, as something that reads the tag itself.
pub(crate) fn read_again<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    tag: &'static str,
    kind: &str,
    fields: A,
) -> Result<T, A::Error> {
    read(Tagged { tag: Some(tag), kind: Some(kind), fields })
}

/// The fields of an object, with the tag that was read in front of them.
struct Tagged<'a, A> {
    tag: Option<&'static str>,
    kind: Option<&'a str>,
    fields: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Tagged<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        match self.tag.take() {
            Some(tag) => seed.deserialize(text(tag)).map(Some),
            None => self.fields.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.kind.take() {
            Some(kind) => seed.deserialize(text(kind)),
            None => self.fields.next_value_seed(seed),
        }
    }
}

fn text<E: serde::de::Error>(text: &str) -> StrDeserializer<'_, E> {
    text.into_deserializer()
}
