//! The usage of models: tokens, and money if the price is known.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Tokens and their cost. Each token is counted in only one of the four counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens that the model read and that were not cached.
    pub input: u64,
    /// Tokens that the model wrote, including its thinking.
    pub output: u64,
    /// Tokens read from a cache.
    pub cache_read: u64,
    /// Tokens written to a cache.
    pub cache_write: u64,
    /// The cost; absent if a price is not known.
    pub cost: Option<Cost>,
    /// Where the cost is from.
    #[serde(default)]
    pub cost_source: CostSource,
    /// What the caches have saved; absent if a price is not known, or if no cache was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_saving: Option<CacheSaving>,
}

/// Where a cost is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    /// It was computed by a price of the model.
    Priced,
    /// The provider has reported it.
    Reported,
    /// There is no cost, or it was not recorded where it is from.
    #[default]
    Unknown,
}

impl Usage {
    /// No usage.
    pub const ZERO: Self = Self {
        input: 0,
        output: 0,
        cache_read: 0,
        cache_write: 0,
        cost: Some(Cost(0)),
        cost_source: CostSource::Unknown,
        cache_saving: None,
    };

    /// Returns the total number of tokens.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let read = self.input.saturating_add(self.cache_read).saturating_add(self.cache_write);
        read.saturating_add(self.output)
    }

    /// Returns whether anything was read from a cache or written to one.
    #[must_use]
    pub fn has_cached(&self) -> bool {
        self.cache_read > 0 || self.cache_write > 0
    }

    /// Returns where the cost of a sum is from: a price, if a part of it is from one.
    fn source_of_sum(&self, other: &Self) -> CostSource {
        match (self.cost_source, other.cost_source) {
            _ if self.tokens() == 0 && self.cost == Some(Cost(0)) => other.cost_source,
            _ if other.tokens() == 0 && other.cost == Some(Cost(0)) => self.cost_source,
            _ if self.cost.is_none() || other.cost.is_none() => CostSource::Unknown,
            (CostSource::Unknown, _) | (_, CostSource::Unknown) => CostSource::Unknown,
            (CostSource::Reported, CostSource::Reported) => CostSource::Reported,
            (CostSource::Priced, _) | (_, CostSource::Priced) => CostSource::Priced,
        }
    }

    /// Returns what the caches have saved, which is nothing where none was used; `None` if it is not
    /// known.
    fn known_saving(&self) -> Option<CacheSaving> {
        if self.has_cached() { self.cache_saving } else { Some(CacheSaving::default()) }
    }
}

impl Add for Usage {
    type Output = Self;

    /// Returns the sum. Its cost is unknown if one of the two costs is, and so is what caches have
    /// saved.
    fn add(self, other: Self) -> Self {
        let has_cached = self.has_cached() || other.has_cached();
        let savings = self.known_saving().zip(other.known_saving()).filter(|_| has_cached);
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cost: self.cost.zip(other.cost).map(|(one, two)| Cost(one.0.saturating_add(two.0))),
            cost_source: self.source_of_sum(&other),
            cache_saving: savings.map(|(one, two)| CacheSaving(one.0.saturating_add(two.0))),
        }
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

/// An amount of money in billionths of a US dollar, serialized as a number of dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
pub struct Cost(#[schemars(with = "f64")] u64);

impl Cost {
    /// Returns an amount of this many billionths of a dollar.
    #[must_use]
    pub fn from_nanodollars(nanodollars: u64) -> Self {
        Self(nanodollars)
    }

    /// Returns the amount in billionths of a dollar.
    #[must_use]
    pub fn as_nanodollars(self) -> u64 {
        self.0
    }

    /// Returns the amount in dollars.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "money to be shown, far below 2^53")]
    pub fn as_dollars(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // With two places, less than half a cent would be displayed as 0.00.
        let places = if self.0 >= 5_000_000 || self.0 == 0 { 2 } else { 4 };
        write!(f, "${:.places$}", self.as_dollars())
    }
}

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_dollars())
    }
}

impl<'de> Deserialize<'de> for Cost {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        Ok(Self((dollars * 1e9).round().clamp(0.0, 9e18) as u64))
    }
}

/// What caches have saved, in billionths of a US dollar, serialized as a number of dollars: what the
/// tokens that were read from them would have cost otherwise, less what writing into them cost more.
/// It is negative if that was more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
pub struct CacheSaving(#[schemars(with = "f64")] i64);

impl CacheSaving {
    /// Returns the difference between what a usage would have cost without caches, and what it cost.
    #[must_use]
    pub fn between(uncached: Cost, cached: Cost) -> Self {
        let nanodollars = i128::from(uncached.0) - i128::from(cached.0);
        Self(i64::try_from(nanodollars).unwrap_or(if nanodollars < 0 {
            i64::MIN
        } else {
            i64::MAX
        }))
    }

    /// Returns a saving of this many billionths of a dollar.
    #[must_use]
    pub fn from_nanodollars(nanodollars: i64) -> Self {
        Self(nanodollars)
    }

    /// Returns the saving in billionths of a dollar.
    #[must_use]
    pub fn as_nanodollars(self) -> i64 {
        self.0
    }
}

impl fmt::Display for CacheSaving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = Cost(self.0.unsigned_abs());
        match self.0 {
            ..0 => write!(f, "{amount} more spent than saved"),
            _ => write!(f, "{amount} saved"),
        }
    }
}

