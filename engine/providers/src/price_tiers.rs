//! The prices of requests in which a model reads many tokens.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::rate::Rate;

/// The price of requests in which a model reads more than a number of tokens, cached ones included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PriceTier {
    /// The number of tokens.
    pub above: u64,
    /// Tokens the model reads.
    pub input: Rate,
    /// Tokens the model writes.
    pub output: Rate,
    /// Tokens read from a cache; the price of `input` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<Rate>,
    /// Tokens written into a cache; the price of `input` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Rate>,
}

/// The tiers of a price: a few, by the number of tokens from which they hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PriceTiers([Option<PriceTier>; PriceTiers::MOST]);

impl PriceTiers {
    /// The maximum number of tiers.
    pub const MOST: usize = 4;

    /// Returns these tiers; `None` if there are too many, or two begin at the same number of tokens.
    pub fn of(tiers: impl IntoIterator<Item = PriceTier>) -> Option<Self> {
        let mut all: Vec<PriceTier> = tiers.into_iter().collect();
        all.sort_unstable_by_key(|tier| tier.above);
        let twice = all.windows(2).any(|two| two[0].above == two[1].above);
        let mut tiers = Self::default();
        for (at, tier) in all.iter().enumerate() {
            *tiers.0.get_mut(at)? = Some(*tier);
        }
        (!twice).then_some(tiers)
    }

    /// Returns the tier of a request in which the model reads so many tokens.
    #[must_use]
    pub fn at(&self, read: u64) -> Option<PriceTier> {
        self.all().filter(|tier| read > tier.above).last()
    }

    /// Returns the tiers in ascending order.
    pub fn all(&self) -> impl Iterator<Item = PriceTier> {
        self.0.into_iter().flatten()
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }
}

impl Serialize for PriceTiers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.all())
    }
}

impl<'de> Deserialize<'de> for PriceTiers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TiersVisitor)
    }
}

/// Reads a list of tiers, or one tier alone.
struct TiersVisitor;

impl<'de> Visitor<'de> for TiersVisitor {
    type Value = PriceTiers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "up to {} tiers of a price", PriceTiers::MOST)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PriceTiers, A::Error> {
        let tier = PriceTier::deserialize(MapAccessDeserializer::new(map))?;
        PriceTiers::of([tier]).ok_or_else(|| de::Error::custom("a tier"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PriceTiers, A::Error> {
        let mut tiers = Vec::new();
        while let Some(tier) = list.next_element::<PriceTier>()? {
            tiers.push(tier);
            if tiers.len() > PriceTiers::MOST {
                break;
            }
        }
        let refused = || de::Error::custom("these tiers are too many, or begin at one number");
        PriceTiers::of(tiers).ok_or_else(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(above: u64) -> PriceTier {
        let rate = Rate::per_million(1.0).unwrap();
        PriceTier { above, input: rate, output: rate, cache_read: None, cache_write: None }
    }

    #[test]
    fn the_tier_of_a_request_is_the_highest_one_that_it_exceeds() {
        let tiers = PriceTiers::of([tier(300), tier(100)]).unwrap();
        let above = |read| tiers.at(read).map(|tier| tier.above);
        let expected = [None, None, Some(100), Some(100), Some(300)];
        assert_eq!([0, 100, 101, 300, 301].map(above), expected);
        assert_eq!(PriceTiers::of([tier(1), tier(1)]), None, "which one?");
        assert_eq!(PriceTiers::of((0..5).map(tier)), None, "too many");
        assert!(PriceTiers::default().is_empty() && !tiers.is_empty());
    }

    #[test]
    fn tiers_are_a_list_and_one_may_stand_alone() {
        let one = r#"{"above":100,"input":1.0,"output":1.0}"#;
        let read = |text: &str| serde_json::from_str::<PriceTiers>(text);
        assert_eq!(read(one).unwrap(), PriceTiers::of([tier(100)]).unwrap());
        let list = format!("[{one}]");
        assert_eq!(serde_json::to_string(&read(&list).unwrap()).unwrap(), list);
        for wrong in ["3", "[3]", r#"{"above":100}"#, &format!("[{one},{one}]")] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