impl Serialize for CacheSaving {
    #[expect(clippy::cast_precision_loss, reason = "money to be shown, far below 2^53")]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1e9)
    }
}

impl<'de> Deserialize<'de> for CacheSaving {
    #[expect(clippy::cast_possible_truncation, reason = "clamped before")]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        Ok(Self((dollars * 1e9).round().clamp(-9e18, 9e18) as i64))
    }
}

/// Serializes usage as session files of version 3 do.
pub(crate) mod v3 {
    use schemars::JsonSchema;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{CacheSaving, Cost, CostSource, Usage};

    /// The usage of an answer.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", default)]
    pub(crate) struct Written {
        input: u64,
        output: u64,
        cache_read: u64,
        cache_write: u64,
        total_tokens: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<Total>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost_source: Option<CostSource>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_saving: Option<CacheSaving>,
    }

    /// The cost of an answer in dollars.
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Total {
        total: Cost,
    }

    pub(crate) fn serialize<S: Serializer>(usage: &Usage, to: S) -> Result<S::Ok, S::Error> {
        Written {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            total_tokens: usage.tokens(),
            cost: usage.cost.map(|total| Total { total }),
            cost_source: Some(usage.cost_source).filter(|it| *it != CostSource::Unknown),
            cache_saving: usage.cache_saving,
        }
        .serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Usage, D::Error> {
        let written = Written::deserialize(from)?;
        Ok(Usage {
            input: written.input,
            output: written.output,
            cache_read: written.cache_read,
            cache_write: written.cache_write,
            cost: written.cost.map(|cost| cost.total),
            cost_source: written.cost_source.unwrap_or_default(),
            cache_saving: written.cache_saving,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_with_a_part_of_unknown_cost_has_no_known_cost() {
        let known = Usage { input: 1, output: 2, ..Usage::ZERO };
        let unknown = Usage { cost: None, ..known };
        assert_eq!([known, known].into_iter().sum::<Usage>().cost, Some(Cost(0)));
        let sum: Usage = [known, unknown].into_iter().sum();
        assert_eq!((sum.tokens(), sum.cost), (6, None));
    }

    #[test]
    fn the_cost_of_a_sum_is_from_a_price_if_a_part_is_and_unknown_if_a_part_is_not_known() {
        use CostSource::{Priced, Reported, Unknown};
        let of = |cost_source| {
            let cost = (cost_source != Unknown).then_some(Cost(1));
            Usage { input: 1, cost, cost_source, ..Usage::ZERO }
        };
        for (parts, expected) in [
            (vec![], Unknown),
            (vec![Reported, Reported], Reported),
            (vec![Reported, Priced], Priced),
            (vec![Priced, Unknown], Unknown),
            (vec![Unknown, Reported], Unknown),
        ] {
            let sum: Usage = parts.iter().map(|source| of(*source)).sum();
            assert_eq!(sum.cost_source, expected, "{parts:?}");
        }
    }

    #[test]
    fn what_caches_have_saved_adds_up_unless_a_part_of_it_is_not_known() {
        let plain = Usage { input: 9, cost: None, ..Usage::ZERO };
        let saved = |saving: Option<i64>| Usage {
            cache_read: 5,
            cache_saving: saving.map(CacheSaving::from_nanodollars),
            ..Usage::ZERO
        };
        let sum = |parts: &[Usage]| parts.iter().copied().sum::<Usage>().cache_saving;
        assert_eq!(sum(&[plain, plain]), None, "no cache was used");
        let both = sum(&[saved(Some(7)), plain, saved(Some(-9))]);
        assert_eq!(both, Some(CacheSaving::from_nanodollars(-2)));
        assert_eq!(sum(&[saved(Some(7)), saved(None)]), None);
    }

    #[test]
    fn a_saving_survives_json_and_old_usage_has_none() {
        let usage = Usage {
            cache_read: 5,
            cache_saving: Some(CacheSaving::from_nanodollars(-1_500)),
            ..Usage::ZERO
        };
        let json = serde_json::to_value(usage).unwrap();
        assert_eq!(json["cache_saving"], serde_json::json!(-1.5e-6));
        assert_eq!(serde_json::from_value::<Usage>(json).unwrap(), usage);
        let old = r#"{"input":1,"output":2,"cache_read":5,"cache_write":0,"cost":0.5}"#;
        assert_eq!(serde_json::from_str::<Usage>(old).unwrap().cache_saving, None);
        let cost = Cost::from_nanodollars;
        let texts = [(3_000_000_000, 1_000_000_000), (0, 6_000_000)].map(|(uncached, cached)| {
            CacheSaving::between(cost(uncached), cost(cached)).to_string()
        });
        assert_eq!(texts, ["$2.00 saved", "$0.01 more spent than saved"]);
    }

    #[test]
    fn money_reads_as_people_write_it() {
        let cases = [(0, "$0.00"), (410_000_000, "$0.41"), (1_200_000, "$0.0012")];
        for (nanodollars, text) in cases {
            assert_eq!(Cost::from_nanodollars(nanodollars).to_string(), text);
        }
        let json = serde_json::to_string(&Cost::from_nanodollars(1_200_000)).unwrap();
        assert_eq!(json, "0.0012");
        assert_eq!(serde_json::from_str::<Cost>(&json).unwrap().as_nanodollars(), 1_200_000);
    }
}
